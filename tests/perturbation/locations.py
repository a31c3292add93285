"""Where a value is held: something that can be read, replaced and deleted, and the mutations made of that.

A mutation has a name and a function that applies it and returns the function that takes it back.
"""

import types
from collections.abc import Callable, MutableMapping, MutableSequence
from dataclasses import dataclass
from typing import Any, Protocol

Undo = Callable[[], None]


class NotApplicable(Exception):
    """This mutation means nothing here; it is left out of the list."""


@dataclass(frozen=True)
class Mutation:
    """One change by name. `apply` does it and returns what takes it back."""

    name: str
    apply: Callable[[], Undo]


class Location(Protocol):
    """Holds one value."""

    def get(self) -> Any:
        """The value now."""

    def set(self, value: Any) -> None:
        """Put another value there."""

    def delete(self) -> None:
        """Take the value away."""


@dataclass
class Item:
    """An item of a list, a dict or a deque, an argument, a global."""

    container: MutableSequence[Any] | MutableMapping[Any, Any]
    key: Any

    def get(self) -> Any:
        return self.container[self.key]

    def set(self, value: Any) -> None:
        self.container[self.key] = value

    def delete(self) -> None:
        del self.container[self.key]


@dataclass
class Attribute:
    """An attribute of an instance, a class or a module; of a class, what stands in its `__dict__`."""

    owner: Any
    name: str

    def get(self) -> Any:
        if isinstance(self.owner, type):
            return vars(self.owner)[self.name]
        return getattr(self.owner, self.name)

    def set(self, value: Any) -> None:
        setattr(self.owner, self.name, value)

    def delete(self) -> None:
        delattr(self.owner, self.name)


@dataclass
class Cell:
    """What a closure holds."""

    cell: types.CellType

    def get(self) -> Any:
        return self.cell.cell_contents

    def set(self, value: Any) -> None:
        self.cell.cell_contents = value

    def delete(self) -> None:
        del self.cell.cell_contents


@dataclass
class Default:
    """A default of a function."""

    function: types.FunctionType
    index: int

    def get(self) -> Any:
        return (self.function.__defaults__ or ())[self.index]

    def set(self, value: Any) -> None:
        values = list(self.function.__defaults__ or ())
        values[self.index] = value
        self.function.__defaults__ = tuple(values)

    def delete(self) -> None:
        raise NotApplicable


@dataclass
class Member:
    """An item of a tuple: the whole tuple is replaced where it is held."""

    holder: Location
    index: int

    def get(self) -> Any:
        return self.holder.get()[self.index]

    def set(self, value: Any) -> None:
        whole = self.holder.get()
        values = list(whole)
        values[self.index] = value
        self.holder.set(type(whole)._make(values) if hasattr(whole, "_make") else type(whole)(values))

    def delete(self) -> None:
        raise NotApplicable


def replacement(name: str, location: Location, make: Callable[[Any], Any]) -> Mutation:
    """Put `make(value)` in place of the value."""

    def apply() -> Undo:
        before = location.get()
        location.set(make(before))
        return lambda: location.set(before)

    return Mutation(name, apply)


def deletion(location: Location) -> Mutation:
    """Delete the value; taken back, it stands at the end."""

    def apply() -> Undo:
        before = location.get()
        location.delete()
        if isinstance(location, Item) and isinstance(location.container, MutableSequence):
            return lambda: location.container.insert(location.key, before)  # type: ignore[union-attr]
        return lambda: location.set(before)

    return Mutation("delete", apply)


def addition(name: str, location: Location, value: Callable[[], Any]) -> Mutation:
    """Put a value where there is none."""

    def apply() -> Undo:
        location.set(value())
        return location.delete

    return Mutation(name, apply)
