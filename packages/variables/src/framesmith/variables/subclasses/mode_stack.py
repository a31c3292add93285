"""The stack of torch-function modes: a mode that the program enters in the trace is asked while tracing, and not in the graph.

Below the entered modes are those of the caller, on torch's own stack. Blocks that are open where the trace ends
are entered after the graph. How a mode is asked is in `subclasses.dispatch`.
"""

from types import BuiltinFunctionType, FunctionType, GetSetDescriptorType, MethodWrapperType
from typing import Final

import torch
from torch._functorch import apis, vmap
from torch._functorch.predispatch import lazy_load_decompositions
from torch.utils._device import DeviceContext

from framesmith.graph import GraphBreak
from framesmith.graph.breaks.break_kinds import CONTEXT_MANAGER
from framesmith.guards.class_lookup import static_lookup
from framesmith.variables.core import Constant, TraceContext, Tracker, Writer
from framesmith.variables.core.override_state import EnteredMode
from framesmith.variables.core.overrides import DEFAULT, NAME
from framesmith.variables.core.rows import Rows
from framesmith.variables.core.table import callable_name
from framesmith.variables.graph_nodes.results import check_no_mode
from framesmith.variables.objects.instances import InstanceTracker
from framesmith.variables.torch_contexts.open_blocks import OpenBlock
from framesmith.variables.torch_functions.folded import QUESTIONS

ROWS: Final = Rows()

_PUSH: Final = torch._C._push_on_torch_function_stack
_POP: Final = torch._C._pop_torch_function_stack


def _enter_mode(mode: Tracker, writer: Writer) -> None:
    writer.statement(f"{writer.constant(_PUSH, 'push_mode')}({writer.value(mode)})")


def _depth_of_caller(tx: TraceContext) -> int:
    with tx.graph.pause_recording():
        return torch._C._len_torch_function_stack()


@ROWS.call(_PUSH)
def push_mode(tx: TraceContext, mode: Tracker, /) -> Tracker:
    """Enter a mode; from now on calls of torch ask it. Breaks the graph for a mode that is not written in Python."""
    mode = mode.realize()
    cls = mode.python_type
    is_own_form = cls is not DeviceContext and issubclass(cls, DeviceContext)
    if not isinstance(mode, InstanceTracker) or is_own_form:
        raise GraphBreak(CONTEXT_MANAGER, f"a torch-function mode, {mode.describe()}")
    if not isinstance(static_lookup(mode.python_type, NAME), FunctionType):
        # torch refuses class methods and static methods when it asks the mode
        raise GraphBreak(CONTEXT_MANAGER, "a torch-function mode whose __torch_function__ is no plain method")
    block = OpenBlock(mode, _PUSH, _enter_mode)
    tx.changes.note(block)
    overrides = tx.changes.overrides
    overrides.modes.append(EnteredMode(block, _device_of(tx, mode)))
    overrides.is_watched = True
    return Constant(None)


def entered_modes(tx: TraceContext) -> list[Tracker]:
    """The modes that the trace has entered, outermost first."""
    blocks = [mode.block for mode in tx.changes.overrides.modes]
    return [block.owner for block in blocks if isinstance(block, OpenBlock)]


def is_mode_block(changed: Tracker) -> bool:
    """Whether this stands for having entered a torch-function mode."""
    return isinstance(changed, OpenBlock) and changed.entered is _PUSH


def _device_of(tx: TraceContext, mode: Tracker) -> torch.device | None:
    if mode.python_type is not DeviceContext:
        return None
    device = mode.attribute(tx, "device").realize().as_python_constant()
    assert isinstance(device, torch.device)
    return device


@ROWS.call(_POP)
def pop_mode(tx: TraceContext) -> Tracker:
    """Leave the innermost mode and return it. Breaks the graph for one of the caller."""
    modes = tx.changes.overrides.modes
    if not modes:
        raise GraphBreak(CONTEXT_MANAGER, "leaving a torch-function mode that was entered before")
    block = modes.pop().block
    assert isinstance(block, OpenBlock)
    tx.changes.note(block)
    tx.changes.forget(block)
    return block.owner


@ROWS.call(torch._C._len_torch_function_stack)
def count_modes(tx: TraceContext) -> Tracker:
    """How many modes are entered; those of the caller by the guard on torch's global state."""
    return Constant(_depth_of_caller(tx) + len(tx.changes.overrides.modes))


@ROWS.call(torch._C._get_function_stack_at)
def mode_at(tx: TraceContext, index: Tracker, /) -> Tracker:
    """The mode at a position of the stack. Breaks the graph for one of the caller."""
    given, modes = index.as_python_constant(), tx.changes.overrides.modes
    position = given - _depth_of_caller(tx) if type(given) is int else -1
    if not 0 <= position < len(modes):
        raise GraphBreak(CONTEXT_MANAGER, "a torch-function mode that was entered before")
    block = modes[position].block
    assert isinstance(block, OpenBlock)
    return block.owner


@ROWS.call(torch._C._is_torch_function_mode_enabled)
def is_torch_function_mode_enabled(tx: TraceContext) -> Tracker:
    """Whether there is a mode that would be asked at this point; those of the caller by the guard on torch's global state."""
    overrides = tx.changes.overrides
    return Constant(not overrides.asks_none() and (bool(overrides.modes) or _depth_of_caller(tx) > 0))


_ASK_NO_MODE: Final = (
    _PUSH,
    _POP,
    torch._C._len_torch_function_stack,
    torch._C._get_function_stack_at,
    torch._C._is_torch_function_mode_enabled,
    torch._C._is_torch_function_enabled,
    torch._C._is_torch_function_all_disabled,
    torch._C._has_torch_function,
    torch._C._has_torch_function_unary,
    torch._C._has_torch_function_variadic,
    torch._C.DisableTorchFunction,
    torch._C.DisableTorchFunctionSubclass,
    torch._C._disabled_torch_function_impl,
    DEFAULT,
    *QUESTIONS,
    # `torch.vmap`: what wraps and unwraps tensors is C code that asks nothing
    apis._wraps_without_dynamo_attrs,
    lazy_load_decompositions,
    vmap._flat_vmap,
)
"""Functions of torch that ask no mode, or whose rows do."""


def break_unless_unasked(tx: TraceContext, key: object) -> None:
    """Break the graph for functions of torch of which it is not known whether they ask the mode."""
    is_getter = isinstance(key, MethodWrapperType) and isinstance(key.__self__, GetSetDescriptorType)
    if is_getter or any(key is one for one in _ASK_NO_MODE):
        return
    owner = key.__self__ if isinstance(key, BuiltinFunctionType) else key
    places = (getattr(one, "__module__", None) for one in (key, owner, type(owner)))
    names = [*places, getattr(owner, "__name__", None)]
    if any(isinstance(name, str) and name.partition(".")[0] == torch.__name__ for name in names):
        check_no_mode(tx, f"{callable_name(key)}()")
