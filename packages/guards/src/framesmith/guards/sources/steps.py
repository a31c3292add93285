"""Steps any Python object allows: attributes, instance dictionaries, items, lengths, types, iterator positions."""

from collections.abc import Callable, Mapping, Sized
from dataclasses import dataclass
from itertools import islice
from typing import final

from framesmith.guards.iterators import parts, peek
from framesmith.guards.names import Names, is_attribute_name, literal
from framesmith.guards.scope import Scope
from framesmith.guards.sources.base import Source


@final
@dataclass(frozen=True, slots=True, eq=False)
class Attribute(Source):
    """`base.name`, the full protocol. On classes with user-written lookup prefer `InstanceItem`."""

    base: Source
    name: str

    def read(self, scope: Scope) -> object:
        return getattr(scope.value_of(self.base), self.name)

    def expression(self, names: Names) -> str:
        if is_attribute_name(self.name):
            return f"{names.source(self.base)}.{self.name}"
        return f"{names.constant(getattr, 'getattr')}({names.source(self.base)}, {self.name!a})"

    def text(self) -> str:
        return f"{self.base.text()}.{self.name}"


@final
@dataclass(frozen=True, slots=True, eq=False)
class InstanceDict(Source):
    """`base.__dict__`: shared by everything read from one instance."""

    base: Source

    def read(self, scope: Scope) -> object:
        return scope.value_of(self.base).__dict__

    def expression(self, names: Names) -> str:
        return f"{names.source(self.base)}.__dict__"

    def text(self) -> str:
        return f"{self.base.text()}.__dict__"


@final
@dataclass(frozen=True, slots=True, eq=False)
class InstanceItem(Source):
    """`base.__dict__[name]`: an attribute the instance itself holds, read without the attribute protocol."""

    base: Source
    name: str

    def read(self, scope: Scope) -> object:
        return subscript(scope.value_of(InstanceDict(self.base)), self.name)

    def expression(self, names: Names) -> str:
        return f"{names.source(InstanceDict(self.base))}[{literal(self.name, names)}]"

    def text(self) -> str:
        return f"{self.base.text()}.{self.name}"


@final
@dataclass(frozen=True, slots=True, eq=False)
class Item(Source):
    """`base[key]` with a constant key."""

    base: Source
    key: object

    def read(self, scope: Scope) -> object:
        return subscript(scope.value_of(self.base), self.key)

    def expression(self, names: Names) -> str:
        return f"{names.source(self.base)}[{literal(self.key, names)}]"

    def text(self) -> str:
        if (
            isinstance(self.base, InstanceItem)
            and self.base.name in _MODULE_DICTS
            and isinstance(self.key, str)
        ):
            return f"{self.base.base.text()}.{self.key}"
        return f"{self.base.text()}[{self.key!r}]"


@final
@dataclass(frozen=True, slots=True, eq=False)
class DictKeys(Source):
    """`[*base]`: the keys in order, listed once for everything that looks at them."""

    base: Source

    def read(self, scope: Scope) -> object:
        mapping = scope.value_of(self.base)
        return [*mapping]  # type: ignore[misc]  # a TypeError here is a miss, as in the generated text

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
class Length(Source):
    """`len(base)`."""

    base: Source

    def read(self, scope: Scope) -> object:
        value = scope.value_of(self.base)
        return len(value)  # type: ignore[arg-type]  # a TypeError here is a miss, as in the generated text

    def expression(self, names: Names) -> str:
        return f"{names.constant(len, 'len')}({names.source(self.base)})"

    def text(self) -> str:
        return f"len({self.base.text()})"


@final
@dataclass(frozen=True, slots=True, eq=False)
class TypeOf(Source):
    """`type(base)`."""

    base: Source

    def read(self, scope: Scope) -> object:
        return type(scope.value_of(self.base))

    def expression(self, names: Names) -> str:
        return f"{names.constant(type, 'type')}({names.source(self.base)})"

    def text(self) -> str:
        return f"type({self.base.text()})"


@final
@dataclass(frozen=True, slots=True, eq=False)
class ClassDict(Source):
    """`base.__dict__` of a class: the attributes this very class defines."""

    base: Source

    def read(self, scope: Scope) -> object:
        return type_dict(scope.value_of(self.base))

    def expression(self, names: Names) -> str:
        return f"{names.constant(type_dict, 'type_dict')}({names.source(self.base)})"

    def text(self) -> str:
        return f"{self.base.text()}.__dict__"


@final
@dataclass(frozen=True, slots=True, eq=False)
class ClassDictItem(Source):
    """`base.__dict__[name]` of a class: a descriptor as it is stored, not bound."""

    base: Source
    name: str

    def read(self, scope: Scope) -> object:
        return subscript(scope.value_of(ClassDict(self.base)), self.name)

    def expression(self, names: Names) -> str:
        return f"{names.source(ClassDict(self.base))}[{literal(self.name, names)}]"

    def text(self) -> str:
        return f"{self.base.text()}.{self.name}"


@final
@dataclass(frozen=True, slots=True, eq=False)
class CallResult(Source):
    """`function(base)` for a function that has no effects, e.g. one that reads an iterator's state."""

    base: Source
    function: Callable[..., object]

    def compared(self) -> tuple[object, ...]:
        return (self.base, id(self.function))

    def read(self, scope: Scope) -> object:
        return self.function(scope.value_of(self.base))

    def expression(self, names: Names) -> str:
        return f"{names.constant(self.function, _name_of(self.function))}({names.source(self.base)})"

    def text(self) -> str:
        return f"{_name_of(self.function)}({self.base.text()})"


@final
@dataclass(frozen=True, slots=True, eq=False)
class WeakReferent(Source):
    """`base()` of a weak reference: the object, or None when it died."""

    base: Source

    def read(self, scope: Scope) -> object:
        reference = scope.value_of(self.base)
        return reference()  # type: ignore[operator]  # a TypeError here is a miss, as in the generated text

    def expression(self, names: Names) -> str:
        return f"{names.source(self.base)}()"

    def text(self) -> str:
        return f"{self.base.text()}()"


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


def subscript(container: object, key: object) -> object:
    """`container[key]`; a container that has no items raises TypeError, which is a miss."""
    return container[key]  # type: ignore[index]  # as in the generated text


def item_at(collection: object, index: int) -> object:
    """The item at a position of the iteration order; IndexError when there are fewer."""
    if not isinstance(collection, Mapping | Sized) or len(collection) <= index:
        raise IndexError(index)
    return next(islice(iter(collection), index, None))  # type: ignore[call-overload]  # sized and iterable


# The dictionary of a class whatever its metaclass does with `__dict__`; TypeError for anything else.
type_dict: Callable[[object], Mapping[str, object]] = type.__dict__["__dict__"].__get__


def _name_of(function: object) -> str:
    return getattr(function, "__name__", type(function).__name__)
