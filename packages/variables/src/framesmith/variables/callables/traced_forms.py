"""Python functions, ours or of a library, that are traced in place of a C function or of an operator."""

from types import FunctionType

from framesmith.guards.sources import Pinned
from framesmith.variables.callables.functions import FunctionTracker


def traced_form(form: object) -> FunctionTracker:
    """The tracker of such a function, one for all traces."""
    assert isinstance(form, FunctionType), form
    return FunctionTracker(form, Pinned(form, form.__name__))
