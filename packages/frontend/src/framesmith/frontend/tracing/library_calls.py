"""Calls of functions of libraries that run natively as a whole, where a break inside leaves nothing to capture.

    copy.deepcopy(config)        a break in a frame of copy.py  ->  the call runs natively, with one continuation

A function of the library that breaks once mostly breaks again (locks, identities, tables), and each break costs an entry
that is compiled. They are functions of the standard library, and those of torch that manage objects or packed sequences. Inlined frames
stay as they are where code of the program was called back, where operations were recorded since the call (but in the recurrent
modules), and in modules whose functions wrap those of the program.
"""

import functools
import os
import re
from types import CodeType
from typing import Final

from framesmith.bytecode.meaning import Kind
from framesmith.frontend.tracing.machine import Frame, Machine
from framesmith.frontend.user_lines import TORCH, is_standard_file
from framesmith.variables.callables.polyfill_functions import is_polyfill_code

CALLS: Final = (Kind.CALL, Kind.CALL_NAMES_ON_STACK, Kind.CALL_EXTENDED)
_WORD: Final = re.compile(r"\w+")
_WRAPPING: Final = frozenset(
    {
        "_py_warnings", "cProfile", "contextlib", "functools", "mock", "profile", "reprlib", "timeit", "types", "typing",
        "warnings",
    }
)  # fmt: skip
"""Modules whose functions call functions of the program for their results."""
_MANAGING: Final = tuple(
    name.replace("/", os.sep)
    for name in ("nn/modules/module.py", "utils/hooks.py", "utils/data/", "serialization.py")
)
"""Files of torch with functions that register, list, load and store, and compute nothing."""
_RECURRENT: Final = tuple(name.replace("/", os.sep) for name in ("nn/modules/rnn.py", "nn/utils/rnn.py"))
"""Files of torch with the recurrent modules: over a packed sequence each of their steps breaks, and what they compute before is little."""
_CALLING: Final = frozenset({"_call_impl", "_wrapped_call_impl", "inner", "_slow_forward"})
"""Functions in these that compute all the same."""


def depth_of_library_call(machine: Machine) -> int | None:
    """The depth of the outermost frame of a library in which nothing but libraries run; None if the call that entered it is to
    be left as it is."""
    frames = machine.frames
    depth = len(frames)
    while depth > 1 and is_library_code(frames[depth - 1].code):
        depth -= 1
    if depth == len(frames):
        return None
    while depth > 1 and is_polyfill_code(frames[depth - 1].code):
        depth -= 1
    if not _is_call(frames[depth - 1], frames[depth]):
        return None
    inner = frames[depth]
    is_first = inner.recorded == machine.tx.graph.operations
    return depth if is_first or _is_file_of_torch(inner.code.co_filename, _RECURRENT) else None


def _is_call(outer: Frame, inner: Frame) -> bool:
    """Whether an operation of this trace that calls something entered the inner frame."""
    return inner.entered > 0 and outer.operation.kind in CALLS


def is_library_code(code: CodeType) -> bool:
    """Whether a function is one of the standard library's, or one of torch's that manages objects, and no wrapper of others."""
    return _is_library_file(code.co_filename) and code.co_name not in _CALLING


@functools.lru_cache(maxsize=4096)
def _is_library_file(name: str) -> bool:
    if name.startswith(TORCH):
        return _is_file_of_torch(name, _MANAGING + _RECURRENT)
    # `<frozen abc>`, `/lib/python3.11/unittest/mock.py`
    return is_standard_file(name) and _WORD.findall(name.removesuffix(".py"))[-1] not in _WRAPPING


def _is_file_of_torch(name: str, files: tuple[str, ...]) -> bool:
    return name.startswith(TORCH) and name.removeprefix(TORCH).startswith(files)
