"""Functions of torch that its own authors excluded from capture, and annotations that mean nothing at run time."""

from types import CodeType

import torch
from torch import _compile

from framesmith.variables.callables.functions import DIRECTIVES, DISABLED_CODES
from framesmith.variables.callables.polyfill_functions import polyfill_function
from framesmith.variables.core import CALLABLES, PendingCall, TraceContext, Tracker

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


def _tagged(name: str, original: str) -> None:
    """TorchDynamo, once it has run, wraps two methods of `nn.Module` to note for itself which modules are new. A module
    that is made in a trace is traced without that note."""

    def call(tx: TraceContext, *args: Tracker, **kwargs: Tracker) -> Tracker | PendingCall:
        wrapper = getattr(torch.nn.Module, name)
        held = dict(zip(wrapper.__code__.co_freevars, wrapper.__closure__ or (), strict=True))
        return polyfill_function(held[original].cell_contents).bind(tx, args, kwargs)

    DIRECTIVES[
        "torch._dynamo.mutation_guard", f"install_generation_tagging_init.<locals>.patched_{original}"
    ] = call


_tagged("__init__", "init")
_tagged("__setstate__", "setstate")
