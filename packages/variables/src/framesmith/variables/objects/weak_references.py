"""Weak references to objects that exist outside of the trace."""

import weakref
from collections.abc import Hashable
from typing import Final, final

from framesmith.guards import Source
from framesmith.guards.class_lookup import overrides
from framesmith.guards.kinds import Identical, NotIdentical, TypeIs
from framesmith.guards.sources import Attribute, WeakReferent
from framesmith.variables.core.base import Arguments, Keywords, TraceContext, Tracker, Writer
from framesmith.variables.core.constant import Constant
from framesmith.variables.core.rows import Rows
from framesmith.variables.core.wrap_rules import unread
from framesmith.variables.operations.compare import compare

ROWS: Final = Rows()


@final
class WeakReferenceTracker(Tracker):
    """`weakref.ref(target)`. Invariant: the target has a source, or is the constant None after its death."""

    def __init__(
        self,
        target: Tracker,
        source: Source | None = None,
        callback: Tracker | None = None,
        value: "weakref.ref[object] | None" = None,
    ) -> None:
        self.target = target
        self.value = value
        self.source = source
        self.callback = callback

    @property
    def python_type(self) -> type:
        """`weakref.ref`."""
        return weakref.ref

    def begin_call(self, tx: TraceContext, args: Arguments, kwargs: Keywords) -> Tracker:
        """The target, or None when it is dead."""
        if args or kwargs:
            return self.unsupported("calling it with arguments")
        return self.target.realize()

    def compare(self, tx: TraceContext, symbol: str, other: Tracker) -> Tracker | None:
        """`==` and `!=`: those of the living targets, one object or two (weakref_richcompare in CPython). A dead
        one breaks the graph: then the references themselves are compared."""
        if symbol not in ("==", "!=") or not isinstance(other, WeakReferenceTracker):
            return None
        mine, theirs = self.target.realize(), other.target.realize()
        if isinstance(mine, Constant) or isinstance(theirs, Constant):
            return self.unsupported("a comparison")
        return compare(tx, symbol, mine, theirs)

    def is_same(self, tx: TraceContext, other: Tracker) -> bool:
        """`self is other`: for living targets all references without a callback to the same object are one object."""
        if self is other or not isinstance(other, WeakReferenceTracker):
            return self is other
        # Of two existing references each has a tracker of its own.
        if self.source is not None and other.source is not None:
            return super().is_same(tx, other)
        mine, theirs = self.target.realize(), other.target.realize()
        return mine.is_same(tx, theirs) and not self._has_callback(tx) and not other._has_callback(tx)

    def _has_callback(self, tx: TraceContext) -> bool:
        """Whether it has one; guarded for an existing reference."""
        if self.value is None or self.source is None:
            return self.callback is not None
        found: object = getattr(self.value, "__callback__")  # noqa: B009  # dead references have none, despite the stubs
        tx.guard(
            Attribute(self.source, "__callback__"), Identical(None) if found is None else NotIdentical(None)
        )
        return found is not None

    def hash_key(self, tx: TraceContext) -> Hashable:
        """The hash of the target; a dead reference breaks the graph. So does one with a callback to a target that compares itself: it
        is another object than the reference without, and the two are equal only if the target says so of itself."""
        target = self.target.realize()
        if isinstance(target, Constant):
            return self.unsupported("hashing it")
        key = target.hash_key(tx)
        if overrides(target.python_type, object, "__eq__") and self._has_callback(tx):
            return self.unsupported("hashing it with a callback")
        return ("weak reference", key)

    def truth(self, tx: TraceContext) -> bool:
        """A weak reference is true, even a dead one."""
        return True

    def reconstruct(self, writer: Writer) -> str:
        """`weakref.ref(target)`: CPython shares one reference without callback for each object."""
        callback = "" if self.callback is None else f", {writer.value(self.callback)}"
        return f"{writer.constant(weakref.ref, 'ref')}({writer.value(self.target)}{callback})"


@ROWS.call(weakref.ref)
def make_reference(tx: TraceContext, target: Tracker, callback: Tracker | None = None, /) -> Tracker:
    """`weakref.ref(target)`. Breaks for an object created in the trace, whose lifetime is not known."""
    # From now on the program can see when the target dies, so the end of its life counts.
    tx.changes.note_reference(target)
    if target.source is None or isinstance(target, Constant):
        return target.unsupported("a weak reference to it")
    # `ref(x, None)` is `ref(x)`: the shared reference without a callback.
    if isinstance(callback, Constant) and callback.value is None:
        callback = None
    return WeakReferenceTracker(target, None, callback)


@ROWS.call(weakref.ref.__new__)
def new_reference(tx: TraceContext, kind: Tracker, target: Tracker, /, *rest: Tracker) -> Tracker:
    """`ref.__new__(cls, target)` of a derived class, such as those
    of the standard library: breaks the graph, runs natively."""
    tx.changes.note_reference(target)
    return target.unsupported("a weak reference of a class of its own")


@ROWS.wrap(weakref.ref)
def wrap_reference(tx: TraceContext, value: object, source: Source) -> Tracker:
    """An existing weak reference. Its target is read when it is
    called; the call cannot fail, so nothing else is guarded."""
    assert isinstance(value, weakref.ref)
    tx.guard(source, TypeIs(weakref.ref))
    return WeakReferenceTracker(unread(tx, value(), WeakReferent(source)), source, value=value)
