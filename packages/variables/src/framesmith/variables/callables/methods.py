"""Bound methods of Python functions and other callables."""

from collections.abc import Hashable, Iterator
from types import FunctionType, MethodType
from typing import Final, final

from framesmith.guards import Source
from framesmith.guards.kinds import TypeIs
from framesmith.guards.sources import MethodFunction, MethodSelf
from framesmith.variables.core.base import Arguments, Keywords, PendingCall, TraceContext, Tracker, Writer
from framesmith.variables.core.constant import Constant, has_copies
from framesmith.variables.core.identity_keys import identity_key
from framesmith.variables.core.known_value import KnownValue
from framesmith.variables.core.rows import Rows

ROWS: Final = Rows()


@final
class BoundMethod(Tracker):
    """`receiver.function`: a call puts the receiver before the arguments."""

    def __init__(self, function: Tracker, receiver: Tracker, source: Source | None = None) -> None:
        self.function = function
        self.receiver = receiver
        self.source = source

    @property
    def python_type(self) -> type:
        """`types.MethodType`."""
        return MethodType

    def begin_call(self, tx: TraceContext, args: Arguments, kwargs: Keywords) -> Tracker | PendingCall:
        """Call the function with the receiver as first argument."""
        return self.function.begin_call(tx, (self.receiver, *args), kwargs)

    def begin_attribute(self, tx: TraceContext, name: str) -> Tracker:
        """`__self__`, `__func__`, else an attribute of the function."""
        if name == "__self__":
            return self.receiver
        if name == "__func__":
            return self.function
        return self.function.attribute(tx, name)

    def compare(self, tx: TraceContext, symbol: str, other: Tracker) -> Tracker | None:
        """`==` and `!=`: equal when function and receiver are the
        same objects; None (NotImplemented) for other types."""
        if symbol not in ("==", "!=") or not isinstance(other, BoundMethod):
            return None
        # CPython compares the receivers by identity since 3.8, the functions by `==`
        same = self.function.is_same(tx, other.function) and self.receiver.is_same(tx, other.receiver)
        return Constant(same == (symbol == "=="))

    def hash_key(self, tx: TraceContext) -> Hashable:
        """A key made of that of the function and the identity of the receiver, by which CPython hashes and compares."""
        receiver = self.receiver.realize()
        # equal values may be one object or several, in each call anew
        if receiver.is_unread or (isinstance(receiver, Constant) and has_copies(receiver.value)):
            return self.unsupported("hashing it")
        # a known object is guarded by its identity
        if not isinstance(receiver, KnownValue):
            tx.changes.note_key(receiver)
        return ("method", self.function.hash_key(tx), identity_key(receiver))

    def truth(self, tx: TraceContext) -> bool:
        """A method is true."""
        return True

    def children(self) -> Iterator[Tracker]:
        """Function and receiver."""
        yield self.function
        yield self.receiver

    def reconstruct(self, writer: Writer) -> str:
        """`MethodType(function, receiver)`."""
        make = writer.constant(MethodType, "MethodType")
        return f"{make}({writer.value(self.function)}, {writer.value(self.receiver)})"

    def describe(self) -> str:
        """`method f of T`."""
        return f"method {self.function.describe()}"


@ROWS.call(FunctionType.__get__)
def bind_function(
    tx: TraceContext, self: Tracker, instance: Tracker, owner: Tracker | None = None, /
) -> Tracker:
    """`function.__get__(instance, owner)`, as `partialmethod` and `singledispatchmethod` call it."""
    # through the class: `__get__(None, cls)` gives the function itself
    if isinstance(instance, Constant) and instance.value is None:
        return self
    return BoundMethod(self, instance)


@ROWS.wrap(MethodType)
def wrap_method(tx: TraceContext, value: object, source: Source) -> Tracker:
    """An existing bound method, whose function and receiver are wrapped."""
    assert isinstance(value, MethodType)
    tx.guard(source, TypeIs(MethodType))
    function = tx.wrap(value.__func__, MethodFunction(source))
    return BoundMethod(function, tx.wrap(value.__self__, MethodSelf(source)), source)
