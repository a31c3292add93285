"""The form of a function that is never traced, which `disable` makes, and who has one."""

import functools
from collections.abc import Callable
from types import FunctionType, MethodType
from typing import Any, Final, cast

import torch

from framesmith.guards.class_lookup import static_lookup
from framesmith.variables.callables.compiled import call_owner
from framesmith.variables.callables.functions import DISABLED_MARK


def make_native(fn: Callable[..., object], reason: str | None) -> FunctionType:
    """A function that calls `fn` natively; the trace breaks before it, for this reason."""

    @functools.wraps(fn)
    def native(*args: Any, **kwargs: Any) -> Any:
        return fn(*args, **kwargs)

    native.__dict__[DISABLED_MARK] = reason or True
    return cast(FunctionType, native)


_NATIVE: Final = make_native(call_owner, None).__code__


def is_disabled(value: object) -> bool:
    """Whether `disable` made this function, or the form of a module that is stored in place.

    By the code that all of them have: `functools.wraps` copies the mark.
    """
    if isinstance(value, MethodType):
        value = value.__func__
    return isinstance(value, FunctionType) and value.__code__ is _NATIVE


def calls_compiled_form(cls: type[torch.nn.Module]) -> bool:
    """Whether a call of a module of this class runs the form of it that is stored in place."""
    is_script = issubclass(cls, torch.jit.ScriptModule)
    return not is_script and static_lookup(cls, "__call__") is static_lookup(torch.nn.Module, "__call__")
