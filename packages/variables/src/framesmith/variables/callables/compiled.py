"""Compiled functions, ours and those of `torch.compile`, as values of a trace: a call of one is a call of its original.

Both keep it under the name that torch's own tools look for. `functools.wraps` copies a function's attributes to the
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
_STRICT: Final = "__framesmith_fullgraph__"
_DISABLED: Final = "_torchdynamo_disable"


def mark_compiled(compiled: FunctionType, original: Callable[..., object], *, strict: bool) -> None:
    """Say whose compiled form a function is; other compilers then take the original as well. `strict`: a graph break in
    it is an error, also where another compiled function calls it."""
    held = compiled.__dict__
    held[ORIGINAL] = held[_INLINE] = original
    held[_OWNER] = id(compiled)
    held[_STRICT] = strict


def is_compiled(function: FunctionType) -> bool:
    """Whether a function is the compiled form of another one."""
    held = function.__dict__
    return held.get(_OWNER) == id(function) and ORIGINAL in held and not held.get(_DISABLED)


def is_compiled_strictly(function: FunctionType) -> bool:
    """Whether a function was compiled with `fullgraph=True`, by us."""
    return is_compiled(function) and bool(function.__dict__.get(_STRICT))


def original_of(function: FunctionType) -> FunctionType:
    """What was compiled, through all layers; a method or an object that was compiled is none of our business."""
    while is_compiled(function) and isinstance(function.__dict__[ORIGINAL], FunctionType):
        function = function.__dict__[ORIGINAL]
    return function


def call_owner(owner: "ReferenceType[torch.nn.Module]", *args: object, **kwargs: object) -> object:
    """The original of a module's compiled call, which gets a weak reference to its module."""
    module = owner()
    assert module is not None, "a call of the module is running, which holds it"
    call: Callable[..., object] = module._call_impl
    return call(*args, **kwargs)


def is_compiled_in_place(value: object) -> bool:
    """Whether this is what `compile(module)` put in place of the module's call."""
    if type(value) is not MethodType or type(value.__func__) is not FunctionType:
        return False
    return is_compiled(value.__func__) and value.__func__.__dict__[ORIGINAL] is call_owner
