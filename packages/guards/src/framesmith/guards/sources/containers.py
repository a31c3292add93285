"""Path elements into containers and iterators: items, keys, lengths, what an iterator will give.

The casts below are false for a value of another type: its TypeError is a miss, as in the generated text. Attributes
and dictionaries of objects are in `sources.steps`.
"""

from collections.abc import Iterable, Sized
from dataclasses import dataclass
from itertools import islice
from typing import cast, final

from framesmith.guards.comparison import hash_key
from framesmith.guards.iterators import parts, peek
from framesmith.guards.names import Names, literal
from framesmith.guards.scope import Scope
from framesmith.guards.sources.base import Source
from framesmith.guards.sources.roots import namespace_name
from framesmith.guards.sources.steps import InstanceItem, subscript


@final
@dataclass(frozen=True, slots=True, eq=False)
class Item(Source):
    """`base[key]` with a constant key."""

    base: Source
    key: object

    def hash_fields(self) -> tuple[object, ...]:
        return (self.base, hash_key(self.key))

    def read(self, scope: Scope) -> object:
        return subscript(scope.value_of(self.base), self.key)

    def expression(self, names: Names) -> str:
        return f"{names.source(self.base)}[{literal(self.key, names)}]"

    def text(self) -> str:
        try:
            return self._text
        except AttributeError:
            found = self._make_text()
            # The data class is frozen.
            object.__setattr__(self, "_text", found)
            return found

    def _make_text(self) -> str:
        if (
            isinstance(self.base, InstanceItem)
            and self.base.name in _MODULE_DICTS
            and isinstance(self.key, str)
        ):
            return f"{self.base.base.text()}.{self.key}"
        module = namespace_name(self.base)
        if module is not None and isinstance(self.key, str):
            return self.key if module == "builtins" else f"{module}.{self.key}"
        return f"{self.base.text()}[{self.key!r}]"


@final
@dataclass(frozen=True, slots=True, eq=False)
class DictKeys(Source):
    """`[*base]`: the keys in order, listed once for all guards that read them."""

    base: Source

    def read(self, scope: Scope) -> object:
        mapping = scope.value_of(self.base)
        return [*cast(Iterable[object], mapping)]

    def expression(self, names: Names) -> str:
        return f"[*{names.source(self.base)}]"

    def text(self) -> str:
        return f"list({self.base.text()})"


@final
@dataclass(frozen=True, slots=True, eq=False)
class DictKeyAt(Source):
    """The key at a position of the iteration order."""

    base: Source
    index: int

    def read(self, scope: Scope) -> object:
        return subscript(scope.value_of(DictKeys(self.base)), self.index)

    def expression(self, names: Names) -> str:
        return f"{names.source(DictKeys(self.base))}[{self.index}]"

    def text(self) -> str:
        return f"list({self.base.text()})[{self.index}]"


@final
@dataclass(frozen=True, slots=True, eq=False)
class SetItemAt(Source):
    """The item at a position of a set's iteration order (arbitrary, but stable while the set is unchanged)."""

    base: Source
    index: int

    def read(self, scope: Scope) -> object:
        return item_at(scope.value_of(self.base), self.index)

    def expression(self, names: Names) -> str:
        return f"{names.constant(item_at, 'item_at')}({names.source(self.base)}, {self.index})"

    def text(self) -> str:
        return f"list({self.base.text()})[{self.index}]"


@final
@dataclass(frozen=True, slots=True, eq=False)
class IteratorPeek(Source):
    """What the builtin iterator will give after `ahead` other items; the iterator does not move."""

    base: Source
    ahead: int

    def read(self, scope: Scope) -> object:
        return peek(scope.value_of(self.base), self.ahead)

    def expression(self, names: Names) -> str:
        return f"{names.constant(peek, 'peek')}({names.source(self.base)}, {self.ahead})"

    def text(self) -> str:
        return f"item {self.ahead} ahead in {self.base.text()}"


@final
@dataclass(frozen=True, slots=True, eq=False)
class IteratorPart(Source):
    """What a builtin iterator runs over: the index-th of `iterators.parts` (the list, the inner iterators ...)."""

    base: Source
    index: int

    def read(self, scope: Scope) -> object:
        return parts(scope.value_of(self.base))[self.index]

    def expression(self, names: Names) -> str:
        return f"{names.constant(parts, 'parts')}({names.source(self.base)})[{self.index}]"

    def text(self) -> str:
        return f"part {self.index} of {self.base.text()}"


# Where a torch.nn.Module keeps what its `__getattr__` finds: the user writes `m.weight` for them.
_MODULE_DICTS = frozenset({"_parameters", "_buffers", "_modules"})


def item_at(collection: object, index: int) -> object:
    """The item at a position of the iteration order; IndexError when there are fewer."""
    # `next` would raise StopIteration, which is no miss.
    if len(cast(Sized, collection)) <= index:
        raise IndexError(index)
    return next(islice(cast(Iterable[object], collection), index, None))
