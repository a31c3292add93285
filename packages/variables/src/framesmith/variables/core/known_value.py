"""`KnownValue`, the family of trackers of objects that are known as a whole while tracing."""

from typing import Generic, TypeVar

from framesmith.guards import Source
from framesmith.variables.core.base import TraceContext, Tracker, Writer

V = TypeVar("V")


class KnownValue(Tracker, Generic[V]):
    """A known object. Invariant: guarded by identity when it has a source, or it is one of equal immutable values.

    What is said here holds of an object with the identity of its own. Families whose objects are equal by value (`Constant`)
    override it.
    """

    equals_itself: bool = False
    """Whether `==` is known to be true of one object with itself, so that a container need not ask whether two are one."""

    def __init__(self, value: V, source: Source | None = None) -> None:
        self.value = value
        self.source = source

    tells_changes = True

    @property
    def python_type(self) -> type:
        """The exact type of the object."""
        return type(self.value)

    def is_python_constant(self) -> bool:
        """True: the object is known."""
        return True

    def as_python_constant(self) -> object:
        """The object itself."""
        return self.value

    def is_same(self, tx: TraceContext, other: Tracker) -> bool:
        """`self is other`: whether they are the same object."""
        return isinstance(other, type(self)) and other.value is self.value

    def truth(self, tx: TraceContext) -> bool | Tracker:
        """True, unless a family overrides it for `__bool__` or `__len__`."""
        return True

    def reconstruct(self, writer: Writer) -> str:
        """The object itself, as a constant of the entry."""
        return writer.constant(self.value, type(self.value).__name__)
