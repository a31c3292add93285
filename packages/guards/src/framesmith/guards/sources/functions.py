"""Path elements into functions, methods and cells.

A cell of the called function itself is an `Own` in `sources.roots`.
"""

from dataclasses import dataclass
from types import FunctionType
from typing import final

from framesmith.guards.names import Names, literal
from framesmith.guards.scope import Scope
from framesmith.guards.sources.base import Source
from framesmith.guards.sources.roots import Own, Pinned
from framesmith.guards.sources.steps import Attribute, subscript


@final
@dataclass(frozen=True, slots=True, eq=False)
class CellContents(Source):
    """`cell.cell_contents`; an empty cell raises ValueError."""

    base: Source

    def read(self, scope: Scope) -> object:
        return getattr(scope.value_of(self.base), "cell_contents")  # noqa: B009  # the type is not known here

    def expression(self, names: Names) -> str:
        return f"{names.source(self.base)}.cell_contents"

    def text(self) -> str:
        if isinstance(self.base, Own):
            return self.base.text()
        if isinstance(self.base, FunctionClosure) and isinstance(self.base.base, Pinned):
            function = self.base.base.value
            if isinstance(function, FunctionType):
                return function.__code__.co_freevars[self.base.index]
        return f"{self.base.text()}.cell_contents"


@final
@dataclass(frozen=True, slots=True, eq=False)
class FunctionDefault(Source):
    """`function.__defaults__[index]`."""

    base: Source
    index: int

    def read(self, scope: Scope) -> object:
        return subscript(scope.value_of(self._holder()), self.index)

    def expression(self, names: Names) -> str:
        return f"{names.source(self._holder())}[{self.index}]"

    def text(self) -> str:
        return f"{self.base.text()}.__defaults__[{self.index}]"

    def _holder(self) -> Source:
        return Attribute(self.base, "__defaults__")


@final
@dataclass(frozen=True, slots=True, eq=False)
class FunctionKeywordDefault(Source):
    """`function.__kwdefaults__[name]`."""

    base: Source
    name: str

    def read(self, scope: Scope) -> object:
        return subscript(scope.value_of(self._holder()), self.name)

    def expression(self, names: Names) -> str:
        return f"{names.source(self._holder())}[{literal(self.name, names)}]"

    def text(self) -> str:
        return f"{self.base.text()}.__kwdefaults__[{self.name!r}]"

    def _holder(self) -> Source:
        return Attribute(self.base, "__kwdefaults__")


@final
@dataclass(frozen=True, slots=True, eq=False)
class FunctionClosure(Source):
    """`function.__closure__[index]`: the cell itself."""

    base: Source
    index: int

    def read(self, scope: Scope) -> object:
        return subscript(scope.value_of(self._holder()), self.index)

    def expression(self, names: Names) -> str:
        return f"{names.source(self._holder())}[{self.index}]"

    def text(self) -> str:
        return f"{self.base.text()}.__closure__[{self.index}]"

    def _holder(self) -> Source:
        return Attribute(self.base, "__closure__")


@final
@dataclass(frozen=True, slots=True, eq=False)
class MethodSelf(Source):
    """`method.__self__`."""

    base: Source

    def read(self, scope: Scope) -> object:
        return scope.value_of(Attribute(self.base, "__self__"))

    def expression(self, names: Names) -> str:
        return names.source(Attribute(self.base, "__self__"))

    def text(self) -> str:
        return f"{self.base.text()}.__self__"


@final
@dataclass(frozen=True, slots=True, eq=False)
class MethodFunction(Source):
    """`method.__func__`."""

    base: Source

    def read(self, scope: Scope) -> object:
        return scope.value_of(Attribute(self.base, "__func__"))

    def expression(self, names: Names) -> str:
        return names.source(Attribute(self.base, "__func__"))

    def text(self) -> str:
        return f"{self.base.text()}.__func__"
