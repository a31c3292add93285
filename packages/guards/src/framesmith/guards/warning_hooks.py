"""Whether showing a warning runs code of the user: what `warnings.warn` reaches in the modules `warnings` and `sys`.

    _showwarnmsg -> showwarning, or _showwarnmsg_impl -> _formatwarnmsg -> formatwarning, or _formatwarnmsg_impl
                                                      -> sys.stderr.write

Each of these names may be replaced by the program, which is customary for `showwarning`, `formatwarning` and `stderr`.
"""

import _io
import io
import sys
import warnings
from types import BuiltinMethodType, CodeType, FunctionType
from typing import Final

from framesmith.guards.class_lookup import is_one_of, module_of

_MESSAGE: Final = warnings.WarningMessage
_FILE: Final = _MESSAGE.__init__.__code__.co_filename
# Found when they are seen first: pytest has replaced one of them when this module is imported.
_codes: dict[str, CodeType] = {}
_FUNCTIONS: Final = ("_showwarnmsg", "showwarning", "_formatwarnmsg", "formatwarning", "_formatwarnmsg_impl")
_LOWEST: Final = (io.FileIO, io.BytesIO, getattr(_io, "_WindowsConsoleIO", io.FileIO))
_BUFFERS: Final = (io.BufferedWriter, io.BufferedRandom)
_find_buffer: Final = io.TextIOWrapper.__dict__["buffer"].__get__
# Streams in Python of what commonly runs a program; they only keep or pass on what is written.
_OTHERS: Final = frozenset({"_pytest.capture", "ipykernel.iostream"})


def is_shown_plainly() -> bool:
    """Whether a warning that is shown now is only written to a file or appended to a list. Runs no code of the user."""
    held, stream = vars(warnings), vars(sys).get("stderr")
    for name in _FUNCTIONS:
        if not _is_own(held.get(name), name):
            return False
    if held.get("WarningMessage") is not _MESSAGE or not _is_own(_MESSAGE.__init__, "__init__"):
        return False
    show = held.get("_showwarnmsg_impl")
    if type(show) is BuiltinMethodType:
        return show.__name__ == "append" and type(show.__self__) is list
    return _is_own(show, "_showwarnmsg_impl") and is_plain_stream(stream)


def _is_own(value: object, name: str) -> bool:
    """Whether it is a function of the standard library's `warnings`, with the code that it was written with."""
    if type(value) is not FunctionType:
        return False
    code = value.__code__
    if code is not _codes.get(name):
        if code.co_filename != _FILE or code.co_name != name:
            return False
        _codes[name] = code
    return True


def is_plain_stream(stream: object) -> bool:
    """Whether writing to a text stream only writes to a file or into memory."""
    cls = type(stream)
    if stream is None:
        return True
    if cls is io.StringIO:
        return _is_untouched(stream)
    if cls is not io.TextIOWrapper:
        module = module_of(cls)
        return type(module) is str and module in _OTHERS
    try:
        buffer = _find_buffer(stream)
    except ValueError:  # it was detached
        return False
    lowest = (
        buffer.raw if is_one_of(type(buffer), _BUFFERS) else buffer
    )  # `python -u` has no buffer in between
    if not is_one_of(type(lowest), _LOWEST):
        return False
    return _is_untouched(stream) and _is_untouched(buffer) and _is_untouched(lowest)


def _is_untouched(stream: object) -> bool:
    """Whether the object itself holds no `write`, which comes before that of its class."""
    return "write" not in vars(stream)
