"""An object that each call of an entry makes anew, before the graph runs: the memory of a new parameter."""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import final

from framesmith.guards.names import Names
from framesmith.guards.scope import Scope
from framesmith.guards.sources.base import Source


@final
@dataclass(frozen=True, slots=True, eq=False)
class NewObject(Source):
    """`function(*arguments)`, once a call. `number` tells those of one entry apart.

    Invariant: no guard is on it or on what is read from it: what holds of the result depends on the arguments alone. A
    scope may hold the object that an earlier run of the same call made (`Scope.own`).
    """

    number: int
    function: Callable[..., object]
    arguments: tuple[object, ...]
    name: str
    base: None = field(default=None, init=False, repr=False)

    def read(self, scope: Scope) -> object:
        return scope.own[self] if self in scope.own else self.function(*self.arguments)

    def expression(self, names: Names) -> str:
        function = names.constant(self.function, self.name)
        return f"{function}(*{names.constant(self.arguments, 'arguments')})"

    def text(self) -> str:
        return f"{self.name}_{self.number}"


def is_made(source: Source) -> bool:
    """Whether a source is an object made for the call, or is read from one."""
    return isinstance(source, NewObject) or any(isinstance(one, NewObject) for one in source.ancestors())
