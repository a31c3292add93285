"""Operations that fakes cannot run, replaced by operations with the same result.

In eager `x.addcdiv_(a, b, value=t)` reads the number from `t`, which a graph cannot. Optimizers that are told that
they are compiled pass such tensors. `torch._is_all_true`, with which distributions check their arguments, fails on a fake
with symbolic sizes.
"""

from collections.abc import Callable, Mapping, Sequence
from contextlib import nullcontext
from typing import Final

import torch

from framesmith.graph.python_numbers.numbers import as_number, divide, largest, power, raise_tensor, smallest
from framesmith.variables.builtin_types.lists import ListTracker
from framesmith.variables.builtin_types.tuples import TupleTracker
from framesmith.variables.core import Constant, TraceContext, Tracker
from framesmith.variables.core.rows import Rows
from framesmith.variables.operations.binary import binary
from framesmith.variables.tensors.number_operands import as_converted, asks_gradient
from framesmith.variables.tensors.tensors import TensorTracker, is_number, round_number
from framesmith.variables.torch_functions.graph_calls import Target, graph_call, record_function
from framesmith.variables.torch_functions.list_floats import LIST_FUNCTIONS, make_list_row

ROWS: Final = Rows()

_EXACT: Final = frozenset({torch.float32, torch.float64})
"""Types for which the other operation rounds as the original;
narrower types are computed in float32 and rounded once."""


def _stays_tensor(number: Tracker | None, *operands: Tracker) -> bool:
    """Whether a factor can stay a tensor. One that is no scalar
    or requires a gradient cannot: eager raises its error."""
    if not isinstance(number, TensorTracker) or number.fake.dim() or number.fake.requires_grad:
        return False
    kinds = {operand.fake.dtype for operand in operands if isinstance(operand, TensorTracker)}
    tensors = all(isinstance(operand, TensorTracker) for operand in operands)
    return tensors and len(kinds) == 1 and kinds <= _EXACT and number.fake.dtype in _EXACT


def _find_tensor_factor(
    tx: TraceContext, name: str, count: int, args: Sequence[Tracker], kwargs: Mapping[str, Tracker]
) -> Tracker | None:
    """The factor that is given by this name, the only one, beside so many operands, where the graph can take it as a tensor. Any
    other form is left to torch, also one that is wrong; a graph that runs as it is gets the number."""
    if len(args) != count or set(kwargs) != {name}:
        return None
    fakes = [one.fake for one in args if isinstance(one, TensorTracker)]
    value = as_converted(tx, fakes, kwargs[name].realize()) if len(fakes) == count else kwargs[name]
    return None if not _stays_tensor(value, *args) or tx.graph.runs_as_captured else value


def _make_fused_row(target: Target) -> Callable[..., Tracker]:
    """The row of `self + value * tensor1 <symbol> tensor2`,
    where the kernels multiply the first factor by the value."""

    def call(tx: TraceContext, *args: Tracker, **kwargs: Tracker) -> Tracker:
        # The gradient multiplies in another order.
        value = None if asks_gradient(args) else _find_tensor_factor(tx, "value", 3, args, kwargs)
        if value is None:
            return graph_call(tx, target, args, kwargs)
        return graph_call(tx, target, (args[0], binary(tx, "*", args[1], value), args[2]), {})

    return call


def _make_scaled_row(target: Target, fused: Target, sign: int = 1) -> Callable[..., Tracker]:
    """The row of `self + alpha * other`, or with a minus, in place or not: rounded once, as by `addcmul`."""

    def call(tx: TraceContext, *args: Tracker, **kwargs: Tracker) -> Tracker:
        alpha = _find_tensor_factor(tx, "alpha", 2, args, kwargs)
        if alpha is None:
            return graph_call(tx, target, args, kwargs)
        given = {} if sign == 1 else {"value": Constant(sign)}
        return graph_call(tx, fused, (*args, round_number(tx, args[0], alpha)), given)

    return call


def _make_truth_row(target: Target, general: Target) -> Callable[..., Tracker]:
    """The row of `torch._is_all_true(x)` and `_is_any_true(x)`, for bools the methods `all` and `any`."""

    def call(tx: TraceContext, *args: Tracker, **kwargs: Tracker) -> Tracker:
        tensor = args[0] if len(args) == 1 and not kwargs else None
        if isinstance(tensor, TensorTracker) and tensor.fake.dtype is torch.bool:
            return graph_call(tx, general, args, {})
        return graph_call(tx, target, args, kwargs)

    return call


def _make_each_row(target: Target) -> Callable[..., Tracker]:
    """The row of an in-place operation on each tensor of a list with a number of its own."""

    def call(tx: TraceContext, *args: Tracker, **kwargs: Tracker) -> Tracker:
        tensors, others = (one.realize() for one in args) if len(args) == 2 else (None, None)
        is_list = isinstance(tensors, ListTracker) and isinstance(others, ListTracker)
        if not is_list or tx.graph.runs_as_captured:
            return graph_call(tx, target, args, kwargs)
        assert isinstance(tensors, ListTracker)
        assert isinstance(others, ListTracker)
        items = [one.realize() for one in others.items]
        # Lists of different lengths are refused by torch.
        for place, one in enumerate(tensors.items[: len(items)]):
            tensor = one.realize()
            if isinstance(tensor, TensorTracker):
                items[place] = round_number(tx, tensor, items[place])
        return graph_call(tx, target, (tensors, ListTracker(items)), kwargs)

    return call


def _make_weight_row(target: Target) -> Callable[..., Tracker]:
    """The row of `self.lerp(end, weight)`: a weight that is a number in eager is rounded as torch rounds it."""

    def call(tx: TraceContext, *args: Tracker, **kwargs: Tracker) -> Tracker:
        first, *_, weight = (one.realize() for one in args) if len(args) == 3 else (None, None)
        wide = isinstance(first, TensorTracker) and first.fake.dtype in _EXACT
        # The gradient takes `1 - weight`, which torch computes of a number in double precision.
        has_gradient = asks_gradient([one.realize() for one in args[:2]])
        if isinstance(first, TensorTracker) and weight is not None and wide and not has_gradient:
            weight = as_converted(tx, [first.fake], weight)
            args = (*args[:2], weight)
        # Where the backend runs the graph itself, the operation gets the number.
        if weight is None or not wide or not is_number(tx, weight) or tx.graph.runs_as_captured:
            return graph_call(tx, target, args, kwargs)
        assert isinstance(first, TensorTracker)
        rounded = graph_call(tx, "to", (weight, Constant(first.fake.dtype)), {})
        return graph_call(tx, target, (*args[:2], rounded), kwargs)

    return call


def _make_weights_row(target: Target, single: str) -> Callable[..., Tracker]:
    """The row of the same on lists of tensors, with a list of weights, where a backend traces the graph again."""
    row = _make_weight_row(single)

    def call(tx: TraceContext, *args: Tracker, **kwargs: Tracker) -> Tracker:
        lists = [one.realize() for one in args]
        rows = [one.items for one in lists if isinstance(one, ListTracker | TupleTracker)]
        is_simple = len(rows) == 3 and len(args) == 3 and not kwargs and len(set(map(len, rows))) == 1
        if (
            not is_simple
            or not any(is_number(tx, one.realize()) for one in rows[2])
            or tx.graph.runs_as_captured
        ):
            return graph_call(tx, target, args, kwargs)
        for one, end, weight in zip(*rows, strict=True):
            row(tx, one, end, weight)
        return Constant(None)

    return call


def _make_one_by_one_row(target: Target, single: str) -> Callable[..., Tracker]:
    """The row of an operation on lists of tensors with a list, or a tensor, of numbers: the one on single tensors for each,
    which is what kernels for CPU do, where the trace has a tensor in place of a number."""
    row = _make_fused_row(single)

    def call(tx: TraceContext, *args: Tracker, **kwargs: Tracker) -> Tracker:
        given = [one.realize() for one in args]
        rows = [one.items for one in given[:3] if isinstance(one, ListTracker | TupleTracker)]
        # On other devices the kernel for lists is another one, which may round otherwise.
        if kwargs or len(given) != 4 or len(rows) != 3 or not all(map(_is_on_cpu, rows[0])):
            return graph_call(tx, target, args, kwargs)
        numbers = _numbers(tx, given[3], len(rows[0]))
        if numbers is None or len(rows[0]) != len(rows[1]) or len(rows[0]) != len(rows[2]):
            return graph_call(tx, target, args, kwargs)
        for first, second, third, number in zip(*rows, numbers, strict=True):
            row(tx, first.realize(), second.realize(), third.realize(), value=number)
        return Constant(None)

    return call


def _numbers(tx: TraceContext, scalars: Tracker, count: int) -> list[Tracker] | None:
    """So many numbers in a list, or in a tensor that was stacked from some; None where all are known, or they are not so
    many."""
    # Optimizers stack the numbers (`torch.stack`) where they are compiled.
    if isinstance(scalars, TensorTracker) and scalars.fake.dtype is torch.float64:
        if tuple(scalars.fake.shape) != (count,):
            return None
        return [scalars.subscript(tx, Constant(place)) for place in range(count)]
    if not isinstance(scalars, ListTracker) or len(scalars.items) != count:
        return None
    items = [one.realize() for one in scalars.items]
    # With known numbers the operation on lists stays one node.
    return items if any(is_number(tx, one) for one in items) else None


def _is_on_cpu(tensor: Tracker) -> bool:
    tensor = tensor.realize()
    return isinstance(tensor, TensorTracker) and tensor.fake.device.type == "cpu"


def _make_reference_row(target: Target) -> Callable[..., Tracker]:
    """The row of an operation whose C++ code decides on data, only in order to raise: its fake is that of torch's reference in Python.

    A backend that replaces operations would take the reference, which does not raise.
    """

    def call(tx: TraceContext, *args: Tracker, **kwargs: Tracker) -> Tracker:
        # The switch makes the dispatcher take references in Python; the node calls torch's function.
        with torch._C._EnablePythonDispatcher() if tx.graph.runs_as_captured else nullcontext():
            return graph_call(tx, target, args, kwargs)

    return call


_ROWS: Final[tuple[tuple[Callable[..., object], Callable[..., Tracker]], ...]] = (
    (torch.Tensor.addcdiv, _make_fused_row("addcdiv")),
    (torch.Tensor.addcdiv_, _make_fused_row("addcdiv_")),
    (torch.addcdiv, _make_fused_row(torch.addcdiv)),
    (torch.Tensor.addcmul, _make_fused_row("addcmul")),
    (torch.Tensor.addcmul_, _make_fused_row("addcmul_")),
    (torch.addcmul, _make_fused_row(torch.addcmul)),
    (torch.Tensor.add, _make_scaled_row("add", "addcmul")),
    (torch.Tensor.add_, _make_scaled_row("add_", "addcmul_")),
    (torch.add, _make_scaled_row(torch.add, torch.addcmul)),
    (torch.Tensor.sub, _make_scaled_row("sub", "addcmul", -1)),
    (torch.Tensor.sub_, _make_scaled_row("sub_", "addcmul_", -1)),
    (torch.sub, _make_scaled_row(torch.sub, torch.addcmul, -1)),
    (torch.lerp, _make_weight_row(torch.lerp)),
    (torch.Tensor.lerp, _make_weight_row("lerp")),
    (torch.Tensor.lerp_, _make_weight_row("lerp_")),
    (torch._foreach_add_, _make_each_row(torch._foreach_add_)),
    (torch._foreach_lerp_, _make_weights_row(torch._foreach_lerp_, "lerp_")),
    (torch._foreach_mul_, _make_each_row(torch._foreach_mul_)),
    (torch._foreach_div_, _make_each_row(torch._foreach_div_)),
    (torch._foreach_addcdiv_, _make_one_by_one_row(torch._foreach_addcdiv_, "addcdiv_")),
    (torch._foreach_addcmul_, _make_one_by_one_row(torch._foreach_addcmul_, "addcmul_")),
    (torch._is_all_true, _make_truth_row(torch._is_all_true, "all")),
    (torch.istft, _make_reference_row(torch.istft)),
    (torch.Tensor.istft, _make_reference_row("istft")),
    (torch._is_any_true, _make_truth_row(torch._is_any_true, "any")),
)
_KNOWN: Final = dict(_ROWS)
for _key, _handler in _ROWS:
    if _key not in LIST_FUNCTIONS:
        ROWS.call(_key)(_handler)
for _key in LIST_FUNCTIONS:
    ROWS.call(_key)(make_list_row(_key, _KNOWN.get(_key)))


@ROWS.call(as_number)
def keep_number(tx: TraceContext, tensor: Tracker) -> Tracker:
    """The number in a tensor, which the graph keeps as a tensor."""
    tx.graph.keeps_numbers = True
    return graph_call(tx, as_number, (tensor,), {})


for _function in (power, divide, smallest, largest, raise_tensor):
    record_function(ROWS, _function)
