"""`slice`: the tracker, its rows, and wrapping.

What a subscript with one does is in the tracker of the sequence.
"""

from collections.abc import Hashable, Iterator
from typing import Final, final

from framesmith.guards import Source
from framesmith.guards.kinds import TypeIs
from framesmith.guards.sources import Attribute
from framesmith.variables.builtin_types.sequences import compare_items, raise_unhashable, user_errors
from framesmith.variables.builtin_types.tuples import TupleTracker
from framesmith.variables.core.base import TraceContext, Tracker, Writer
from framesmith.variables.core.builtin_methods import builtin_attribute
from framesmith.variables.core.builtin_type import BuiltinType, Join
from framesmith.variables.core.constant import Constant
from framesmith.variables.core.cpython_messages import find_message
from framesmith.variables.core.folding import from_python
from framesmith.variables.core.rows import Rows
from framesmith.variables.core.wrap_rules import lazy
from framesmith.variables.operations.index import index_of

ROWS: Final = Rows()

_NO_INDEX: Final = find_message("slice(value).indices(0)")


@final
class SliceTracker(Tracker):
    """`slice(start, stop, step)`; the members may be any values."""

    def __init__(
        self,
        start: Tracker | None = None,
        stop: Tracker | None = None,
        step: Tracker | None = None,
        source: Source | None = None,
    ) -> None:
        self.start = start or Constant(None)
        self.stop = stop or Constant(None)
        self.step = step or Constant(None)
        self.source = source

    @property
    def python_type(self) -> type:
        """`slice`."""
        return slice

    def members(self) -> tuple[Tracker, Tracker, Tracker]:
        """Start, stop, step."""
        return self.start, self.stop, self.step

    def is_python_constant(self) -> bool:
        """Whether all members are known."""
        return all(member.is_python_constant() for member in self.members())

    def as_python_constant(self) -> object:
        """A real slice of the values."""
        return slice(*[member.as_python_constant() for member in self.members()])

    def begin_attribute(self, tx: TraceContext, name: str) -> Tracker:
        """`start`, `stop`, `step` and methods."""
        return builtin_attribute(tx, self, name)

    def truth(self, tx: TraceContext) -> bool:
        """A slice is true."""
        return True

    def compare(self, tx: TraceContext, symbol: str, other: Tracker) -> Tracker | None:
        """Compares the tuples of the members; None (NotImplemented) for other types."""
        return (
            compare_items(tx, symbol, self.members(), other.members())
            if isinstance(other, SliceTracker)
            else None
        )

    def hash_key(self, tx: TraceContext) -> Hashable:
        """Before Python 3.12 TypeError; from then on the hash of the members."""
        if not isinstance(slice(None), Hashable):
            raise_unhashable(tx, self)
        return ("slice", tuple([member.realize().hash_key(tx) for member in self.members()]))

    def children(self) -> Iterator[Tracker]:
        """Start, stop, step."""
        return iter(self.members())

    def reconstruct(self, writer: Writer) -> str:
        """A call of `slice`."""
        members = ", ".join([writer.value(member) for member in self.members()])
        return f"{writer.constant(slice, 'slice')}({members})"


@ROWS.wrap(slice)
def wrap_slice(tx: TraceContext, value: object, source: Source) -> Tracker:
    """An existing slice; its members are read when they are needed."""
    assert isinstance(value, slice)
    tx.guard(source, TypeIs(slice))
    names = ("start", "stop", "step")
    # their presence needs no guard: each slice has the three
    start, stop, step = (lazy(tx, getattr(value, name), Attribute(source, name)) for name in names)
    return SliceTracker(start, stop, step, source)


def new_slice(tx: TraceContext, value: object) -> Tracker:
    """The tracker of a slice created in the trace."""
    assert isinstance(value, slice)
    return SliceTracker(
        from_python(tx, value.start), from_python(tx, value.stop), from_python(tx, value.step)
    )


@ROWS.call(slice)
def call_slice(
    tx: TraceContext, first: Tracker, second: Tracker | None = None, third: Tracker | None = None, /
) -> Tracker:
    """`slice(stop)`, `slice(start, stop[, step])`."""
    return SliceTracker(None, first) if second is None else SliceTracker(first, second, third)


@ROWS.call(slice.__dict__["start"])
def slice_start(tx: TraceContext, self: SliceTracker, /) -> Tracker:
    """`self.start`."""
    return self.start


@ROWS.call(slice.__dict__["stop"])
def slice_stop(tx: TraceContext, self: SliceTracker, /) -> Tracker:
    """`self.stop`."""
    return self.stop


@ROWS.call(slice.__dict__["step"])
def slice_step(tx: TraceContext, self: SliceTracker, /) -> Tracker:
    """`self.step`."""
    return self.step


@ROWS.call(slice.indices)
def slice_indices(tx: TraceContext, self: SliceTracker, length: Tracker, /) -> Tracker:
    """`self.indices(length)`."""
    size = index_of(tx, length)
    # in the order of `slice_indices`, which asks for no further number after a bad one
    if size < 0:
        _indices(tx, slice(None), size)
    step = _member(tx, self.step)
    if step == 0:
        _indices(tx, slice(None, None, step), size)
    start, stop = _member(tx, self.start), _member(tx, self.stop)
    found = _indices(tx, slice(start, stop, step), size)
    return TupleTracker([Constant(number) for number in found])


def _member(tx: TraceContext, member: Tracker) -> int | None:
    member = member.realize()
    return None if isinstance(member, Constant) and member.value is None else index_of(tx, member, _NO_INDEX)


def _indices(tx: TraceContext, value: slice, size: int) -> tuple[int, int, int]:
    with user_errors(tx):
        return value.indices(size)


def slice_text(tx: TraceContext, value: Tracker, join: Join) -> str:
    """`slice(0, 3, None)`."""
    assert isinstance(value, SliceTracker)
    return f"slice({join(tx, value.members())})"


ROWS.builtin_type(BuiltinType(slice, (SliceTracker,), build=new_slice, text=slice_text, is_pure=True))
