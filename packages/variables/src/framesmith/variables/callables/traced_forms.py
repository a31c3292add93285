"""Python functions, ours or of a library, that are traced in place of a C function or of an operator."""

import os
from types import CodeType, FunctionType
from typing import Final

from framesmith.guards.sources import Pinned
from framesmith.variables.callables.functions import FunctionTracker

_POLYFILLS: Final = os.path.join(os.path.dirname(os.path.dirname(__file__)), "polyfills", "")


def is_form(code: CodeType) -> bool:
    """Whether code, or a continuation of it, stands for a C function, which has no frame: no traceback names it."""
    return code.co_filename.startswith(_POLYFILLS)


def traced_form(form: object) -> FunctionTracker:
    """The tracker of such a function, one for all traces."""
    assert isinstance(form, FunctionType), form
    return FunctionTracker(form, Pinned(form, form.__name__))
