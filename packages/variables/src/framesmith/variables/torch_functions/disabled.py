"""Functions that torch itself excludes from capture, or that import on first use, and annotations without an effect."""

import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from types import CodeType, FunctionType
from typing import Final, final

import torch
from torch import _compile

from framesmith.graph import GraphBreak
from framesmith.graph.breaks.break_kinds import DISABLED, NATIVE_CALL
from framesmith.variables.builtin_types.dicts import DictTracker
from framesmith.variables.builtin_types.lists import ListTracker
from framesmith.variables.builtin_types.tuples import TupleTracker
from framesmith.variables.callables.functions import (
    DIRECTIVES,
    DISABLED_CODES,
    TRACED_ORIGINALS,
    FunctionTracker,
)
from framesmith.variables.callables.polyfill_functions import polyfill_function
from framesmith.variables.core import Constant, PendingCall, TraceContext, Tracker, Writer
from framesmith.variables.core.base import Arguments, Keywords
from framesmith.variables.core.rows import Rows

ROWS: Final = Rows()
_NONE: Final = Constant(None)
_TRUE: Final = Constant(True)

# Every use of torch's decorator makes a closure over this one code object.
for _constant in _compile._disable_dynamo.__code__.co_consts:
    if isinstance(_constant, CodeType) and _constant.co_name == "inner":
        ROWS.add(DISABLED_CODES, _constant, None)


@final
class NewDisabled(Tracker):
    """A function that the traced program disables, such as torch's hooks of sharded modules at each call. It is only called, which breaks
    the graph; `disable` itself runs behind it, as the call does."""

    source = None

    def __init__(self, function: FunctionTracker, reason: str | None) -> None:
        self.function = function
        self.reason = reason

    @property
    def python_type(self) -> type:
        """That of a wrapper in Python."""
        return FunctionType

    def children(self) -> Iterator[Tracker]:
        """The function."""
        yield self.function

    def begin_call(self, tx: TraceContext, args: Arguments, kwargs: Keywords) -> Tracker:
        """It runs natively."""
        value, reason = self.function.value, "" if self.reason is None else f": {self.reason}"
        raise GraphBreak(
            DISABLED, f"{value.__module__}.{value.__qualname__} is marked with torch.compiler.disable{reason}"
        )

    def reconstruct(self, writer: Writer) -> str:
        """Disable the function."""
        disable = writer.constant(torch.compiler.disable, "disable")
        return writer.define(
            self, f"{disable}({writer.value(self.function)}, reason={self.reason!r})", "disabled"
        )


@ROWS.entry(DIRECTIVES, ("torch._dynamo.decorators", "disable"))
def disable(
    tx: TraceContext, fn: Tracker = _NONE, recursive: Tracker = _TRUE, *, reason: Tracker = _NONE
) -> Tracker:
    """`torch.compiler.disable(function)`; of anything else, or of a function with marks, it runs natively."""
    said, is_recursive = reason.realize(), recursive.realize()
    is_plain = isinstance(fn, FunctionTracker) and not vars(fn.value)
    if not is_plain or not isinstance(said, Constant) or not isinstance(is_recursive, Constant):
        raise GraphBreak(NATIVE_CALL, "torch.compiler.disable()")
    if is_recursive.value is not True or not isinstance(said.value, str | None):
        raise GraphBreak(NATIVE_CALL, "torch.compiler.disable()")
    assert isinstance(fn, FunctionTracker)
    return NewDisabled(fn, said.value)


def _trace_anyway(
    function: Callable[..., object], warns: Callable[[TraceContext, Sequence[Tracker]], bool] | None = None
) -> None:
    """Trace the original of a function that torch disables, now or once TorchDynamo has run: its own compiler makes a graph
    of what comes after it. Not where it `warns`: the warning names a frame above, and the wrapper has one."""
    original = getattr(function, "__wrapped__", function)
    assert isinstance(original, FunctionType)
    tracker = polyfill_function(original)
    # Else the code of the wrapper would break the graph as that of a disabled function.
    ROWS.add(TRACED_ORIGINALS, original, None)

    @ROWS.call(original)
    def call(tx: TraceContext, *args: Tracker, **kwargs: Tracker) -> Tracker | PendingCall:
        if warns is not None and warns(tx, (*args, *kwargs.values())):
            raise GraphBreak(DISABLED, f"{original.__module__}.{original.__qualname__} may warn")
        return tracker.bind(tx, args, kwargs)


def _parameter_of(item: Tracker) -> Tracker:
    """The parameter in `(name, parameter)`."""
    return item.items[1].realize() if isinstance(item, TupleTracker) and len(item.items) == 2 else item


def _may_hold_twice(tx: TraceContext, operands: Sequence[Tracker]) -> bool:
    """Whether the parameters of a new group are not known to be different ones, so that torch may warn."""
    group = operands[-1].realize()
    given = group.get_item(tx, Constant("params")) if isinstance(group, DictTracker) else None
    found = None if given is None else given.realize()
    if not isinstance(found, ListTracker | TupleTracker):
        return True
    items = [_parameter_of(item.realize()) for item in found.items]
    return len(items) > 1 and len({id(one) for one in items}) < len(items)


for _method in ("zero_grad", "state_dict"):
    _trace_anyway(getattr(torch.optim.Optimizer, _method))
_trace_anyway(torch.optim.Optimizer.add_param_group, _may_hold_twice)


def _trace_each(functions: Iterable[Callable[..., object]]) -> None:
    """Trace several functions; one may stand in several classes, each time in another wrapper of torch's compiler."""
    distinct = {id(getattr(one, "__wrapped__", one)): one for one in functions}
    for function in distinct.values():
        _trace_anyway(function)


_OPTIMIZERS: Final = [one for one in vars(torch.optim).values() if isinstance(one, type)]
_trace_each(vars(one)["_init_group"] for one in _OPTIMIZERS if "_init_group" in vars(one))
# The fused step is a plain function in the optimizer's module, named after its class.
_FUSED: Final = [
    getattr(sys.modules[one.__module__], f"_fused_{one.__name__.lower()}", None)
    for one in _OPTIMIZERS
    if one.__module__.startswith("torch.optim.")
]
_trace_each(one for one in _FUSED if one is not None)


def _load_first(function: Callable[[], object]) -> None:
    """Call a function that imports a module once, before it is traced: it only has to find the module then."""
    tracker = polyfill_function(function)

    @ROWS.call(function)
    def call(tx: TraceContext) -> Tracker | PendingCall:
        # Not in fake mode: a module that makes tensors when it is imported gets real ones.
        with tx.graph.pause_recording():
            function()
        return tracker.bind(tx, (), {})


if hasattr(torch.autograd.profiler, "_maybe_cupti_monitor"):  # torch 2.13
    _load_first(torch.autograd.profiler._maybe_cupti_monitor)


@ROWS.call(torch.jit.annotate)
def annotate(tx: TraceContext, the_type: Tracker, the_value: Tracker) -> Tracker:
    """`torch.jit.annotate(T, v)`: returns `v`."""
    return the_value


def _inline_original(name: str, original: str) -> None:
    """Trace the original of a method of `nn.Module` that TorchDynamo, once it has run, wraps to record which modules
    are new. The trace leaves that record out."""

    def call(tx: TraceContext, *args: Tracker, **kwargs: Tracker) -> Tracker | PendingCall:
        # Looked up at the call: the wrapper is there only once the body of `torch._dynamo` has run.
        wrapper = getattr(torch.nn.Module, name)
        held = dict(zip(wrapper.__code__.co_freevars, wrapper.__closure__ or (), strict=True))
        return polyfill_function(held[original].cell_contents).bind(tx, args, kwargs)

    names = "torch._dynamo.mutation_guard", f"install_generation_tagging_init.<locals>.patched_{original}"
    ROWS.add(DIRECTIVES, names, call)


_inline_original("__init__", "init")
_inline_original("__setstate__", "setstate")
