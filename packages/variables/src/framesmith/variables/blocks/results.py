"""What a call of a module returned, as a form that can be filled in again for another call."""

from collections.abc import Mapping, Sequence, Set

from torch import fx

from framesmith.variables.blocks.operands import known
from framesmith.variables.builtin_types.tuples import TupleTracker
from framesmith.variables.core import Constant, TraceContext, Tracker
from framesmith.variables.graph_nodes.results import wrap_result
from framesmith.variables.symbolic_numbers.symbolic import SymbolicNumber
from framesmith.variables.tensors.tensors import TensorTracker


def can_fill(result: Tracker, arguments: Sequence[Tracker], nodes: Set[fx.Node]) -> bool:
    """Whether a result consists of arguments, tensors that the call computed, constants, and tuples of these."""
    result = known(result)
    if any(result is argument for argument in arguments):
        return True
    # one that was there before the call, and is no argument, keeps the call from being repeated
    if isinstance(result, TensorTracker):
        return result.source is None and not result.own and result.node in nodes
    if isinstance(result, TupleTracker):
        return (
            result.source is None
            and result.cls is tuple
            and all(can_fill(item, arguments, nodes) for item in result.items)
        )
    return isinstance(result, Constant | SymbolicNumber) and result.source is None


def returned_nodes(result: Tracker) -> list[fx.Node]:
    """The nodes of the tensors in a result, those of arguments included."""
    result = known(result)
    if isinstance(result, TupleTracker):
        return [node for item in result.items for node in returned_nodes(item)]
    return [result.node] if isinstance(result, TensorTracker) else []


def fill(
    tx: TraceContext,
    result: Tracker,
    arguments: Sequence[tuple[Tracker, Tracker]],
    nodes: Mapping[fx.Node, fx.Node],
) -> Tracker:
    """The result for other arguments (pairs of the first and the present one) and the nodes recorded for them."""
    result = known(result)
    # an argument that is returned is the present one itself: `is` can tell
    for first, present in arguments:
        if result is first:
            return present
    if isinstance(result, TensorTracker):
        return wrap_result(tx, nodes[result.node])
    if isinstance(result, TupleTracker):
        return TupleTracker([fill(tx, item, arguments, nodes) for item in result.items])
    return result
