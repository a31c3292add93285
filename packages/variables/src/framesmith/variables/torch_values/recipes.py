"""Operations that ask a tensor for a Python number where it could stay a tensor: the same result by other operations.

In eager `x.addcdiv_(a, b, value=t)` reads the number out of `t`, which a graph cannot. Optimizers that are told
that they are compiled hand in such tensors.
"""

from collections.abc import Callable
from typing import Final

import torch

from framesmith.variables.core import CALLABLES, TraceContext, Tracker
from framesmith.variables.operations.binary import binary
from framesmith.variables.torch_values.graph_calls import Target, graph_call
from framesmith.variables.torch_values.tensors import TensorTracker


def _fused(target: Target, symbol: str, adds: Target) -> Callable[..., Tracker]:
    """`self + value * tensor1 <symbol> tensor2`, in place or not, rounded in the order of ATen's CPU kernels."""

    def call(tx: TraceContext, *args: Tracker, **kwargs: Tracker) -> Tracker:
        value = kwargs.get("value")
        if len(args) != 3 or not isinstance(value, TensorTracker) or set(kwargs) != {"value"}:
            return graph_call(tx, target, args, kwargs)
        term = binary(tx, symbol, binary(tx, "*", args[1], value), args[2])
        return graph_call(tx, adds, (args[0], term), {})

    return call


def _scaled(target: Target) -> Callable[..., Tracker]:
    """`self + alpha * other`, or with a minus, in place or not."""

    def call(tx: TraceContext, *args: Tracker, **kwargs: Tracker) -> Tracker:
        alpha = kwargs.get("alpha")
        if len(args) != 2 or not isinstance(alpha, TensorTracker) or set(kwargs) != {"alpha"}:
            return graph_call(tx, target, args, kwargs)
        return graph_call(tx, target, (args[0], binary(tx, "*", args[1], alpha)), {})

    return call


_ROWS: Final[tuple[tuple[Callable[..., object], Callable[..., Tracker]], ...]] = (
    (torch.Tensor.addcdiv, _fused("addcdiv", "/", "add")),
    (torch.Tensor.addcdiv_, _fused("addcdiv_", "/", "add_")),
    (torch.addcdiv, _fused(torch.addcdiv, "/", torch.add)),
    (torch.Tensor.addcmul, _fused("addcmul", "*", "add")),
    (torch.Tensor.addcmul_, _fused("addcmul_", "*", "add_")),
    (torch.addcmul, _fused(torch.addcmul, "*", torch.add)),
    (torch.Tensor.add, _scaled("add")),
    (torch.Tensor.add_, _scaled("add_")),
    (torch.add, _scaled(torch.add)),
    (torch.Tensor.sub, _scaled("sub")),
    (torch.Tensor.sub_, _scaled("sub_")),
    (torch.sub, _scaled(torch.sub)),
)
for _key, _handler in _ROWS:
    CALLABLES.row(_key)(_handler)
