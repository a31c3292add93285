"""`super(cls, obj)`: attribute look-up that starts after a class in the resolution order of the object."""

from collections.abc import Iterator
from typing import Final, final

from framesmith.guards.class_lookup import native_class_name, resolution_order
from framesmith.variables.core.base import PendingCall, TraceContext, Tracker, Writer
from framesmith.variables.core.cpython_messages import NonContainerSample, PlainSample, find_error_text
from framesmith.variables.core.raising import raise_observed
from framesmith.variables.core.rows import Rows
from framesmith.variables.core.type_names import type_name
from framesmith.variables.objects.classes import ClassTracker
from framesmith.variables.objects.descriptors import begin_get
from framesmith.variables.objects.lookup import find

ROWS: Final = Rows()

_NO_SUBTYPE, _NO_INSTANCE = (
    find_error_text(super, NonContainerSample, receiver)
    .replace("{}", "{receiver}")
    .replace(NonContainerSample.__name__, "{start}")
    for receiver in (PlainSample, PlainSample())
)


@final
class SuperTracker(Tracker):
    """A super object. Invariant: `start` is in the resolution order
    of `cls`; `receiver` is the object, or the class itself."""

    def __init__(self, start: type, receiver: Tracker, cls: type) -> None:
        self.start = start
        self.receiver = receiver
        self.cls = cls

    @property
    def python_type(self) -> type:
        """`super`."""
        return super

    @property
    def is_class_bound(self) -> bool:
        """Whether the second argument is a class, as in a class method or `__new__`."""
        return isinstance(self.receiver, ClassTracker) and self.receiver.value is self.cls

    def begin_attribute(self, tx: TraceContext, name: str) -> Tracker | PendingCall:
        """`super().name`: looked up on the classes after `start`, bound to the receiver (CPython: `super_getattro`)."""
        # `super_getattro` skips this one name: it is the class of the super object, not that of the receiver.
        if name == "__class__":
            return tx.wrap(super, _SUPER.source) if _SUPER.source is not None else _SUPER
        found = find(tx, self.cls, name, after=self.start)
        if found is None:
            if name in ("__thisclass__", "__self__", "__self_class__"):
                return self.unsupported(f"reading attribute {name!r}")
            return raise_observed(tx, AttributeError, f"'super' object has no attribute '{name}'")
        if self.is_class_bound:
            assert isinstance(self.receiver, ClassTracker)
            # Bound to None, as if read through the class; a class method gets the receiver.
            return self.receiver.begin_class_get(tx, found)
        return begin_get(tx, found, self.receiver)

    def truth(self, tx: TraceContext) -> bool:
        """A super object is true."""
        return True

    def children(self) -> Iterator[Tracker]:
        """The receiver."""
        yield self.receiver

    def reconstruct(self, writer: Writer) -> str:
        """`super(start, receiver)`."""
        make, start = writer.constant(super, "super"), writer.constant(self.start, self.start.__name__)
        return f"{make}({start}, {writer.value(self.receiver)})"


_SUPER = ClassTracker(super)


def make_super(tx: TraceContext, start: Tracker, receiver: Tracker) -> Tracker:
    """`super(start, receiver)`; for `super()` the symbolic interpreter passes both. TypeError as in CPython."""
    start, receiver = start.realize(), receiver.realize()
    if not isinstance(start, ClassTracker):
        return raise_observed(tx, TypeError, f"super() argument 1 must be a type, not {type_name(start)}")
    # A class first: `super(Meta, cls)` within a metaclass would fit in both ways (CPython: `supercheck`).
    if isinstance(receiver, ClassTracker) and start.value in resolution_order(receiver.value):
        return SuperTracker(start.value, receiver, receiver.value)
    if start.value in resolution_order(receiver.python_type):
        return SuperTracker(start.value, receiver, receiver.python_type)
    if isinstance(receiver, ClassTracker):
        text = _NO_SUBTYPE.replace("{receiver}", native_class_name(receiver.value))
    else:
        text = _NO_INSTANCE.replace("{receiver}", type_name(receiver))
    return raise_observed(tx, TypeError, text.replace("{start}", native_class_name(start.value)))


@ROWS.call(super)
def super_row(tx: TraceContext, start: Tracker, receiver: Tracker, /) -> Tracker:
    """`super(cls, obj)`. The form without arguments needs the frame and is handled by the symbolic interpreter."""
    return make_super(tx, start, receiver)
