"""Blocks of `torch.cuda.device` and `torch.cuda.set_device`: captured where the device is current already.

With one GPU that is always so. Where it is not, the device changes between two graphs.
"""

from typing import Final

import torch

from framesmith.graph import GraphBreak
from framesmith.graph.breaks.break_kinds import CONTEXT_MANAGER
from framesmith.guards import Guard, Reason
from framesmith.guards.kinds import AmbientValue
from framesmith.variables.core import Constant, TraceContext, Tracker
from framesmith.variables.core.rows import Rows
from framesmith.variables.torch_functions.folded import answer_of

ROWS: Final = Rows()

_EXCHANGE: Final = ("_cuda_exchangeDevice", "_cuda_maybeExchangeDevice")
"""Functions that make a device current and return the index of the one that was; -1, for no device, changes nothing."""


def _require_current(tx: TraceContext, index: Tracker) -> int:
    """The index. Breaks the graph where another device is current."""
    wanted = index.as_python_constant()
    assert isinstance(wanted, int)
    if wanted < 0:
        return -1
    current = answer_of(tx, torch.cuda.current_device, ())
    if current != wanted:
        raise GraphBreak(CONTEXT_MANAGER, f"CUDA device {wanted} becomes the current one, which is {current}")
    tx.guards.add(
        Guard.relation(AmbientValue(torch.cuda.current_device, (), current), Reason("the trace asked torch"))
    )
    return wanted


def _exchange(tx: TraceContext, index: Tracker, /) -> Tracker:
    return Constant(_require_current(tx, index))


def _set(tx: TraceContext, index: Tracker, /) -> Tracker:
    _require_current(tx, index)
    return Constant(None)


# Only builds with CUDA have them.
for _name in _EXCHANGE:
    if hasattr(torch._C, _name):
        ROWS.call(getattr(torch._C, _name))(_exchange)
if hasattr(torch._C, "_cuda_setDevice"):
    ROWS.call(torch._C._cuda_setDevice)(_set)
