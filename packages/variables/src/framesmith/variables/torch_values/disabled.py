"""Functions of torch that its own authors excluded from capture, and annotations that mean nothing at run time."""

from types import CodeType

import torch
from torch import _compile

from framesmith.variables.callables.functions import DISABLED_CODES
from framesmith.variables.core import CALLABLES, TraceContext, Tracker

# Every use of torch's decorator makes a closure over this one code object.
DISABLED_CODES.update(
    constant
    for constant in _compile._disable_dynamo.__code__.co_consts
    if isinstance(constant, CodeType) and constant.co_name == "inner"
)


@CALLABLES.row(torch.jit.annotate)
def annotate(tx: TraceContext, the_type: Tracker, the_value: Tracker) -> Tracker:
    """`torch.jit.annotate(T, v)` is `v`."""
    return the_value
