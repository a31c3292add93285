"""Operations of torch in whose place the program has put something else, while it calls the former ones.

    original = torch.Tensor.sin
    torch.Tensor.sin = lambda x: original(x) * 2

What a graph looks up when it runs is guarded, and breaks it while another thing is there. Functions in C are pinned by the
graph itself (`graph.pinned_names`).
"""

import functools
from collections.abc import Callable
from types import BuiltinFunctionType, FunctionType
from typing import Final

import torch

from framesmith.graph import GraphBreak
from framesmith.graph.breaks.break_kinds import UNSUPPORTED_VALUE
from framesmith.guards.class_lookup import MISSING, qualified_name
from framesmith.guards.kinds import ClassAttribute
from framesmith.guards.sources import Pinned
from framesmith.variables.core import TraceContext
from framesmith.variables.core.structure import guard_structure

_BASE: Final = vars(torch._C.TensorBase)
_METHODS: Final = {**_BASE, **vars(torch.Tensor)}
_TENSOR: Final = Pinned(torch.Tensor, qualified_name(torch.Tensor))
_OPERATORS: Final = "_operator"


def check_replaced(tx: TraceContext, target: Callable[..., object] | str) -> None:
    """Guard the methods of tensors that the graph would look up for an operation. Breaks the graph if one is replaced, or a function
    of torch in Python, which names itself to modes, also to those of a backend."""
    # the program may have called a method by another name, of which the class was not asked
    if isinstance(target, str):
        is_there = _is_there(target)
        claim = _claim_of(target) if is_there else ClassAttribute.capture(torch.Tensor, target)
        tx.guard(_TENSOR, claim, "the graph looks it up")
        if not is_there:
            _refuse(f"torch.Tensor.{target}")
        return
    if type(target) is BuiltinFunctionType and target.__module__ == _OPERATORS:
        guard_structure(tx, torch.Tensor)
        for name in _methods_of(target.__name__):
            if not _is_there(name):
                _refuse(f"torch.Tensor.{name}")
    if type(target) is FunctionType and target.__globals__.get(target.__name__, target) is not target:
        _refuse(target.__name__)


def refuse_replaced(method: str) -> None:
    """Break the graph if a method of tensors is replaced, which a fake would look up."""
    if not _is_there(method):
        _refuse(f"torch.Tensor.{method}")


def _refuse(name: str) -> None:
    raise GraphBreak(UNSUPPORTED_VALUE, f"{name} while the program has something else in its place")


def _is_there(method: str) -> bool:
    # what is put back may be found in the class where it was found in its base before
    return vars(torch.Tensor).get(method, _BASE.get(method)) is _METHODS.get(method)


@functools.cache
def _methods_of(operator: str) -> tuple[str, ...]:
    """The methods of tensors that a function of the operator module looks up."""
    name = operator.strip("_")
    return tuple([one for one in (f"__{name}__", f"__r{name}__") if one in _METHODS])


@functools.cache
def _claim_of(name: str) -> ClassAttribute:
    """That a method is the one that it was at first: one claim, since each operation asks for it."""
    return ClassAttribute(name, _METHODS.get(name, MISSING))
