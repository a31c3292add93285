"""The functions that read the frame of their caller: by object, where they are called, and by name, in code.

A frame whose code may read its own variables keeps all of them, not only those that are live. A call of such a function
has to run in a real frame (ADR 0016).
"""

import inspect
import sys
from types import BuiltinFunctionType, CodeType, FunctionType
from typing import Final

from framesmith.guards.class_lookup import is_one_of, resolution_order
from framesmith.variables.callables.functions import FunctionTracker
from framesmith.variables.core import Lazy, Tracker

READERS_OF_VARIABLES: Final = (
    locals,
    vars,
    breakpoint,
    dir,
    eval,
    exec,
    sys._getframe,
    inspect.currentframe,
    inspect.stack,
)
FRAME_READERS: Final = frozenset({*READERS_OF_VARIABLES, globals, inspect.trace})
"""Those that read variables, and those that read globals or the frames that an exception came through."""

_CALLERS: Final = frozenset(
    {"_getframe", "_getframemodulename", "_caller", "currentframe"}
)  # `typing._caller`
_STACK: Final = frozenset({"inspect", "stack"})  # other modules have a `stack` too: `torch.stack`
_NAMES: Final = frozenset({*(function.__name__ for function in READERS_OF_VARIABLES), "set_trace"})  # pdb's


def reads_frame(value: Tracker) -> bool:
    """Whether a value is a function that reads the frame which calls it: that frame has to be the user's."""
    if isinstance(value, Lazy):
        found = value.peek
    elif isinstance(value, FunctionTracker):
        found = value.value
    else:
        found = value.as_python_constant() if value.is_python_constant() else None
    # the type first: `isinstance` would ask the object for its `__class__`, and looking it up runs its `__hash__`
    if issubclass(type(found), type):
        # without arguments, a class that is derived from `super` finds its own in the frame
        return found is not super and is_one_of(super, resolution_order(found) or ())
    return issubclass(type(found), BuiltinFunctionType | FunctionType) and found in FRAME_READERS


def may_read_own_variables(code: CodeType) -> bool:
    """Whether code names a function that would read the variables of its frame."""
    return not _NAMES.isdisjoint(code.co_names)


def may_read_callers(code: CodeType) -> bool:
    """Whether code names a function that looks at the frames which called it."""
    return not _CALLERS.isdisjoint(code.co_names) or _STACK.issubset(code.co_names)
