"""`range` and its iterator.

What sequences share is in `builtin_types.sequences`.
"""

from collections.abc import Callable, Hashable, Iterator, Sequence
from typing import Final, final

from framesmith.graph import GraphBreak
from framesmith.graph.breaks.break_kinds import UNSUPPORTED_VALUE
from framesmith.guards import Source
from framesmith.guards.kinds import TypeIs
from framesmith.guards.sources import Attribute
from framesmith.variables.builtin_types.iterators import IteratorTracker, search_iterator
from framesmith.variables.builtin_types.sequences import position, user_errors
from framesmith.variables.core.base import TraceContext, Tracker, Writer
from framesmith.variables.core.builtin_methods import builtin_attribute
from framesmith.variables.core.builtin_type import BuiltinType, Join
from framesmith.variables.core.constant import Constant
from framesmith.variables.core.rows import Rows
from framesmith.variables.core.unspecialized import UnspecializedTracker, break_on_changing_value
from framesmith.variables.operations.index import index_of

ROWS: Final = Rows()

INDEX: Final[Callable[..., int]] = range.index
COUNT: Final[Callable[..., int]] = range.count


@final
class RangeTracker(Tracker):
    """A range whose bounds are known. Invariant: an existing range is guarded by its bounds."""

    def __init__(self, value: range, source: Source | None = None) -> None:
        self.value = value
        self.source = source

    @property
    def python_type(self) -> type:
        """`range`."""
        return range

    def is_python_constant(self) -> bool:
        """True: the bounds are known."""
        return True

    def as_python_constant(self) -> object:
        """The range itself."""
        return self.value

    def begin_attribute(self, tx: TraceContext, name: str) -> Tracker:
        """`start`, `stop`, `step` and methods."""
        return builtin_attribute(tx, self, name)

    def iterate(self, tx: TraceContext) -> Tracker:
        """`iter(self)`."""
        return RangeIterator(self.value)

    def length(self, tx: TraceContext) -> Tracker:
        """`len(self)`."""
        with user_errors(tx):
            return Constant(len(self.value))

    def truth(self, tx: TraceContext) -> bool:
        """`bool(self)`: whether it has any numbers."""
        return bool(self.value)

    def contains(self, tx: TraceContext, item: Tracker) -> Tracker:
        """`item in self`: computed for a constant, searched by iteration for anything else."""
        item = item.realize()
        # CPython itself decides: by arithmetic for an exact int, else item by item
        if isinstance(item, Constant):
            return Constant(item.value in self.value)
        return Constant(search_iterator(tx, RangeIterator(self.value), item))

    def subscript(self, tx: TraceContext, key: Tracker) -> Tracker:
        """An integer, or a range for a slice."""
        place = position(tx, key, "range")
        with user_errors(tx):
            found = self.value[place]
        return Constant(found) if isinstance(found, int) else RangeTracker(found)

    def compare(self, tx: TraceContext, symbol: str, other: Tracker) -> Tracker | None:
        """`==` and `!=`: equal when they give the same numbers; None (NotImplemented) otherwise."""
        if symbol not in ("==", "!=") or not isinstance(other, RangeTracker):
            return None
        return Constant((self.value == other.value) == (symbol == "=="))

    def hash_key(self, tx: TraceContext) -> Hashable:
        """Equal ranges, that is those that give the same numbers, have equal keys."""
        return ("range", self.value)

    def reconstruct(self, writer: Writer) -> str:
        """A call of `range`."""
        r = self.value
        return f"{writer.constant(range, 'range')}({r.start}, {r.stop}, {r.step})"


@final
class RangeIterator(IteratorTracker):
    """`iter(range(...))`. Invariant: `value` is the range of the remaining numbers."""

    def __init__(self, value: range) -> None:
        self.value = value
        # kept, since the range of the remaining numbers may be small enough for the other type
        self.cls: type = type(iter(value))

    @property
    def python_type(self) -> type:
        """`range_iterator`, or `longrange_iterator` for large numbers."""
        return self.cls

    def begin_advance(self, tx: TraceContext) -> Tracker | None:
        """The first of the remaining numbers, or None."""
        tx.changes.note(self)
        if not self.value:
            return None
        first = self.value[0]
        self.value = self.value[1:]
        return Constant(first)

    def reconstruct(self, writer: Writer) -> str:
        """An iterator over the range of the remaining numbers."""
        r = self.value
        span = f"{writer.constant(range, 'range')}({r.start}, {r.stop}, {r.step})"
        return f"{writer.constant(iter, 'iter')}({span})"


@final
class UnknownRange(UnspecializedTracker):
    """A range created in the trace with an unspecialized bound (ADR 0010): the real one is made after the graph."""

    def __init__(self, bounds: Sequence[Tracker]) -> None:
        self.bounds = tuple(bounds)

    @property
    def python_type(self) -> type:
        """`range`."""
        return range

    def iterate(self, tx: TraceContext) -> Tracker:
        """Break the graph: the number of iterations is not known, so the loop runs over the real iterator."""
        return break_on_changing_value("the number of rounds of a loop")

    def children(self) -> Iterator[Tracker]:
        """The bounds."""
        return iter(self.bounds)

    def reconstruct(self, writer: Writer) -> str:
        """A call of `range`."""
        return f"{writer.constant(range, 'range')}({', '.join([writer.value(item) for item in self.bounds])})"


@ROWS.wrap(range)
def wrap_range(tx: TraceContext, value: object, source: Source) -> Tracker:
    """An existing range: its start, stop and step become constants of the entry."""
    assert isinstance(value, range)
    tx.guard(source, TypeIs(range))
    for name in ("start", "stop", "step"):
        # the real range is built of known numbers, so each bound is fixed by a guard
        number = tx.wrap(getattr(value, name), Attribute(source, name))
        index_of(tx, number)
    return RangeTracker(value, source)


def new_range(tx: TraceContext, value: object) -> Tracker:
    """The tracker of a range created in the trace."""
    assert isinstance(value, range)
    return RangeTracker(value)


@ROWS.call(range)
def call_range(
    tx: TraceContext, first: Tracker, second: Tracker | None = None, third: Tracker | None = None, /
) -> Tracker:
    """`range(stop)`, `range(start, stop[, step])`: of constants, or an `UnknownRange` if a bound is unspecialized."""
    given = [operand.realize() for operand in (first, second, third) if operand is not None]
    if _is_unknown(given):
        return UnknownRange(given)
    numbers = [index_of(tx, operand) for operand in given]
    with user_errors(tx):
        return RangeTracker(range(*numbers))


def _is_unknown(bounds: Sequence[Tracker]) -> bool:
    """Whether these are valid arguments of `range`, of which one is known at run time only."""
    # else `range` raises TypeError, or calls `__index__`
    if any(bound.python_type is not int for bound in bounds):
        return False
    step = bounds[2] if len(bounds) == 3 else Constant(1)
    # a step that is zero is a ValueError, one that is not known may be
    steps = isinstance(step, Constant) and bool(step.value)
    return steps and any(bound.is_run_time_number and not bound.is_python_constant() for bound in bounds)


def _register_member(name: str) -> None:
    @ROWS.call(range.__dict__[name])
    def read(tx: TraceContext, self: RangeTracker, /) -> Tracker:
        value = getattr(self.value, name)
        assert isinstance(value, int)
        return Constant(value)


for _name in ("start", "stop", "step"):
    _register_member(_name)


@ROWS.call(range.index)
def range_index(tx: TraceContext, self: RangeTracker, value: Tracker, /) -> Tracker:
    """`self.index(value)`."""
    known = _known(value)
    with user_errors(tx):
        return Constant(INDEX(self.value, known))


@ROWS.call(range.count)
def range_count(tx: TraceContext, self: RangeTracker, value: Tracker, /) -> Tracker:
    """`self.count(value)`."""
    return Constant(COUNT(self.value, _known(value)))


@ROWS.call(range.__reversed__)
def range_reversed(tx: TraceContext, self: RangeTracker, /) -> Tracker:
    """`reversed(self)`."""
    return RangeIterator(self.value[::-1])


def _known(value: Tracker) -> object:
    value = value.realize()
    if not isinstance(value, Constant):
        raise GraphBreak(UNSUPPORTED_VALUE, f"searching a range for {value.describe()}")
    return value.value


def range_text(tx: TraceContext, value: Tracker, join: Join) -> str:
    """`range(0, 3)`."""
    return repr(value.as_python_constant())


ROWS.builtin_type(
    BuiltinType(
        range,
        (RangeTracker,),
        build=new_range,
        text=range_text,
        iterators=(type(iter(range(1))), type(iter(range(1 << 70)))),
        is_pure=True,
    )
)
