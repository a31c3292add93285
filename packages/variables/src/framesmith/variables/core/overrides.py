"""Which operands override torch functions by `__torch_function__`, and whether torch would ask them, or a mode, now.

Here: the state of a trace and the question. How the method of an operand is called is in `subclasses.dispatch`, which rows
reach through the tables below, since it knows more trackers than they do.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from types import FunctionType
from typing import Final

import torch
from torch.nested._internal.nested_tensor import NestedTensor

from framesmith.graph import GraphBreak
from framesmith.graph.breaks.break_kinds import UNSUPPORTED_SUBCLASS
from framesmith.guards.class_lookup import MISSING, static_lookup
from framesmith.guards.words import a_type
from framesmith.variables.core.base import PendingCall, TraceContext, Tracker, run_pending
from framesmith.variables.core.constant import Constant
from framesmith.variables.core.registry import Table

NAME: Final = "__torch_function__"
DEFAULT: Final[object] = vars(torch.Tensor)[NAME].__func__
"""The function of `torch.Tensor.__torch_function__`, a class method."""
_DISABLED: Final[object] = torch._C._disabled_torch_function_impl
_PLAIN: Final = frozenset(
    map(id, (torch.Tensor, torch.nn.Parameter, int, float, bool, str, type(None), torch.dtype, torch.device))
)
"""The usual types of operands, which override nothing, by identity: a look-up of the class could ask its metaclass."""
_METHODS: Final = (classmethod, staticmethod, FunctionType)

BeginOverride = Callable[
    [TraceContext, Callable[..., object], Sequence[Tracker], Mapping[str, Tracker]], "Tracker | PendingCall"
]
BEGIN_OVERRIDE: Final = Table[None, BeginOverride]("calls of __torch_function__")
"""Calls `__torch_function__` of the innermost mode and of the operands of a function written in C. There is a mode, or at least
one operand overrides it."""


def defines_override(cls: type) -> bool:
    """Whether torch would ask instances of the class: it has a `__torch_function__` that is not the disabled one."""
    if cls is torch.Tensor or cls is NestedTensor:
        return False
    stored = static_lookup(cls, NAME)
    return stored is not MISSING and stored is not _DISABLED


def is_asked(cls: type) -> bool:
    """`defines_override`. Breaks the graph for a `__torch_function__` that torch's look-ups run code for, each time anew."""
    if not defines_override(cls):
        return False
    if type(static_lookup(cls, NAME)) not in _METHODS:
        raise GraphBreak(UNSUPPORTED_SUBCLASS, f"{a_type(cls)} with a __torch_function__ that is no method")
    return True


def overriding_operands(args: Sequence[Tracker], kwargs: Mapping[str, Tracker]) -> Iterator[Tracker]:
    """The operands that define an override, also those in lists and tuples, in the order in which they are passed."""
    for argument in (*args, *kwargs.values()):
        operand = argument.realize()
        if id(operand.python_type) in _PLAIN:
            continue
        # torch looks into a list or tuple of tensors (`torch.cat`), one level deep
        if issubclass(operand.python_type, list | tuple):
            members = [member.realize() for member in operand.known_children()]
        else:
            members = [operand]
        yield from (member for member in members if is_asked(member.python_type))


def is_overridden(tx: TraceContext, args: Sequence[Tracker], kwargs: Mapping[str, Tracker]) -> bool:
    """Whether torch would call `__torch_function__` of a mode, or of an operand of this call, now."""
    if tx.changes.overrides.asks_modes():
        return True
    if not tx.changes.overrides.asks_subclasses():
        return False
    return next(overriding_operands(args, kwargs), None) is not None


def ask_operands(tx: TraceContext, function: Callable[..., object], *operands: Tracker) -> Tracker:
    """The result of `__torch_function__` of the mode or the operands; NotImplemented where `function` is the method of an
    operator that returns it once all decline."""
    return run_pending(tx, tx.registry.get_single(BEGIN_OVERRIDE)(tx, function, operands, {})).realize()


def unless_declined(result: Tracker | None) -> Tracker | None:
    """What the slot of an operator returns: None for NotImplemented."""
    return None if isinstance(result, Constant) and result.value is NotImplemented else result
