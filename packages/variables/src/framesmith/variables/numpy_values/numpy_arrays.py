"""Existing numpy arrays: sizes and single numbers can be read, as from a table of constants.

Other operations on arrays break the graph.
"""

import sys
from typing import Final, final

from framesmith.guards import Source
from framesmith.guards.kinds import TypeIs
from framesmith.guards.sources import Attribute, Item
from framesmith.variables.builtin_types.tuples import TupleTracker
from framesmith.variables.core import Constant, TraceContext, Tracker, is_constant_type
from framesmith.variables.core.rows import Rows

ROWS: Final = Rows()

_numpy = sys.modules.get("numpy")  # it is there when torch has imported it


@final
class ArrayTracker(Tracker):
    """An existing array. Invariant: every number of it that is known is guarded."""

    def __init__(self, value: object, source: Source) -> None:
        self.value = value
        self.source: Source = source

    @property
    def python_type(self) -> type:
        """`numpy.ndarray`."""
        return type(self.value)

    def begin_attribute(self, tx: TraceContext, name: str) -> Tracker:
        """`shape`, `ndim` or `size`; others break the graph."""
        if name not in ("shape", "ndim", "size"):
            return self.unsupported(f"reading attribute {name!r}")
        return tx.wrap(getattr(self.value, name), Attribute(self.source, name))

    def length(self, tx: TraceContext) -> Tracker:
        """`len(array)`: the first size."""
        if not self._rank():
            return self.unsupported("taking its length")
        return self.attribute(tx, "shape").subscript(tx, Constant(0))

    def subscript(self, tx: TraceContext, key: Tracker) -> Tracker:
        """A single number, guarded by its value; other subscripts break the graph."""
        index = key.realize().as_python_constant() if key.realize().is_python_constant() else None
        found = self._number(index)
        if found is None or not is_constant_type(tx.registry, type(found)):
            return self.unsupported(f"a subscript by {key.realize().describe()}")
        return tx.wrap(found, Item(self.source, index))

    def iterate(self, tx: TraceContext) -> Tracker:
        """The numbers of a one-dimensional array; others break the graph."""
        if self._rank() != 1:
            return self.unsupported("iterating over it")
        count = self.length(tx).as_python_constant()
        assert isinstance(count, int)
        return TupleTracker([self.subscript(tx, Constant(index)) for index in range(count)]).iterate(tx)

    def truth(self, tx: TraceContext) -> bool:
        """Break the graph: the truth of arrays is not modelled."""
        return bool(self.unsupported("taking its truth value"))

    def _rank(self) -> int:
        rank = getattr(self.value, "ndim", 0)
        assert isinstance(rank, int)
        return rank

    def _number(self, index: object) -> object:
        """The number at an index of ints, one for each dimension; None for anything else."""
        parts = index if isinstance(index, tuple) else (index,)
        read = getattr(self.value, "__getitem__", None)
        if len(parts) != self._rank() or not all(type(part) is int for part in parts) or read is None:
            return None
        try:
            return read(index)
        except IndexError:
            return None


def _install() -> None:
    if _numpy is None:
        return

    @ROWS.wrap(_numpy.ndarray)
    def wrap_array(tx: TraceContext, value: object, source: Source) -> Tracker:
        """An existing array, guarded by type; numbers are guarded when they are read."""
        tx.guard(source, TypeIs(type(value)))
        return ArrayTracker(value, source)


_install()
