"""A method of a tensor, bound: `x.add`. The rows of the calls are in `torch_functions`."""

from collections.abc import Callable, Hashable, Iterator
from types import BuiltinMethodType, FunctionType, MethodType
from typing import final

from framesmith.graph import GraphBreak
from framesmith.graph.breaks.break_kinds import NATIVE_CALL
from framesmith.variables.core import (
    Arguments,
    Constant,
    Keywords,
    PendingCall,
    TraceContext,
    Tracker,
    Writer,
)
from framesmith.variables.core.table import row_of


@final
class TensorMethod(Tracker):
    """`tensor.name`, where `stored` is the class entry: a method descriptor or a Python function."""

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
        """The result of the row of the class entry, or what it leaves to the symbolic interpreter."""
        row = row_of(tx.registry, self.stored)
        if row is None:
            raise GraphBreak(NATIVE_CALL, f"Tensor.{self.name}")
        return row.begin(tx, (self.tensor, *args), kwargs)

    def begin_attribute(self, tx: TraceContext, name: str) -> Tracker:
        """`__self__` and `__name__`; others break the graph."""
        if name == "__self__":
            return self.tensor
        if name == "__name__":
            return Constant(self.name)
        return self.unsupported(f"reading attribute {name!r}")

    def truth(self, tx: TraceContext) -> bool:
        """A method is true."""
        return True

    def compare(self, tx: TraceContext, symbol: str, other: Tracker) -> Tracker | None:
        """`==` and `!=`: equal for the same method of the same tensor."""
        if symbol not in ("==", "!=") or not isinstance(other, TensorMethod):
            return None
        same = self.stored is other.stored and self.tensor.is_same(tx, other.tensor)
        return Constant(same == (symbol == "=="))

    def hash_key(self, tx: TraceContext) -> Hashable:
        """A key made of the tensor and the method."""
        return ("tensor method", self.tensor.hash_key(tx), self.name)

    def unbound(self) -> tuple[Callable[..., object], Tracker] | None:
        """The function and receiver of a call such as `x.sin()`, for which CPython
        binds nothing and whose errors name `TensorBase.sin()`; else None."""
        return (self.stored, self.tensor) if self.is_called_at_once else None

    def children(self) -> Iterator[Tracker]:
        """The tensor."""
        yield self.tensor

    def reconstruct(self, writer: Writer) -> str:
        """The bound method, read from the tensor."""
        return f"{writer.value(self.tensor)}.{self.name}"

    def describe(self) -> str:
        """`method add of Tensor`, for messages."""
        return f"method {self.name} of {self.tensor.describe()}"
