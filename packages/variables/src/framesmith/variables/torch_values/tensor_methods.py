"""A method of a tensor, bound: `x.add`. The rows that say what a call does stand in `method_rows` and `functions`."""

from collections.abc import Callable, Hashable, Iterator
from types import BuiltinMethodType, FunctionType, MethodType
from typing import final

from framesmith.graph import GraphBreak
from framesmith.graph.break_kinds import NATIVE_CALL
from framesmith.variables.core import (
    CALLABLES,
    Arguments,
    Constant,
    Keywords,
    PendingCall,
    TraceContext,
    Tracker,
    Writer,
)


@final
class TensorMethod(Tracker):
    """`tensor.name`, where `stored` is what the class holds: a method descriptor or a Python function."""

    def __init__(self, tensor: Tracker, name: str, stored: Callable[..., object]) -> None:
        self.tensor = tensor
        self.name = name
        self.stored = stored
        self.is_called_at_once = False

    @property
    def python_type(self) -> type:
        """A builtin method, or a bound Python function."""
        return MethodType if isinstance(self.stored, FunctionType) else BuiltinMethodType

    def begin_call(self, tx: TraceContext, args: Arguments, kwargs: Keywords) -> Tracker | PendingCall:
        """The row of the descriptor."""
        row = CALLABLES.find(self.stored)
        if row is None:
            raise GraphBreak(NATIVE_CALL, f"Tensor.{self.name}")
        return row.begin(tx, (self.tensor, *args), kwargs)

    def call(self, tx: TraceContext, args: Arguments, kwargs: Keywords) -> Tracker:
        """The same, run to its end."""
        result = self.begin_call(tx, args, kwargs)
        return tx.inline(result) if isinstance(result, PendingCall) else result

    def attribute(self, tx: TraceContext, name: str) -> Tracker:
        """`__self__` and `__name__`."""
        if name == "__self__":
            return self.tensor
        if name == "__name__":
            return Constant(self.name)
        return self.unsupported(f"reading attribute {name!r}")

    def truth(self, tx: TraceContext) -> bool:
        """A method is true."""
        return True

    def compare(self, tx: TraceContext, symbol: str, other: Tracker) -> Tracker | None:
        """Equal when bound to the same tensor."""
        if symbol not in ("==", "!=") or not isinstance(other, TensorMethod):
            return None
        same = self.stored is other.stored and self.tensor.is_same(tx, other.tensor)
        return Constant(same == (symbol == "=="))

    def hash_key(self, tx: TraceContext) -> Hashable:
        """By tensor and method."""
        return ("tensor method", self.tensor.hash_key(tx), self.name)

    def unbound(self) -> tuple[Callable[..., object], Tracker] | None:
        """What CPython calls in `x.sin()`, where nothing is bound; errors name it (`TensorBase.sin()`)."""
        return (self.stored, self.tensor) if self.is_called_at_once else None

    def children(self) -> Iterator[Tracker]:
        """The tensor."""
        yield self.tensor

    def reconstruct(self, writer: Writer) -> str:
        """Read it from the tensor again."""
        return f"{writer.value(self.tensor)}.{self.name}"

    def describe(self) -> str:
        """`method add of Tensor`."""
        return f"method {self.name} of {self.tensor.describe()}"
