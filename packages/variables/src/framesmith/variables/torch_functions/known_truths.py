"""The truth of a tensor that is an int or a bool in an input, or what a comparison of one with an int gives: `if self.step % 2 == 0`.

It is decided on the number as the guards read it before the graph runs (`tensor_numbers`), where numbers are captured. Floats are
compared by the graph: torch rounds the other operand first.
"""

import operator
from collections.abc import Mapping
from typing import Final

import torch
from torch import fx

from framesmith.graph.nodes.arguments import EXAMPLE
from framesmith.variables.core import Constant, TraceContext, Tracker
from framesmith.variables.core.rows import Rows
from framesmith.variables.operations.binary import binary
from framesmith.variables.operations.compare import FUNCTIONS, compare
from framesmith.variables.tensors.tensors import TRUTH, TensorTracker
from framesmith.variables.torch_functions.contents import compare_numbers
from framesmith.variables.torch_functions.made_ints import find_int
from framesmith.variables.torch_functions.tensor_numbers import INTEGERS, is_captured, read_input

ROWS: Final = Rows()

_COMPARISONS: Final[Mapping[object, str]] = {function: symbol for symbol, function in FUNCTIONS.items()}


@ROWS.entry(TRUTH, None)
def truth(tx: TraceContext, tensor: TensorTracker) -> bool | Tracker:
    """`bool(tensor)`: the tensor itself where its truth is known in the running graph only."""
    decided = compare_numbers(tx, tensor.graph_node(tx))
    if decided is not None:
        return decided.truth(tx)
    made = find_int(tx, tensor)
    if made is not None:
        return made.truth(tx)
    # Elsewhere a branch on a tensor breaks the graph, or becomes an assertion.
    if not is_captured(tx) or tensor.fake.dim():
        return tensor
    # An input is read itself; a computed tensor only if it is a comparison of one.
    found = read_input(tx, tensor) if tensor.value is not None else _read_comparison(tx, tensor.node)
    return tensor if found is None else found.realize().truth(tx)


def _read_comparison(tx: TraceContext, node: fx.Node) -> Tracker | None:
    """The comparison `number == 0` or `number % 2 == 0` that a node makes of an input, on numbers."""
    symbol = _COMPARISONS.get(node.target) if node.op == "call_function" else None
    parts = _operands(node) if symbol is not None else None
    if symbol is None or parts is None:
        return None
    left, right = parts
    if left.op == "call_function" and left.target is operator.mod:
        inner = _operands(left)
        number = _number(tx, inner[0]) if inner is not None and inner[1] > 0 else None
        if inner is None or number is None:
            return None
        return compare(tx, symbol, binary(tx, "%", number, Constant(inner[1])), Constant(right))
    number = _number(tx, left)
    return None if number is None else compare(tx, symbol, number, Constant(right))


def _operands(node: fx.Node) -> tuple[fx.Node, int] | None:
    """A tensor of ints and an int which that type holds: torch would wrap any other round."""
    if len(node.args) != 2 or node.kwargs:
        return None
    left, right = node.args
    if not isinstance(left, fx.Node) or type(right) is not int:
        return None
    fake = left.meta[EXAMPLE]
    if not isinstance(fake, torch.Tensor) or fake.dtype not in INTEGERS:
        return None
    limits = torch.iinfo(fake.dtype)
    return (left, right) if limits.min <= right <= limits.max else None


def _number(tx: TraceContext, node: fx.Node) -> Tracker | None:
    tracker = tx.changes.results.get(id(node.meta[EXAMPLE]))
    return read_input(tx, tracker) if isinstance(tracker, TensorTracker) else None
