"""The number in a tensor of one element: `x.item()`, `int(x)`, `float(x)`, `bool(x)`, `operator.index(x)`.

Where numbers that only the running program knows are captured (`capture_scalar_outputs`, or `fullgraph=True`), it is a
symbolic number. That of an input is read before the graph runs, so decisions on it become guards; that of a computed
tensor is known in the running graph only.
"""

import os
from collections.abc import Callable, Mapping, Sequence
from typing import Final

import torch
from torch._subclasses.fake_tensor import FakeTensor

from framesmith.graph import GraphBreak
from framesmith.graph.breaks.break_kinds import TENSOR_ITEM
from framesmith.graph.nodes.arguments import example
from framesmith.graph.options import is_fixed
from framesmith.graph.python_numbers.numbers import as_number, largest, smallest
from framesmith.guards.kinds import TypeIs
from framesmith.guards.sources import Computed, TensorItem
from framesmith.variables.callables.constructors import call_float, call_int
from framesmith.variables.callables.reductions import EXTREMES
from framesmith.variables.core import Constant, TraceContext, Tracker
from framesmith.variables.core.base import run_pending
from framesmith.variables.core.rows import Rows
from framesmith.variables.graph_nodes.results import record
from framesmith.variables.operations.compare import compare
from framesmith.variables.symbolic_numbers.computed_numbers import LARGEST_SYMBOLIC, ComputedNumber
from framesmith.variables.symbolic_numbers.symbolic import number
from framesmith.variables.tensors.number_operands import as_number_tensor
from framesmith.variables.tensors.tensors import TensorTracker, is_number
from framesmith.variables.torch_functions.graph_calls import graph_call
from framesmith.variables.torch_functions.made_ints import find_int
from framesmith.variables.torch_functions.method_rows import require_tensor

ROWS: Final = Rows()

_OPTIMIZERS: Final = os.path.dirname(torch.optim.__file__) + os.sep
_EXTREMES: Final[Mapping[str, Callable[..., torch.Tensor]]] = {"min": smallest, "max": largest}
INTEGERS: Final = frozenset({torch.int64, torch.int32, torch.int16, torch.int8, torch.uint8})


@ROWS.call(torch.Tensor.item)
def item(tx: TraceContext, self: Tracker) -> Tracker:
    """`x.item()`."""
    return _read(tx, self)


@ROWS.entry(EXTREMES, TensorTracker)
def extreme(tx: TraceContext, name: str, operands: Sequence[Tracker]) -> Tracker | None:
    """`min(a, b)` and `max(a, b)` of floats that optimizers read: floats too, so that nothing has to be decided."""
    if not all(one.python_type is float or is_number(tx, one) for one in operands):
        return None
    return record(tx, _EXTREMES[name], [as_number_tensor(tx, one) for one in operands])


def _read(tx: TraceContext, tensor: Tracker) -> Tracker:
    made = find_int(tx, tensor)
    if made is not None:
        return made
    if tx.graph.use.is_batched and not _is_from_elsewhere(tx, tensor):
        raise GraphBreak(TENSOR_ITEM, "the number in a slice of a tensor")
    if _is_kept(tx, tensor):
        tx.graph.keeps_numbers = True
        return record(tx, as_number, (tensor,))
    found = read_input(tx, tensor) if isinstance(tensor, TensorTracker) and is_captured(tx) else None
    return graph_call(tx, "item", (tensor,), {}) if found is None else found


def _is_of_optimizer(tx: TraceContext) -> bool:
    asking = tx.graph.asking
    return asking is not None and asking()[0].co_filename.startswith(_OPTIMIZERS)


def _is_kept(tx: TraceContext, tensor: Tracker) -> bool:
    """Whether an optimizer of torch reads the number, for which a graph keeps the tensor (`graph.numbers`): these compute with
    it, and ask neither for its type nor for its text. Of such a tensor no int or float can be made."""
    if not _is_of_optimizer(tx):
        return False
    fake = tensor.fake if isinstance(tensor, TensorTracker) else None
    if fake is None or fake.dim() or not fake.dtype.is_floating_point or fake.device.type != "cpu":
        return False
    return type(fake) is FakeTensor and not (fake.requires_grad and torch.is_grad_enabled())


def _is_from_elsewhere(tx: TraceContext, tensor: Tracker) -> bool:
    return isinstance(tensor, TensorTracker) and tensor.graph_node(tx).graph is not tx.graph.graph


def is_captured(tx: TraceContext) -> bool:
    """Whether numbers that only the running program knows are captured; those that code of torch's optimizers reads always are."""
    return tx.graph.options.capture_scalar_outputs or _is_of_optimizer(tx)


def read_input(tx: TraceContext, tensor: TensorTracker) -> Tracker | None:
    """The number in an input, as the guards read it before the graph runs; None where the graph has to read it.

    Only on the CPU, where reading does not wait, and only if nothing was written to its memory so far.
    """
    value, source = tensor.value, tensor.source
    if value is None or source is None or value.device.type != "cpu":
        return None
    # A nested graph may run at another time, after other changes.
    if tx.graph.has_changes and (tx.graph.length() is None or tx.graph.writes.of(tensor.fake) != []):
        return None
    if value.numel() != 1 or not all(map(is_fixed, tensor.fake.shape)):
        return None
    if tx.graph.has_changes:
        tx.changes.content_reads[source] = None
    # A call in which a number was read is not repeated for another module (ADR 0023).
    tx.graph.number_reads += 1
    with tx.graph.pause_recording():
        content = value.item()
    place = TensorItem(source)
    if value.dtype in INTEGERS and abs(content) < LARGEST_SYMBOLIC:
        tx.guard(place, TypeIs(int))
        return number(tx, example(tx.graph.number_input(place, content)), place)
    if value.dtype is torch.bool:
        # The graph takes ints and floats as inputs, so a bool is an int that is compared with 0.
        asked = Computed(int, (place,), "int")
        count = number(tx, example(tx.graph.number_input(asked, int(content))), asked)
        return compare(tx, "!=", count, Constant(0))
    if value.dtype is torch.float64 and tx.graph.runs_as_captured:
        return ComputedNumber(tx, content, place)
    return None


@ROWS.call(torch.Tensor.__int__)
def int_of(tx: TraceContext, self: Tracker) -> Tracker:
    """`int(x)`."""
    if find_int(tx, self) is None and (not is_captured(tx) or _is_kept(tx, self)):
        return graph_call(tx, "__int__", (self,), {})
    return run_pending(tx, call_int(tx, _read(tx, self)))


@ROWS.call(torch.Tensor.__float__)
def float_of(tx: TraceContext, self: Tracker) -> Tracker:
    """`float(x)`."""
    if find_int(tx, self) is None and (not is_captured(tx) or _is_kept(tx, self)):
        return graph_call(tx, "__float__", (self,), {})
    return run_pending(tx, call_float(tx, _read(tx, self)))


@ROWS.call(torch.Tensor.__bool__)
def bool_of(tx: TraceContext, self: Tracker) -> Tracker:
    """`bool(x)`."""
    if not is_captured(tx) and find_int(tx, self) is None:
        return graph_call(tx, "__bool__", (self,), {})
    decided = self.truth(tx)
    if isinstance(decided, bool):
        return Constant(decided)
    found = _read(tx, self)
    return found if found.python_type is bool else compare(tx, "!=", found, Constant(0))


@ROWS.call(torch.Tensor.__index__)
def index_of_tensor(tx: TraceContext, self: Tracker) -> Tracker:
    """`operator.index(x)`; TypeError for floats."""
    made = find_int(tx, self)
    if made is not None:
        return made
    if not is_captured(tx) or require_tensor(self, "__index__").fake.dtype not in INTEGERS:
        return graph_call(tx, "__index__", (self,), {})
    return _read(tx, self)
