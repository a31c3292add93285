"""`id(value)` and thread numbers: known at run time only, but their equality is known while tracing."""

from collections.abc import Hashable, Iterator
from operator import call
from threading import get_ident
from typing import Final, final
from weakref import ref

from framesmith.guards.kinds import EqualTo
from framesmith.guards.sources import CallResult, Pinned
from framesmith.variables.core.base import TraceContext, Tracker, Writer
from framesmith.variables.core.constant import Constant, constant_key
from framesmith.variables.core.identity_keys import identity_key
from framesmith.variables.core.rows import Rows

ROWS: Final = Rows()

# Their `==` and that of `int` decline each other, and so the identity decides.
_UNEQUAL_TO_NUMBERS: Final = frozenset({type(None), str, bytes, tuple, list, dict, set, frozenset})

_GET_IDENT: Final = Pinned(get_ident, "get_ident")


@final
class IdentityNumber(Tracker):
    """`id(target)`. It keeps a reference to the target, so two different targets have different numbers."""

    def __init__(self, target: Tracker) -> None:
        self.target = target

    @property
    def python_type(self) -> type:
        """`int`."""
        return int

    def describe(self) -> str:
        """It has no source: what it is the number of has."""
        return f"id() of {self.target.describe()}"

    def truth(self, tx: TraceContext) -> bool:
        """An address is never zero."""
        return True

    def compare(self, tx: TraceContext, symbol: str, other: Tracker) -> Tracker | None:
        """`==` and `!=` with another `id(...)`: whether the targets are the same object. What is no number is unequal.
        Anything else breaks the graph."""
        if symbol in ("==", "!=") and other.python_type in _UNEQUAL_TO_NUMBERS:
            return Constant(symbol == "!=")
        if symbol not in ("==", "!=") or not isinstance(other, IdentityNumber):
            # a number of the program may be an address that it stored before
            return self.unsupported(f"comparison {symbol}")
        return Constant(self.target.is_same(tx, other.target) == (symbol == "=="))

    def is_same(self, tx: TraceContext, other: Tracker) -> bool:
        """Two calls of `id` need not return the same int object: breaks the graph for another tracker."""
        return self is other or bool(self.unsupported("an identity test"))

    def hash_key(self, tx: TraceContext) -> Hashable:
        """A key of the target: equal for the same object. For an existing object the number itself, guarded, where the
        trace also sees numbers that the program stored before and that may be addresses (`exact_identities`)."""
        source = self.target.source
        if source is None or not tx.changes.exact_identities:
            # the trace is made again with exact numbers if it turns out that it saw addresses (`replanning`)
            tx.changes.has_identity_keys |= source is not None
            # the targets have to stay different objects in later calls
            tx.changes.note_key(self.target)
            return ("id", identity_key(self.target))
        value = getattr(self.target, "value", None)
        if value is None:
            return self.unsupported("hashing it")
        # the number of this very object: another one in the next call is a miss
        tx.guard(CallResult(source, id), EqualTo(id(value)), "it is a key")
        return constant_key(id(value))

    def children(self) -> Iterator[Tracker]:
        """The target."""
        yield self.target

    def reconstruct(self, writer: Writer) -> str:
        """`id(target)` at run time."""
        return f"{writer.constant(id, 'id')}({writer.value(self.target)})"


@final
class ThreadNumber(Tracker):
    """`threading.get_ident()`: the number of the thread that runs the entry."""

    @property
    def python_type(self) -> type:
        """`int`."""
        return int

    def truth(self, tx: TraceContext) -> bool:
        """Thread numbers are not zero."""
        return True

    def compare(self, tx: TraceContext, symbol: str, other: Tracker) -> Tracker | None:
        """`==` and `!=` with another thread number: equal, since a
        call runs in one thread. What is no number is unequal. Anything else breaks the graph."""
        if symbol in ("==", "!=") and other.python_type in _UNEQUAL_TO_NUMBERS:
            return Constant(symbol == "!=")
        if symbol not in ("==", "!=") or not isinstance(other, ThreadNumber):
            return self.unsupported(f"comparison {symbol}")
        return Constant(symbol == "==")

    def hash_key(self, tx: TraceContext) -> Hashable:
        """One key for all thread numbers in the trace; the number itself, guarded, where the trace also sees
        numbers that may be that of a thread (`exact_identities`): it is an address as well."""
        if not tx.changes.exact_identities:
            tx.changes.has_identity_keys = True
            return ("thread",)
        number = get_ident()
        # in another thread it is a miss
        tx.guard(CallResult(_GET_IDENT, call), EqualTo(number), "it is a key")
        return constant_key(number)

    def reconstruct(self, writer: Writer) -> str:
        """`get_ident()`, called at run time."""
        return f"{writer.constant(get_ident, 'get_ident')}()"


@ROWS.call(get_ident)
def thread_number(tx: TraceContext) -> Tracker:
    """`threading.get_ident()`."""
    return ThreadNumber()


@ROWS.call(id)
def id_(tx: TraceContext, value: Tracker, /) -> Tracker:
    """`id(value)`; breaks the graph for values whose identity the trace does not model, such as numbers and texts."""
    pinned = isinstance(value.source, Pinned) and value.python_type in (tuple, frozenset)
    # CPython shares one weak reference without a callback, so several of these trackers are one object.
    is_shared = value.source is None and value.python_type is ref
    if pinned or is_shared or isinstance(value, Constant) or value.is_same(tx, value) is not True:
        return value.unsupported("id()")
    return IdentityNumber(value)
