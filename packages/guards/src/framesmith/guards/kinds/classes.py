"""The claim about what CPython itself looks up in a class: its bases and special names, which no user code need mention."""

from dataclasses import dataclass
from typing import Final, final

from framesmith.guards.class_lookup import is_immutable, resolution_order, type_dict
from framesmith.guards.kinds.base import Claim
from framesmith.guards.names import Names
from framesmith.guards.sources.base import Source

#: Special names that no operation reads: documentation, caches of annotations and the like.
_DESCRIPTIONS: Final = frozenset(
    {"__annotations__", "__annotate__", "__annotate_func__", "__annotations_cache__", "__doc__", "__module__",
     "__qualname__", "__name__", "__signature__", "__static_attributes__", "__firstlineno__",
     "__type_params__", "__parameters__", "__weakref__", "__wrapped__", "__test__"}
)  # fmt: skip
Items = tuple[tuple[type, tuple[tuple[str, object], ...]], ...]


@final
@dataclass(frozen=True, slots=True, eq=False)
class ClassStructure(Claim):
    """The resolution order of a class, and what each mutable class in it stores under special names.

    One claim for all slots: which special methods there are and which are absent (`__bool__`, `__len__`, `__set__`,
    `__getattr__`, `__instancecheck__` of a metaclass ...), what `__match_args__` says, what `isinstance` and `super` give.
    Ordinary names are guarded one by one (`ClassAttribute`). Two of these claims are equal when they are about one class.
    """

    owner: type
    order: tuple[type, ...] = ()
    items: Items = ()

    @classmethod
    def capture(cls, owner: type) -> "ClassStructure":
        """The claim that bases and special names stay what they are now."""
        return cls(owner, resolution_order(owner), _special_items(owner))

    def comparison_fields(self) -> tuple[object, ...]:
        return (id(self.owner),)

    def check(self, value: object) -> bool:
        return self._change(value) is None

    def render(self, value_expression: str, names: Names) -> str:
        return f"{names.constant(self.check, 'structure')}({value_expression})"

    def explain(self, value: object, source: Source) -> str:
        return f"{source.text()}: {self._change(value)}"

    def text(self, source: Source) -> str:
        return f"{source.text()} has the bases and special methods it had"

    def _change(self, value: object) -> str | None:
        # Raises TypeError, a miss, for a value that is no class.
        order = resolution_order(value)
        if len(order) != len(self.order) or any(
            new is not old for new, old in zip(order, self.order, strict=True)
        ):
            return "the resolution order changed"
        for (cls, before), (_, now) in zip(self.items, _special_items(order[0]), strict=True):
            held, found = dict(before), dict(now)
            for name in {**held, **found}:
                if name not in found or name not in held or held[name] is not found[name]:
                    return f"{cls.__qualname__}.{name} is another one now"
        return None


def _special_items(owner: type) -> Items:
    return tuple(
        (
            cls,
            tuple(
                (name, value)
                for name, value in type_dict(cls).items()
                if type(name) is str and name[:2] == "__" and name[-2:] == "__" and name not in _DESCRIPTIONS
            ),
        )
        for cls in resolution_order(owner)
        if not is_immutable(cls)
    )
