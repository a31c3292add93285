"""Path elements that any Python object allows: attributes, instance and class dictionaries, types, pure functions of it.

Items of containers are in `sources.containers`.
"""

from collections.abc import Callable
from dataclasses import dataclass
from operator import getitem
from typing import Final, cast, final

from framesmith.guards.class_lookup import type_dict
from framesmith.guards.names import Names, is_attribute_name, literal
from framesmith.guards.scope import Scope
from framesmith.guards.sources.base import Source

_getitem: Final = cast(Callable[[object, object], object], getitem)


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
    """`base.__dict__`: read once for all attributes of one instance."""

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
        return subscript(scope.value_of(self.base).__dict__, self.name)

    def expression(self, names: Names) -> str:
        return f"{names.source(InstanceDict(self.base))}[{literal(self.name, names)}]"

    def text(self) -> str:
        return f"{self.base.text()}.{self.name}"


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
        return subscript(type_dict(scope.value_of(self.base)), self.name)

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

    def comparison_fields(self) -> tuple[object, ...]:
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
        return cast(Callable[[], object], reference)()

    def expression(self, names: Names) -> str:
        return f"{names.source(self.base)}()"

    def text(self) -> str:
        return f"{self.base.text()}()"


def subscript(container: object, key: object) -> object:
    """`container[key]`; a container that has no items raises TypeError, which is a miss."""
    return _getitem(container, key)


def _name_of(function: object) -> str:
    return getattr(function, "__name__", type(function).__name__)
