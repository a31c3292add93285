"""`torch.Tensor.__torch_function__`, the default that a subclass inherits or calls through `super()`.

It makes the call with no subclass asked, and gives tensors of the class in place of plain ones. It is Python code that could be
inlined; a row saves some fifty operations for each call that a program makes on a tensor of a subclass.
"""

from types import MethodWrapperType
from typing import Final

import torch
from torch.overrides import get_default_nowrap_functions

from framesmith.graph import GraphBreak
from framesmith.graph.breaks.break_kinds import UNSUPPORTED_SUBCLASS
from framesmith.variables.builtin_types.dicts import DictTracker
from framesmith.variables.builtin_types.lists import ListTracker
from framesmith.variables.builtin_types.tuples import TupleTracker
from framesmith.variables.core import Constant, TraceContext, Tracker
from framesmith.variables.core.base import run_pending
from framesmith.variables.core.overrides import DEFAULT
from framesmith.variables.core.rows import Rows
from framesmith.variables.objects.classes import ClassTracker
from framesmith.variables.polyfills.declined_calls import has_own_check
from framesmith.variables.subclasses.subclass_tensors import SubclassTensor, convert_tensor, is_convertible
from framesmith.variables.tensors.tensors import TensorTracker

ROWS: Final = Rows()

_NOTHING: Final = TupleTracker([])


@ROWS.call(DEFAULT)
def default_override(
    tx: TraceContext,
    cls: Tracker,
    func: Tracker,
    types: Tracker,
    args: Tracker = _NOTHING,
    kwargs: Tracker | None = None,
) -> Tracker:
    """`Tensor.__torch_function__(func, types, args, kwargs)`."""
    if not isinstance(cls, ClassTracker) or not isinstance(types, TupleTracker | ListTracker):
        raise GraphBreak(UNSUPPORTED_SUBCLASS, "Tensor.__torch_function__ with arguments of other types")
    for kind in types.items:
        asked = kind.realize()
        if not isinstance(asked, ClassTracker):
            raise GraphBreak(
                UNSUPPORTED_SUBCLASS, f"Tensor.__torch_function__ with {asked.describe()} as a type"
            )
        # The original asks it in each call; nothing here may run it.
        if has_own_check(asked.value):
            raise GraphBreak(
                UNSUPPORTED_SUBCLASS, f"{asked.describe()}, which has a __subclasscheck__ of its own"
            )
        if not issubclass(cls.value, asked.value):
            # As the original: an operand of an unrelated class is left to the override of that class.
            return Constant(NotImplemented)
    # torch passes None, or nothing, where a call has no keywords.
    keywords = None if kwargs is None or _is_none(kwargs) else kwargs
    result = _call_unasked(tx, cls, func, args, keywords)
    return result if _keeps_plain(func) else _convert(tx, result, cls.value)


@ROWS.call(torch._C._disabled_torch_function_impl)
def disabled_override(
    tx: TraceContext,
    func: Tracker,
    types: Tracker,
    args: Tracker = _NOTHING,
    kwargs: Tracker | None = None,
    /,
) -> Tracker:
    """The `__torch_function__` of parameters, which classes derived from `Parameter` call through `super()`: the call with no
    subclass asked. The results stay as they are."""
    return _call_unasked(tx, func, func, args, kwargs)


def _call_unasked(
    tx: TraceContext, owner: Tracker, func: Tracker, args: Tracker, kwargs: Tracker | None
) -> Tracker:
    """`func(*args, **kwargs)` within `torch._C.DisableTorchFunctionSubclass()`, as C code enters it for `owner`."""
    if not isinstance(args, TupleTracker | ListTracker) or not isinstance(kwargs, DictTracker | None):
        raise GraphBreak(UNSUPPORTED_SUBCLASS, "__torch_function__ of torch with arguments of other types")
    named = {} if kwargs is None else {str(_text(key)): value for key, value in kwargs.items(tx)}
    tx.changes.overrides.enter(owner)
    try:
        return run_pending(tx, func.realize().begin_call(tx, list(args.items), named)).realize()
    finally:
        tx.changes.overrides.leave()


def _is_none(tracker: Tracker) -> bool:
    return isinstance(tracker, Constant) and tracker.value is None


def _text(tracker: Tracker) -> object:
    return tracker.as_python_constant()


def _keeps_plain(func: Tracker) -> bool:
    """Whether the results of this function are not converted: getters of `grad` and `_base`."""
    value = getattr(func.realize(), "value", None)
    return isinstance(value, MethodWrapperType) and value in get_default_nowrap_functions()


def _convert(tx: TraceContext, result: Tracker, cls: type) -> Tracker:
    """As `torch._tensor._convert`."""
    if cls is torch.Tensor:
        return result
    # A result that is of the class already, such as an operand given back, stays the object that it is.
    if isinstance(result, TensorTracker | SubclassTensor) and not issubclass(result.python_type, cls):
        if not is_convertible(cls):
            raise GraphBreak(UNSUPPORTED_SUBCLASS, f"a result of the class {cls.__name__}")
        inner = result.inner if isinstance(result, SubclassTensor) else result
        return convert_tensor(tx, inner, cls)
    if isinstance(result, TupleTracker):
        return TupleTracker([_convert(tx, item.realize(), cls) for item in result.items], None, result.cls)
    if isinstance(result, ListTracker):
        return ListTracker([_convert(tx, item.realize(), cls) for item in result.items])
    return result
