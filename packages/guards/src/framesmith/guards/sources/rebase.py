"""The same path from another start: `layers[0].fc.weight` becomes `layers[1].fc.weight`."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import fields
from typing import Final, TypeAlias, final

from framesmith.guards.comparison import Comparable
from framesmith.guards.sources.base import Source

_Copy: TypeAlias = Callable[[Source], Source]
_Orders: TypeAlias = dict[int, tuple[tuple[Source, ...], list[int | None]]]


@final
class Rebase:
    """Gives, for a source that is read through `old`, the one that is read in the same way through `new`.

    `moved` are those that are known, at the places that `places` gives for their first forms. `orders`: what was found out for
    `move_all`, by the identity of the sources, for all that share the places.
    """

    def __init__(
        self,
        old: Source,
        new: Source,
        places: "Mapping[Source, int] | None" = None,
        moved: Sequence[Source] = (),
        orders: "_Orders | None" = None,
    ) -> None:
        self._places = {old: 0} if places is None else places
        self._known = (new,) if places is None else moved
        self._moved: dict[Source, Source | None] = {}
        self._orders: _Orders = {} if orders is None else orders

    def __call__(self, source: Source) -> Source:
        """The source with the new start; itself, if it is not read through the old one."""
        moved = self._find(source)
        return source if moved is None else moved

    def move_all(self, sources: tuple[Source, ...]) -> tuple[Source, ...]:
        """Each of the sources with the new start, as a call gives it. The same tuple costs no look-up when it is given again."""
        order = self._orders.get(id(sources))
        if order is None:
            # with the tuple, so that its id is not used for another one
            order = self._orders[id(sources)] = sources, [self._places.get(source) for source in sources]
        known = [self._known[place] for place in order[1] if place is not None]
        return tuple(known) if len(known) == len(sources) else tuple(map(self, sources))

    def _find(self, source: Source) -> Source | None:
        place = self._places.get(source)
        if place is not None:
            return self._known[place]
        if source in self._moved:
            return self._moved[source]
        base = None if source.base is None else self._find(source.base)
        moved = None if base is None else _with_base(source, base)
        self._moved[source] = moved
        return moved


@final
class RebasePattern:
    """Sources below one that will be moved many times, all at once. Each is the old one, or read through it."""

    def __init__(self, old: Source, sources: Iterable[Source]) -> None:
        self._old = old
        self._places: dict[Source, int] = {old: 0}
        self._steps: list[tuple[int, _Copy]] = []
        self._wanted = [self._add(source) for source in sources]
        self._orders: _Orders = {}

    def _add(self, source: Source) -> int:
        place = self._places.get(source)
        if place is None:
            assert source.base is not None, f"{source.text()} is not read through {self._old.text()}"
            base = self._add(source.base)
            self._steps.append((base, _copier(source)))
            place = self._places[source] = len(self._places)
        return place

    def move(self, new: Source) -> tuple[Rebase, list[Source]]:
        """What moves sources to the new start, and each of the sources with it."""
        moved = [new]
        for base, copy in self._steps:
            moved.append(copy(moved[base]))
        rebase = Rebase(self._old, new, self._places, moved, self._orders)
        return rebase, [moved[place] for place in self._wanted]


def _copier(source: Source) -> _Copy:
    """What makes the same step from another base. Where the class does nothing of its own when it is made, its slots are set, and the
    hash is computed from the constants: the constructor of a frozen data class takes four times as long."""
    cls, base = type(source), source.base
    names = _fields(source)
    hashed = source.hash_fields()
    plain = (
        cls.__post_init__ is Source.__post_init__
        and cls._compute_hash is Comparable._compute_hash
        # The copy hashes the new base in the place of the old one: it has to be the first.
        and hashed[:1] == (base,)
        and not any(isinstance(one, slice) for one in hashed)
    )
    if not plain:
        return lambda one: _with_base(source, one)
    set_base, set_hash = cls.__dict__["base"].__set__, Comparable.__dict__["_hash"].__set__
    rest = [(cls.__dict__[name].__set__, getattr(source, name)) for name in names if name != "base"]
    constants = hashed[1:]

    def copy(one: Source) -> Source:
        made = object.__new__(cls)
        set_base(made, one)
        for set_field, value in rest:
            set_field(made, value)
        set_hash(made, hash((cls, (one, *constants))))
        return made

    return copy


def is_movable(source: Source) -> bool:
    """Whether a source consists of its base and of constants."""
    return source.base is not None and not any(
        isinstance(getattr(source, name), Source | tuple) for name in _fields(source) if name != "base"
    )


def _with_base(source: Source, base: Source) -> Source:
    values = [base if name == "base" else getattr(source, name) for name in _fields(source)]
    moved: Source = type(source)(*values)
    return moved


_NAMES: Final[dict[int, tuple[str, ...]]] = {}
"""The parameters of each class of sources, by its identity."""


def _fields(source: Source) -> tuple[str, ...]:
    cls = type(source)
    names = _NAMES.get(id(cls))
    if names is None:
        held = fields(cls)  # type: ignore[arg-type]  # each concrete source is a data class
        names = _NAMES[id(cls)] = tuple(field.name for field in held if field.init)
    return names
