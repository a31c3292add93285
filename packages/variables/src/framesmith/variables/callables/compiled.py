"""Compiled functions, ours and those of `torch.compile`, as values of a trace: a call of one is a call of its original.

Both keep it as the attribute that torch's own tools read. `functools.wraps` copies a function's attributes to the
wrapper, so the mark counts only on the function that it was made for.
"""

from collections.abc import Callable
from types import FunctionType, MethodType
from typing import Final
from weakref import ReferenceType

import torch

ORIGINAL: Final = "_torchdynamo_orig_callable"
_OWNER: Final = "_torchdynamo_wrapper_id"
_INLINE: Final = "_torchdynamo_inline"
STRICT: Final = "__framesmith_fullgraph__"
_DISABLED: Final = "_torchdynamo_disable"


def mark_compiled(compiled: FunctionType, original: Callable[..., object], *, strict: bool) -> None:
    """Mark a function as the compiled form of `original`, so that other compilers use the original too. `strict`: a
    graph break in it is an error, also where another compiled function calls it."""
    held = compiled.__dict__
    held[ORIGINAL] = held[_INLINE] = original
    held[_OWNER] = id(compiled)
    held[STRICT] = strict


def is_compiled(function: FunctionType) -> bool:
    """Whether a function is the compiled form of another function."""
    held = function.__dict__
    return held.get(_OWNER) == id(function) and ORIGINAL in held and not held.get(_DISABLED)


def is_compiled_strictly(function: FunctionType) -> bool:
    """Whether a function was compiled by framesmith with `fullgraph=True`."""
    return is_compiled(function) and bool(function.__dict__.get(STRICT))


def original_of(function: FunctionType) -> FunctionType:
    """The function that was compiled, through all layers; of a compiled method or object the outer function."""
    while is_compiled(function) and isinstance(function.__dict__[ORIGINAL], FunctionType):
        function = function.__dict__[ORIGINAL]
    return function


def call_owner(owner: "ReferenceType[torch.nn.Module]", *args: object, **kwargs: object) -> object:
    """Call the original `_call_impl` of a module; it has a weak
    reference, so that it does not keep the module alive (ADR 0014)."""
    module = owner()
    assert module is not None, "a call of the module is running, which holds it"
    call: Callable[..., object] = module._call_impl
    return call(*args, **kwargs)


def is_compiled_in_place(value: object) -> bool:
    """Whether this is the bound method by which `compile(module)` replaces the module's call (ADR 0013)."""
    if type(value) is not MethodType or type(value.__func__) is not FunctionType:
        return False
    return is_compiled(value.__func__) and value.__func__.__dict__[ORIGINAL] is call_owner
