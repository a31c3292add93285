"""Objects whose `__torch_function__` their class does not have: torch finds it in the instance, and by `__getattr__`."""

from typing import Final

import torch

from framesmith.graph import GraphBreak
from framesmith.graph.breaks.break_kinds import UNSUPPORTED_SUBCLASS
from framesmith.guards.class_lookup import overrides
from framesmith.variables.core import TraceContext, Tracker
from framesmith.variables.core.overrides import NAME, defines_override
from framesmith.variables.objects.instances import InstanceTracker
from framesmith.variables.objects.lookup import find

_OF_MODULES: Final[object] = vars(torch.nn.Module)["__getattr__"]
"""Finds parameters, buffers and modules only."""


def check_no_override(tx: TraceContext, operand: Tracker) -> None:
    """Break the graph where torch would find such a `__torch_function__`, or run code of the user that looks for it."""
    if not isinstance(operand, InstanceTracker) or issubclass(operand.cls, torch.Tensor):
        return
    # Then torch finds the one of the class first, or asks nothing at all.
    if defines_override(operand.cls) or not tx.changes.overrides.asks_subclasses():
        return
    getter = find(tx, operand.cls, "__getattr__")
    runs_code = getter is not None and (getter.stored is not None or getter.value is not _OF_MODULES)
    if (
        runs_code
        or overrides(operand.cls, object, "__getattribute__")
        or operand.own.load(tx, operand, NAME) is not None
    ):
        raise GraphBreak(UNSUPPORTED_SUBCLASS, f"{operand.describe()}, which may have a {NAME} of its own")
