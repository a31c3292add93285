"""Frames of ours that are on the stack while the user's functions run: code that counts frames passes over them.

`warnings.warn(stacklevel=...)` and `logging` pass over frames of the import system, which they know by a file name that
holds `importlib` and `_bootstrap` (`is_internal_filename` in Python/_warnings.c, `_is_internal_frame` in Lib/logging).
Functions of ours that a call goes through on its way to the user's own code have such a file name (ADR 0016).
"""

from collections.abc import Callable
from types import CodeType
from typing import Final, ParamSpec, TypeVar

_PREFIX: Final = "<framesmith importlib._bootstrap"
HIDDEN: Final = f"{_PREFIX}>"
HIDDEN_NAME: Final = "dispatch"
"""The file and the name of generated code that a debugger shows between the user's functions."""

Arguments = ParamSpec("Arguments")
Result = TypeVar("Result")


def hidden(function: Callable[Arguments, Result]) -> Callable[Arguments, Result]:
    """Decorator: frames of this function are passed over."""
    code: CodeType = function.__code__
    place = f"{_PREFIX} {code.co_qualname}>"
    function.__code__ = code.replace(co_filename=place)
    return function


def is_hidden(code: CodeType) -> bool:
    """Whether frames of this code are passed over."""
    return code.co_filename.startswith(_PREFIX)
