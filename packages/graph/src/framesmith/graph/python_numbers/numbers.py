"""Numbers that eager reads out of tensors, which a graph keeps as tensors of Python's precision.

bias = 1 - beta ** step.item()        eager: Python's floats
bias = 1 - power(beta, as_number(step))      the graph: 0-d tensors of float64, rounded where eager rounds
"""

import operator
from collections.abc import Callable, Sequence
from typing import Final, TypeAlias

import torch
from torch import fx

from framesmith.graph.nodes.arguments import EXAMPLE
from framesmith.graph.operations.data_errors import only_computes
from framesmith.graph.replacing_backends import refuse_tracing


@only_computes
def as_number(tensor: torch.Tensor) -> torch.Tensor:
    """The number in a tensor, as optimizers read it with `item()`: what is computed with it is computed in float64 too. A
    later change of the tensor does not change it."""
    return tensor.to(torch.float64, copy=True)


def as_tensor(number: float) -> torch.Tensor:
    """A tensor of Python's precision for a number of the program; no mode or default device is asked."""
    with torch._C.DisableTorchFunction():
        return torch.scalar_tensor(number, dtype=torch.float64, device="cpu")


_Number: TypeAlias = torch.Tensor | float


@only_computes
def power(base: _Number, exponent: _Number) -> torch.Tensor:
    """`base ** exponent` of such numbers; torch's own may differ in the last bit."""
    return _compute(operator.pow, base, exponent)


@only_computes
def divide(dividend: _Number, divisor: _Number) -> torch.Tensor:
    """`dividend / divisor` of such numbers; of a number and a tensor torch multiplies by the reciprocal, rounded twice."""
    return _compute(operator.truediv, dividend, divisor)


@only_computes
def smallest(*operands: _Number) -> torch.Tensor:
    """`min(a, b, ...)` of such numbers: the first one unless another is smaller, also where one is NaN."""
    return _compute(min, *operands)


@only_computes
def largest(*operands: _Number) -> torch.Tensor:
    """`max(a, b, ...)` of such numbers."""
    return _compute(max, *operands)


def _select(function: Callable[..., object], operands: Sequence[_Number]) -> torch.Tensor:
    """`min` or `max` by tensors alone."""
    is_better = operator.lt if function is min else operator.gt
    best, *others = (
        torch.scalar_tensor(one, dtype=torch.float64) if isinstance(one, int | float) else one
        for one in operands
    )
    for one in others:
        best = torch.where(is_better(one, best), one, best)
    return best


@only_computes
def raise_tensor(base: torch.Tensor, exponent: torch.Tensor) -> torch.Tensor:
    """`base ** exponent` of a tensor and such a number; the kernels for a number have shortcuts for 2, 3, 0.5 ..., which round otherwise
    than those for two tensors."""
    if type(exponent) is torch.Tensor:
        refuse_tracing()
        result = base ** exponent.item()
    else:
        result = base ** exponent.to(base.dtype)
    assert isinstance(result, torch.Tensor)
    return result


def _compute(function: Callable[..., object], *operands: _Number) -> torch.Tensor:
    """By Python; fakes, and what ahead-of-time tracing passes, have no number to read: by torch."""
    # The exact types: a fake is a Tensor too.
    if all(type(one) in (torch.Tensor, float, int) for one in operands):
        refuse_tracing()
        result = function(*(one.item() if isinstance(one, torch.Tensor) else one for one in operands))
        if isinstance(result, float):
            return torch.tensor(result, dtype=torch.float64)
    if function in (min, max):
        return _select(function, operands)
    result = function(*operands)
    assert isinstance(result, torch.Tensor)
    return result


_IS_NUMBER: Final = "framesmith_is_number"
_ARITHMETIC: Final = frozenset(
    map(id, (
        as_number, power, divide, smallest, largest, operator.add, operator.sub, operator.mul, operator.truediv, operator.floordiv,
        operator.mod, operator.pow, pow, operator.neg, operator.pos, operator.abs,
    ))
)  # fmt: skip


def mark_number(node: fx.Node) -> None:
    """Note that eager has a number where the graph has this input (`as_tensor`)."""
    node.meta[_IS_NUMBER] = True


def is_number(node: fx.Node) -> bool:
    """Whether eager has a number where the graph has this tensor: it is computed from nothing but such numbers.

    The answer is kept with the node, and with those that it is computed from: operators ask again and again.
    """
    todo, seen = [node], {node}
    while todo:
        one = todo.pop()
        known = one.meta.get(_IS_NUMBER)
        if known:
            continue
        if one.op == "placeholder" and isinstance(one.meta.get(EXAMPLE), torch.SymInt | torch.SymFloat):
            continue
        if known is False or one.op != "call_function" or id(one.target) not in _ARITHMETIC:
            node.meta[_IS_NUMBER] = False
            return False
        if one.target is not as_number:
            before = one.all_input_nodes
            todo += [other for other in before if other not in seen]
            seen.update(before)
    for one in seen:
        one.meta[_IS_NUMBER] = True
    return True
