"""Floats that change, beside tensors, for backends that replace operations: tensors of Python's precision, which are inputs of the graph.

x * scale        eager: torch makes a tensor of the float, which gives way to the type of `x`
x * scale_0      the graph: that tensor is an input; beside types to which it would not give way, it is converted first

With what operations such a tensor rounds as the number does was measured for each type (`tests/end_to_end/test_changing_floats.py`);
elsewhere the float is fixed to its value, as the exponent of a tensor is: kernels read that in double precision, beside any type. Not
here: the floats themselves (`symbolic_numbers.computed_numbers`).
"""

from collections.abc import Sequence
from typing import Final

import torch

from framesmith.guards import Guard, Reason
from framesmith.guards.kinds import ShapeExpression
from framesmith.variables.core import Constant, TraceContext, Tracker
from framesmith.variables.graph_nodes.results import record, wrap_result
from framesmith.variables.symbolic_numbers.computed_numbers import ComputedNumber

#: Operators of one number and one tensor that take a tensor for the number, on each side.
OPERATORS: Final = frozenset({"+", "-", "*", "/", "//", "%"})
_WIDE: Final = (torch.float32, torch.float64)
_NARROW: Final = (torch.float16, torch.bfloat16)


def is_changing_float(tx: TraceContext, value: Tracker) -> bool:
    """Whether it is a float that a graph can take as a tensor only."""
    return (
        isinstance(value, ComputedNumber)
        and not tx.graph.fixes_floats
        # A transform gives types by other rules, and what is only checked here runs with the number.
        and not (tx.graph.use.is_transformed or tx.graph.use.is_discarded)
        and value.is_tensor_in_graph(tx)
    )


def as_operand(tx: TraceContext, tensors: Sequence[torch.Tensor], value: Tracker) -> Tracker:
    """The operand beside these tensors: for a float that changes a tensor of it that gives the same result. Any other value, and
    a float beside types for which there is no such tensor, as it is."""
    if not is_changing_float(tx, value):
        return value
    kinds = {_type_beside(tensor) for tensor in tensors}
    if len(kinds) > 1 and kinds <= {*_WIDE} and all(one.dtype is torch.float32 for one in tensors):
        kinds = {torch.float32}
    kind = kinds.pop() if len(kinds) == 1 else None
    if kind is None:
        return value
    number = as_number_tensor(tx, value)
    return number if kind is torch.float64 else record(tx, "to", (number, Constant(kind)))


def beside(tx: TraceContext, tensor: Tracker, value: Tracker) -> Tracker:
    """As `as_operand` of one tensor; beside another value as it is."""
    fake = getattr(tensor, "fake", None)
    return as_operand(tx, [fake], value) if isinstance(fake, torch.Tensor) else value


def as_converted(tx: TraceContext, tensors: Sequence[torch.Tensor], value: Tracker) -> Tracker:
    """As `as_operand`, where torch converts the number to the type of the tensors, and raises if it is too large for that."""
    if is_changing_float(tx, value) and any(not fits(tx, value, tensor.dtype) for tensor in tensors):
        return value
    return as_operand(tx, tensors, value)


def asks_gradient(operands: Sequence[Tracker]) -> bool:
    """Whether a gradient of an operation with these operands may be computed."""
    fakes = [getattr(one, "fake", None) for one in operands]
    return torch.is_grad_enabled() and any(
        isinstance(fake, torch.Tensor) and fake.requires_grad for fake in fakes
    )


def fits(tx: TraceContext, value: Tracker, dtype: torch.dtype) -> bool:
    """Whether a number that changes is within the range of a type of floats, or infinite, or NaN; guarded."""
    if not isinstance(value, ComputedNumber) or dtype is torch.float64 or not dtype.is_floating_point:
        return True
    relation = ShapeExpression(f"not {torch.finfo(dtype).max!r} < abs({{0}}) < inf", (value.source,))
    found = relation.holds([value.value])
    if found:
        tx.guards.add(Guard.relation(relation, Reason(f"a number is within the range of {dtype}", None)))
    return found


def as_number_tensor(tx: TraceContext, value: Tracker) -> Tracker:
    """The tensor of a float that changes, any other value as it is."""
    if not isinstance(value, ComputedNumber) or not is_changing_float(tx, value):
        return value
    return wrap_result(tx, value.tensor_node(tx))


def _type_beside(tensor: torch.Tensor) -> torch.dtype | None:
    """The type of a tensor without dimensions that gives the result of the number, beside this tensor; None if none does."""
    kind, is_scalar = tensor.dtype, not tensor.dim()
    if kind is torch.float64 or (kind is torch.float32 and not is_scalar):
        return torch.float64
    # Of two tensors without dimensions torch takes the wider type.
    if kind in (torch.float32, torch.complex64):
        return torch.float32
    # Kernels read the number in float32, unless both are tensors without dimensions; autocast would ask for the wider type.
    if kind in _NARROW:
        return None if is_scalar or torch._C._is_any_autocast_enabled() else torch.float32
    is_whole = not kind.is_floating_point and not kind.is_complex
    return torch.float32 if is_whole and torch.get_default_dtype() is torch.float32 else None
