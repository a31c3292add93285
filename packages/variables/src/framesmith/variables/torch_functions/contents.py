"""What a tensor of one element holds, as a formula of what inputs hold before the graph runs: the number of steps of an optimizer.

    step.add_(1); rho = 5 - step.item(); rho > 5     decided on `5 - (step.item() + 1) > 5` of the call, guarded

The formula follows the operations of the graph. It knows new tensors, additions and copies in place, and arithmetic on numbers (`graph.numbers`);
anything else, and any other write to the memory, has no formula.
"""

import operator
from collections.abc import Callable, Mapping
from ctypes import c_float
from dataclasses import dataclass
from typing import Final, TypeAlias, final

import torch
from torch import fx
from torch._subclasses.fake_tensor import FakeTensor

from framesmith.graph.nodes.arguments import EXAMPLE
from framesmith.graph.options import is_fixed
from framesmith.graph.python_numbers import numbers
from framesmith.graph.python_numbers.number_calls import with_numbers
from framesmith.guards import Source
from framesmith.guards.sources import Computed, TensorItem
from framesmith.variables.core import Constant, TraceContext, Tracker
from framesmith.variables.operations.compare import FUNCTIONS as COMPARISONS
from framesmith.variables.symbolic_numbers.computed_numbers import ComputedNumber
from framesmith.variables.tensors.tensors import TensorTracker

_Function: TypeAlias = Callable[..., object]
_LARGEST: Final = 100  # operations in a formula
_TYPES: Final = (torch.float32, torch.float64)
_OF_NUMBERS: Final[Mapping[object, _Function]] = {
    numbers.power: operator.pow,
    numbers.divide: operator.truediv,
    numbers.smallest: min,
    numbers.largest: max,
    **{
        function: function
        for function in (operator.add, operator.sub, operator.mul, operator.neg, operator.pos, operator.abs)
    },
}
_FILLED: Final[Mapping[object, float]] = {torch.zeros: 0.0, torch.ones: 1.0}
_TENSORS_OF: Final = (torch.tensor, torch.as_tensor)
_AS_TENSOR: Final = with_numbers(torch.as_tensor, False)
_COPIES: Final = ("clone", "detach")
_COPYING: Final = "copy_"
_ADDING: Final = ("add_", operator.iadd, torch._foreach_add_)


@final
@dataclass(frozen=True, slots=True)
class _HeldNumber:
    """A number of the traced call, and how to compute it in others. Invariant: a formula that is a number is `value`."""

    value: float
    formula: Source | float
    size: int = 1


def compare_numbers(tx: TraceContext, node: fx.Node) -> Tracker | None:
    """The truth of a comparison between numbers that optimizers read, as a formula; None where there is none."""
    function = node.target if node.op == "call_function" else None
    if (
        function not in COMPARISONS.values()
        or node.kwargs
        or len(node.args) != 2
        or tx.graph.length() is None
    ):
        return None
    sides = [one for one in node.args if isinstance(one, fx.Node)]
    if not sides or not all(map(_may_be_number, sides)) or not all(map(numbers.is_number, sides)):
        return None
    assert callable(function)
    found = _combine(function, [_number(tx, one) for one in node.args])
    if found is None:
        return None
    # A call in which a number was read is not repeated for another module (ADR 0023).
    tx.graph.number_reads += 1
    if not isinstance(found.formula, Source):
        return Constant(bool(found.value))
    return ComputedNumber(tx, bool(found.value), found.formula, found.size)


def _may_be_number(node: fx.Node) -> bool:
    fake = node.meta[EXAMPLE]
    return isinstance(fake, torch.Tensor) and fake.dtype is torch.float64 and not fake.dim()


def _number(tx: TraceContext, operand: object) -> _HeldNumber | None:
    """A number of Python, or a node that is one in eager."""
    if type(operand) in (int, float):
        assert isinstance(operand, int | float)
        return _HeldNumber(operand, operand)
    if not isinstance(operand, fx.Node):
        return None
    if operand.target is numbers.as_number:
        return _content(tx, operand.args[0], operand)
    example = operand.meta[EXAMPLE]
    if isinstance(example, torch.SymFloat):
        source, value = tx.graph.numbers.source_of(example), example.node.hint
        return _HeldNumber(value, source) if source is not None and type(value) is float else None
    function = _OF_NUMBERS.get(operand.target) if operand.op == "call_function" else None
    if function is None or operand.kwargs:
        return None
    return _combine(function, [_number(tx, one) for one in operand.args])


def _content(tx: TraceContext, node: object, end: fx.Node) -> _HeldNumber | None:
    """What a tensor holds where `end` stands in the graph."""
    fake = node.meta[EXAMPLE] if isinstance(node, fx.Node) else None
    if not isinstance(node, fx.Node) or not isinstance(fake, torch.Tensor) or not _holds_number(fake):
        return None
    writes = tx.graph.writes.of(fake)
    found = None if writes is None or node.graph is not end.graph else _beginning(tx, node, fake)
    for write in writes or ():
        if found is None or not write < end:
            break
        # What shares the memory of a new tensor was made after it.
        if not write > node:
            return None
        if write.op == "call_method" and write.target == _COPYING:
            found = _copied(tx, write, fake)
            continue
        found = _combine(_ADD[fake.dtype], [found, _added(tx, write, fake)])
    return found


def _holds_number(fake: torch.Tensor) -> bool:
    return (
        type(fake) is FakeTensor
        and fake.device.type == "cpu"
        and fake.dtype in _TYPES
        and all(map(is_fixed, fake.shape))
        and fake.numel() == 1
    )


def _beginning(tx: TraceContext, node: fx.Node, fake: torch.Tensor) -> _HeldNumber | None:
    """What the tensor of a node holds when it is made, or before the graph runs."""
    if node.op == "placeholder":
        tracker = tx.changes.results.get(id(fake))
        if not isinstance(tracker, TensorTracker) or tracker.value is None or tracker.source is None:
            return None
        if tx.graph.has_changes:
            tx.changes.content_reads[tracker.source] = None
        with tx.graph.pause_recording():
            value = tracker.value.item()
        return _HeldNumber(value, TensorItem(tracker.source))
    if node.op == "call_method" and node.target in _COPIES:
        return _content(tx, node.args[0], node)
    if node.op != "call_function" or {"out", "memory_format"} & set(node.kwargs):
        return None
    if node.target in _TENSORS_OF and type(node.args[0]) in (int, float):
        return _HeldNumber(_rounded(node.args[0], fake.dtype), _rounded(node.args[0], fake.dtype))
    if node.target is _AS_TENSOR:
        return _combine(_ROUND[fake.dtype], [_number(tx, node.all_input_nodes[0])])
    filling = _FILLED.get(node.target)
    return None if filling is None else _HeldNumber(filling, filling)


def _copied(tx: TraceContext, write: fx.Node, fake: torch.Tensor) -> _HeldNumber | None:
    """What `tensor.copy_(other)` writes; None unless both are of one type, and the tensor is written as a whole."""
    nodes = [one.meta[EXAMPLE] for one in write.args if isinstance(one, fx.Node)]
    if len(nodes) != 2 or len(write.args) != 2 or write.kwargs or nodes[0] is not fake:
        return None
    return _content(tx, write.args[1], write) if nodes[1].dtype is fake.dtype else None


def _added(tx: TraceContext, write: fx.Node, fake: torch.Tensor) -> _HeldNumber | None:
    """What an operation adds to a tensor in place; None if it does anything else."""
    alpha = write.kwargs.get("alpha", 1)
    if write.target not in _ADDING or len(write.args) != 2 or set(write.kwargs) - {"alpha"} or alpha != 1:
        return None
    places, amount = write.args
    tensors = places if isinstance(places, list | tuple) else [places]
    changed = [one.meta[EXAMPLE] for one in tensors if isinstance(one, fx.Node)]
    # Once, and as a whole: a view may be of another element.
    if sum(one is fake for one in changed) != 1 or len(changed) != len(tensors):
        return None
    memory = fake.untyped_storage()._cdata
    if sum(one.untyped_storage()._cdata == memory for one in changed) != 1:
        return None
    if isinstance(amount, fx.Node):
        return _content(tx, amount, write) if amount.meta[EXAMPLE].dim() == 0 else None
    if type(amount) not in (int, float):
        return None
    assert isinstance(amount, int | float)
    rounded = _rounded(amount, fake.dtype)
    return _HeldNumber(rounded, rounded)


def _rounded(number: object, dtype: torch.dtype) -> float:
    assert isinstance(number, int | float)
    return c_float(number).value if dtype is torch.float32 else float(number)


def round_single(number: float) -> float:
    """A number as float32."""
    return c_float(number).value


def add_rounded(left: float, right: float) -> float:
    """The sum of two numbers of float32, as float32."""
    return round_single(left + right)


_ROUND: Final[Mapping[torch.dtype, _Function]] = {torch.float32: round_single, torch.float64: float}
_ADD: Final[Mapping[torch.dtype, _Function]] = {torch.float32: add_rounded, torch.float64: operator.add}


def _combine(function: _Function, operands: list[_HeldNumber | None]) -> _HeldNumber | None:
    known = [one for one in operands if one is not None]
    size = 1 + sum(one.size for one in known)
    if len(known) != len(operands) or size > _LARGEST:
        return None
    try:
        value = function(*(one.value for one in known))
    except (ArithmeticError, ValueError):
        return None
    if not isinstance(value, float | bool):
        return None
    if not any(isinstance(one.formula, Source) for one in known):
        return _HeldNumber(value, value)
    name = getattr(function, "__name__", "number")
    return _HeldNumber(value, Computed(function, tuple(one.formula for one in known), name), size)
