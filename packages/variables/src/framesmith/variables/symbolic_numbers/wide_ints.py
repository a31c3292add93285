"""Ints of more than 32 bits that may differ from call to call, where torch makes a tensor or an array of them.

While a backend traces a graph, torch reads such an int as one of 32 bits: `torch.tensor([v], dtype=torch.int32)`, `numpy.array([v])`.
"""

from typing import Final

import torch

from framesmith.variables.builtin_types.lists import ListTracker
from framesmith.variables.builtin_types.tuples import TupleTracker
from framesmith.variables.core import Constant, TraceContext, Tracker
from framesmith.variables.graph_nodes.results import evaluate
from framesmith.variables.symbolic_numbers.symbolic import SymbolicNumber

_NARROW: Final = torch.iinfo(torch.int32)


def without_wide_ints(tx: TraceContext, tracker: Tracker) -> Tracker:
    """The argument, or an equal list, in which wide ints are fixed to their values, where a backend traces the node; guarded.
    Those that only the running graph knows stay."""
    tracker = tracker.realize()
    if isinstance(tracker, ListTracker | TupleTracker) and tracker.python_type in (list, tuple):
        fixed = [without_wide_ints(tx, one) for one in tracker.items]
        if all(one is other.realize() for one, other in zip(fixed, tracker.items, strict=True)):
            return tracker
        return ListTracker(fixed) if isinstance(tracker, ListTracker) else TupleTracker(fixed)
    value = tracker.value if isinstance(tracker, SymbolicNumber) and tracker.number is not None else None
    if not isinstance(value, torch.SymInt) or tx.graph.runs_as_captured:
        return tracker
    for is_beyond in (value < _NARROW.min, value > _NARROW.max):
        if evaluate("the width of a number", bool, is_beyond):
            return Constant(tracker.as_python_constant())
    return tracker
