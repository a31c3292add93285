"""Sources that start a path: local variables, globals, objects held as constants, and what each compiled function has its own of.

Path elements from there are in `sources.steps` and its neighbours.
"""

from dataclasses import dataclass, field
from typing import final

from framesmith.guards.names import Names, read_global
from framesmith.guards.scope import Scope
from framesmith.guards.sources.base import Source


@final
@dataclass(frozen=True, slots=True, eq=False)
class Local(Source):
    """A local variable of the compiled function when it is entered."""

    name: str
    base: None = field(default=None, init=False, repr=False)

    def read(self, scope: Scope) -> object:
        if self.name not in scope.locals:
            raise UnboundLocalError(f"local variable {self.name!r} is not bound")
        return scope.locals[self.name]

    def expression(self, names: Names) -> str:
        return names.local(self.name)

    def text(self) -> str:
        return self.name

    def is_direct(self) -> bool:
        return True


@final
@dataclass(frozen=True, slots=True, eq=False)
class Global(Source):
    """What LOAD_GLOBAL of this name gives in the compiled function: a global of its module, else a builtin."""

    name: str
    base: None = field(default=None, init=False, repr=False)

    def read(self, scope: Scope) -> object:
        return read_global(scope.globals, self.name)

    def expression(self, names: Names) -> str:
        return names.global_name(self.name)

    def text(self) -> str:
        return self.name


@final
@dataclass(frozen=True, slots=True, eq=False)
class Pinned(Source):
    """An object held as a constant, compared by identity. It lives as long as the guards do."""

    value: object
    label: str = "constant"
    base: None = field(default=None, init=False, repr=False)

    def comparison_fields(self) -> tuple[object, ...]:
        return (id(self.value),)

    def read(self, scope: Scope) -> object:
        return self.value

    def expression(self, names: Names) -> str:
        return names.constant(self.value, self.label)

    def text(self) -> str:
        return self.label

    def is_direct(self) -> bool:
        return True


@final
@dataclass(frozen=True, slots=True, eq=False)
class Own(Source):
    """A part of the called function that differs between functions of the same code: the function itself, a cell of its closure ...

    Such functions share one entry, as text. The text cannot hold the part of one of them, so it holds this source in its
    place; binding the text to a function puts that function's part there. `kind` and `index` say which part, for
    example the second cell; `label` is the name for people.
    """

    kind: str
    index: int = 0
    label: str = "function"
    base: None = field(default=None, init=False, repr=False)

    def comparison_fields(self) -> tuple[object, ...]:
        return (self.kind, self.index)

    def read(self, scope: Scope) -> object:
        return scope.own[self]

    def expression(self, names: Names) -> str:
        return names.constant(self, self.label)

    def text(self) -> str:
        return self.label

    def is_direct(self) -> bool:
        return True


def namespace_name(source: Source) -> str | None:
    """The name of the module whose globals a source is, if it is such a dictionary, held as a constant."""
    if not isinstance(source, Pinned) or type(source.value) is not dict:
        return None
    names: dict[object, object] = source.value
    return source.label if names.get("__name__") == source.label else None
