"""Claims about attributes: what an instance holds itself, and what lookup on its class finds.

Which special methods a class has: `kinds.classes`.
"""

from dataclasses import dataclass
from typing import final

from framesmith.guards.class_lookup import (
    MISSING,
    class_name,
    is_immutable,
    resolution_order,
    static_lookup,
    type_dict,
)
from framesmith.guards.kinds.base import Claim, show_value
from framesmith.guards.kinds.containers import HasKey
from framesmith.guards.kinds.identity import Identical
from framesmith.guards.names import Names
from framesmith.guards.sources.base import Source
from framesmith.guards.sources.roots import Pinned
from framesmith.guards.sources.steps import Attribute, ClassDict, ClassDictItem, InstanceDict


@final
@dataclass(frozen=True, slots=True, eq=False)
class HasInstanceAttribute(Claim):
    """`name in value.__dict__`, or not."""

    name: str
    present: bool = True

    def check(self, value: object) -> bool:
        return (self.name in value.__dict__) is self.present

    def render(self, value_expression: str, names: Names) -> str:
        return f"{self.name!a} {'in' if self.present else 'not in'} {value_expression}.__dict__"

    def explain(self, value: object, source: Source) -> str:
        how = "has no attribute of its own" if self.present else "has an attribute of its own"
        return f"{source.text()}: {how} named {self.name!r} now"

    def text(self, source: Source) -> str:
        return f"{self.name!r} {'in' if self.present else 'not in'} {source.text()}.__dict__"

    def lower(self, source: Source) -> list[tuple[Source, Claim]]:
        return [(InstanceDict(source), HasKey(self.name, self.present))]


@final
@dataclass(frozen=True, slots=True, eq=False)
class ClassAttribute(Claim):
    """Of a class: static lookup of the name along its resolution order finds this object (`MISSING`: finds nothing).

    Nothing is bound: a function, property or classmethod is compared as the class stores it.
    """

    name: str
    value: object

    def comparison_fields(self) -> tuple[object, ...]:
        return (self.name, id(self.value))

    @classmethod
    def capture(cls, owner: type, name: str) -> "ClassAttribute":
        """The claim that the lookup finds what it finds now."""
        return cls(name, static_lookup(owner, name))

    def check(self, value: object) -> bool:
        return static_lookup(value, self.name) is self.value

    def render(self, value_expression: str, names: Names) -> str:
        lookup = names.constant(static_lookup, "static_lookup")
        return f"{lookup}({value_expression}, {self.name!a}) is {names.constant(self.value, self.name)}"

    def explain(self, value: object, source: Source) -> str:
        found = show_value(static_lookup(value, self.name))
        return (
            f"{source.text()}: class attribute {self.name!r} changed from {show_value(self.value)} to {found}"
        )

    def text(self, source: Source) -> str:
        if self.value is MISSING:
            return f"{source.text()} has no class attribute {self.name}"
        return f"{source.text()}.{self.name} is {show_value(self.value)} (class attribute)"

    def lower(self, source: Source) -> list[tuple[Source, Claim]] | None:
        """For a pinned class: absent in the classes before the owner, and the object in the owner's dictionary."""
        if not isinstance(source, Pinned) or not issubclass(type(source.value), type):
            return None
        if static_lookup(type(source.value), "__getattribute__") is not type.__getattribute__:
            return None  # what the text reads would run code of its metaclass
        # In parts the versions of the classes can answer it, and look-ups of other names share the reads.
        claims: list[tuple[Source, Claim]] = []
        order = resolution_order(source.value)
        for cls in order:
            holder = source if cls is source.value else Pinned(cls, class_name(cls))
            if self.name in type_dict(cls):
                claims.append((ClassDictItem(holder, self.name), Identical(self.value)))
                break
            if not is_immutable(cls):
                claims.append((ClassDict(holder), HasKey(self.name, False)))
        else:
            if self.value is not MISSING:
                return None
        if len(order) > 1 and self.name not in type_dict(source.value):
            # A change of bases makes a new tuple. First, since it says which classes the others are about.
            claims.insert(0, (Attribute(source, "__mro__"), Identical(order)))
        return claims
