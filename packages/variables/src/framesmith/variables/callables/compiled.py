"""Compiled functions, ours and those of `torch.compile`, as values of a trace: a call of one is a call of its original.

Both keep it under the name that torch's own tools look for. `functools.wraps` copies a function's attributes to the
wrapper, so the mark counts only on the function that it was made for.
"""

from types import FunctionType
from typing import Final

ORIGINAL: Final = "_torchdynamo_orig_callable"
_OWNER: Final = "_torchdynamo_wrapper_id"
_INLINE: Final = "_torchdynamo_inline"
_STRICT: Final = "__framesmith_fullgraph__"
_DISABLED: Final = "_torchdynamo_disable"


def mark_compiled(compiled: FunctionType, original: FunctionType, *, strict: bool) -> None:
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
