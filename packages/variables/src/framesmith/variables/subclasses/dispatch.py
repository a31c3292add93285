"""A call that asks `__torch_function__` of operands or a mode: which are asked, with what, and the calls that ask none.

Source of the rules: torch's notes on extending ("Extending torch Python API"), and `torch.overrides.handle_torch_function`.
What torch passes is in `subclasses.probing`.
"""

import functools
from collections.abc import Callable, Mapping, Sequence
from types import (
    BuiltinFunctionType,
    FunctionType,
    MethodDescriptorType,
    MethodWrapperType,
    WrapperDescriptorType,
)
from typing import Final

import torch
import torch.functional
import torch.nn.functional
from torch._tensor import Tensor

from framesmith.graph import GraphBreak
from framesmith.graph.breaks.break_kinds import UNSUPPORTED_SUBCLASS
from framesmith.graph.inputs.inputs import layout_of
from framesmith.guards.class_lookup import MISSING, static_lookup
from framesmith.guards.sources import Pinned
from framesmith.variables.builtin_types.dicts import make_dict_tracker
from framesmith.variables.builtin_types.lists import ListTracker
from framesmith.variables.builtin_types.tuples import TupleTracker
from framesmith.variables.callables.functions import FunctionTracker
from framesmith.variables.callables.polyfill_functions import polyfill_function
from framesmith.variables.core import Constant, PendingCall, TraceContext, Tracker
from framesmith.variables.core.builtin_methods import Builtin
from framesmith.variables.core.overrides import (
    BEGIN_OVERRIDE,
    DEFAULT,
    NAME,
    is_overridden,
    overriding_operands,
)
from framesmith.variables.core.rows import Rows
from framesmith.variables.core.table import ON_SUBCLASSES, Row
from framesmith.variables.objects.lookup import class_source
from framesmith.variables.operations.binary import METHODS
from framesmith.variables.operations.compare import METHODS as COMPARE_METHODS
from framesmith.variables.polyfills import torch_overrides
from framesmith.variables.polyfills.declined_calls import returns_not_implemented
from framesmith.variables.subclasses.mode_stack import break_unless_unasked
from framesmith.variables.subclasses.probing import ask_torch
from framesmith.variables.subclasses.subclass_tensors import SubclassTensor, is_of_torch
from framesmith.variables.tensors.tensors import TensorTracker
from framesmith.variables.torch_contexts.device_blocks import call_on_device
from framesmith.variables.torch_functions.function_rows import builtin_functions

ROWS: Final = Rows()

_ASK: Final = polyfill_function(torch_overrides.ask_in_turn)
_ASK_MODE: Final = polyfill_function(torch_overrides.ask_mode)
_PYTHON_MODULES: Final = tuple(
    vars(module) for module in (torch.functional, torch.nn.functional, torch._tensor)
)
_OPERATORS: Final = frozenset(
    static_lookup(torch.Tensor, name)
    for name in (
        *COMPARE_METHODS.values(),
        *(f"__{prefix}{name}__" for prefix in ("", "r", "i") for name in METHODS.values()),
    )
) - {MISSING}
"""The methods of operators on two tensors; there is no `__imatmul__`."""
_UNASKED: Final = (torch.Tensor.as_subclass, torch.Tensor._make_subclass)
"""Methods in C that ask no subclass, with rows that know them."""


@functools.cache
def _is_native(key: object) -> bool:
    """Whether this is C code of torch that takes tensors, so that it asks the subclasses of its operands."""
    if any(key is one for one in _UNASKED):
        return False
    if isinstance(key, MethodDescriptorType | WrapperDescriptorType):
        return key.__objclass__ is torch._C.TensorBase
    if key is torch._C._set_grad_enabled:  # modes see it
        return True
    return isinstance(key, BuiltinFunctionType) and key in builtin_functions()


def _is_python(key: object) -> bool:
    """Whether this is Python code of torch that looks for overrides itself."""
    return (
        isinstance(key, FunctionType)
        and key is not DEFAULT
        and (
            any(key.__globals__ is namespace for namespace in _PYTHON_MODULES)
            # The pairs that `boolean_dispatch` makes have the globals of another module.
            or str(key.__module__) == torch.nn.functional.__name__
        )
    )


def _holds_subclass(operand: Tracker) -> bool:
    if isinstance(operand, SubclassTensor):
        return True
    is_list = isinstance(operand, TupleTracker | ListTracker)
    return is_list and any(isinstance(item.realize(), SubclassTensor) for item in operand.known_children())


@ROWS.entry(ON_SUBCLASSES, None)
def call_row(
    tx: TraceContext, row: Row, args: list[Tracker], kwargs: dict[str, Tracker]
) -> Tracker | PendingCall | None:
    """The call of a row where an operand is a tensor of a subclass, or a mode is asked; None where neither is so, or the row is
    not of torch."""
    key = row.key
    made = call_on_device(tx, row, args, kwargs)
    if made is not None:
        return made
    if not _is_python(key) and not _is_native(key):
        if tx.changes.overrides.asks_modes():
            break_unless_unasked(tx, key)
        return None
    if is_overridden(tx, args, kwargs):
        # Python code of torch is traced: it asks by itself, and passes on what it likes.
        if isinstance(key, FunctionType):
            return FunctionTracker(key, Pinned(key, key.__qualname__)).bind(tx, args, kwargs)
        assert callable(key)
        return begin_override(tx, key, args, kwargs)
    if not any(map(_holds_subclass, (*args, *kwargs.values()))):
        return None
    return call_unasked(tx, row, args, kwargs)


def call_unasked(
    tx: TraceContext, row: Row, args: Sequence[Tracker], kwargs: Mapping[str, Tracker]
) -> Tracker | PendingCall:
    """The call as C code makes it once no subclass is asked: on the tensors. What is one of the operands stays that."""
    operands = (*args, *kwargs.values())
    _check_methods(row, operands)
    # In place, and by methods such as `contiguous`, an operand may be given back: then the program's own tensor is.
    owners = {id(one.inner): one for one in operands if isinstance(one, SubclassTensor)}
    plain = [one.inner if isinstance(one, SubclassTensor) else one for one in args]
    keywords = {name: one.inner if isinstance(one, SubclassTensor) else one for name, one in kwargs.items()}
    inputs = [one for one in plain if isinstance(one, TensorTracker) and one.value is not None]
    before, marker = [layout_of(one.fake) for one in inputs], tx.graph.marker()
    version = tx.changes.version
    begun = row.function(tx, *plain, **keywords)
    if any(layout_of(one.fake) != was for one, was in zip(inputs, before, strict=True)):
        # a backend gets another tensor over the same memory, which would change in place of this one
        tx.graph.rollback(marker)
        raise GraphBreak(UNSUPPORTED_SUBCLASS, f"{row.key} changes the sizes of a tensor of a subclass")
    # A polyfill or inlined function: a frame that would see plain tensors in place of those of the program.
    if not isinstance(begun, Tracker):
        if (
            isinstance(row.key, FunctionType) and tx.changes.version == version
        ):  # it runs once more, on the tensors
            tx.graph.rollback(marker)
            return FunctionTracker(row.key, Pinned(row.key, row.key.__qualname__)).bind(tx, args, kwargs)
        raise GraphBreak(UNSUPPORTED_SUBCLASS, f"{row.key} with a tensor of a subclass")
    return _with_owners(begun, owners)


def _check_methods(row: Row, operands: Sequence[Tracker]) -> None:
    """Break the graph for a method of torch on a wrapper whose class has its own, as by `super().sin()`: the wrapper is in the graph
    as it is, so that `x.sin()` there would call the method of the class once more."""
    name = str(getattr(row.key, "__name__", ""))
    if static_lookup(torch.Tensor, name) is not row.key:
        return
    for one in operands:
        if isinstance(one, SubclassTensor) and one.parts and not is_of_torch(one.cls, name):
            raise GraphBreak(
                UNSUPPORTED_SUBCLASS, f"Tensor.{name}() on {one.describe()}, whose class has its own"
            )


def _with_owners(result: Tracker, owners: Mapping[int, Tracker]) -> Tracker:
    if id(result) in owners:
        return owners[id(result)]
    if isinstance(result, TupleTracker) and any(id(item) in owners for item in result.items):
        return TupleTracker([_with_owners(item, owners) for item in result.items], None, result.cls)
    return result


@ROWS.entry(BEGIN_OVERRIDE, None)
def begin_override(
    tx: TraceContext,
    function: Callable[..., object],
    args: Sequence[Tracker],
    kwargs: Mapping[str, Tracker],
) -> Tracker | PendingCall:
    """Call `__torch_function__` of the mode and the operands as C code of torch does, in a frame of its own."""
    # Before the methods are bound: it says which classes count, and in which order.
    question = ask_torch(tx, function, args, kwargs)
    methods = [_method_of(tx, cls, args, kwargs) for cls in question.types if cls is not Tensor]
    has_mode = tx.changes.overrides.asks_modes()
    if has_mode:
        methods.insert(0, _ASK_MODE)
    types = TupleTracker([tx.wrap(cls, class_source(cls)) for cls in question.types])
    keywords = [make_dict_tracker([(Constant(name), value) for name, value in kwargs.items()])]
    is_undecided = _is_undecided(tx, function)
    asked = (
        TupleTracker(methods),
        _function_tracker(tx, question.function),
        types,
        TupleTracker([args[index] for index in question.order]),
        TupleTracker(keywords if question.has_keywords else []),
        TupleTracker([tx.wrap(TypeError, class_source(TypeError))] if is_undecided else []),
        _function_tracker(tx, function),
        TupleTracker([*args, *kwargs.values()]),
        TupleTracker([Constant(name) for name in kwargs]),
        Constant(has_mode),
    )
    return _ASK.bind(tx, asked, {})


def _is_undecided(tx: TraceContext, function: Callable[..., object]) -> bool:
    """Whether torch leaves the decision to CPython, by NotImplemented, where all operands decline."""
    if function not in _OPERATORS:
        return False
    # The probes are real tensors, on the device "meta".
    with tx.graph.pause_recording():
        return returns_not_implemented(function)


def _method_of(
    tx: TraceContext, cls: type, args: Sequence[Tracker], kwargs: Mapping[str, Tracker]
) -> Tracker:
    """The bound method of the first operand of this class."""
    operand = next(one for one in overriding_operands(args, kwargs) if one.python_type is cls)
    # Read from the operand, as torch does, so that a class method is bound to its class.
    return operand.attribute(tx, NAME)


def _function_tracker(tx: TraceContext, function: object) -> Tracker:
    if isinstance(function, MethodWrapperType):  # a getter: each reading of it makes a new, equal one
        return Builtin(function)
    return tx.wrap(function, Pinned(function, getattr(function, "__name__", "function")))
