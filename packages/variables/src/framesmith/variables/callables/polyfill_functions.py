"""Python functions, ours or of a library, that are traced in place of a C function or an operator (polyfills)."""

import os
from types import CodeType, FunctionType
from typing import Final

from framesmith.guards.sources import Pinned
from framesmith.variables.callables.functions import FunctionTracker

_POLYFILLS: Final = os.path.join(os.path.dirname(os.path.dirname(__file__)), "polyfills", "")


def is_polyfill_code(code: CodeType) -> bool:
    """Whether code, or a continuation of it, is that of a polyfill:
    a C function has no frame, so tracebacks must not show it."""
    return code.co_filename.startswith(_POLYFILLS)


def polyfill_function(function: object) -> FunctionTracker:
    """The tracker of a polyfill, pinned, so that it can serve all traces."""
    assert isinstance(function, FunctionType), function
    return FunctionTracker(function, Pinned(function, function.__name__))
