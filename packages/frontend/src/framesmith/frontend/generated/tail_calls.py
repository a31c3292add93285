"""Tail calls: an entry that continues elsewhere returns a `TailCall`, and `run_tail_calls` makes the call.

**What an entry held is let go of before what comes next begins.** A suspended generator on the stack of the user's
frame is closed when CPython drops it, and the program can see when that is; a frame of ours that still held it
would delay that. Therefore an entry that has to run something at its end (the rest of the frames natively,
an exception that leaves them) returns as well, and nothing here keeps a value that was handed over:
a tuple of arguments dies with the next step, and the frame of `run_tail_calls` holds none when an exception comes
through it.
"""

import os
from types import CodeType
from typing import Any, Final, final

from framesmith.frontend.hidden_frames import hidden, is_hidden
from framesmith.guards.names import PREFIX
from framesmith.variables.objects.exception_chains import raise_unchained

_FOLDER: Final = os.path.join(os.path.dirname(os.path.dirname(__file__)), "")
_BETWEEN: Final = frozenset(
    os.path.join(_FOLDER, *path)
    for path in (
        ("generated", "tail_calls.py"),
        ("generated", "dispatcher.py"),
        ("resuming", "native.py"),
        ("cache", "session.py"),
        ("cache", "unit.py"),
        ("recovery.py",),
    )
)


@final
class TailCall(list[Any]):
    """What an entry returns in order to continue elsewhere: `TailCall((function, arguments))`.

    A list, which `run_tail_calls` empties: the caller may hold the argument of `run_tail_calls` until that returns.
    (CPython does as soon as something in the process asks to see its frames, a debugger or another compiler.)
    """

    __slots__ = ()


@hidden
def run_tail_calls(result: object) -> object:
    """Follow continuations until one returns. The stack stays flat however many there are."""
    arguments: tuple[object, ...] | None = None
    try:
        while type(result) is TailCall:
            arguments, function = result.pop(), result.pop()
            result = None
            result = function(*arguments)
    except BaseException:
        arguments = None
        raise
    return result


@hidden
def continue_after_raising(error: BaseException, onward: TailCall) -> TailCall:
    """Continue with the exception of a native operation, when the frames that ran it have ended."""
    empty_our_frames(error)
    return onward


@hidden
def raise_again(error: BaseException, kept: tuple[object, ...]) -> None:
    """Raise what a native operation raised. `kept` are variables of the user's frames, alive while the traceback is."""
    empty_our_frames(error)
    try:
        raise_unchained(error)
    finally:
        # its traceback refers to this frame: a ring
        del error


def empty_our_frames(error: BaseException) -> None:
    """Clear the variables of our ended frames: the traceback holds frames of functions that ran natively, and these hold
    the frames of ours that called them."""
    traceback = error.__traceback__
    while traceback is not None and traceback.tb_frame.f_back is None:
        traceback = traceback.tb_next
    frame = None if traceback is None else traceback.tb_frame.f_back
    while frame is not None and is_ours(frame.f_code):
        try:
            frame.clear()
        except RuntimeError:  # it runs: from here on nothing has ended
            return
        frame = frame.f_back


def strip_our_frames(error: BaseException) -> None:
    """Take our frames off the head of a traceback, which begins with the frame that calls this: what is left was
    called by the user and is the user's. An error that is raised while tracing keeps them."""
    traceback = error.__traceback__
    while traceback is not None and is_inserted(traceback.tb_frame.f_code):
        traceback = traceback.tb_next
    if traceback is not None:
        error.__traceback__ = traceback


def is_inserted(code: CodeType) -> bool:
    """Whether a frame of this code comes between the user's caller and the user's function, and represents neither."""
    return code.co_filename in _BETWEEN or is_hidden(code)


def is_ours(code: CodeType) -> bool:
    """Whether code was generated, or calls what was generated."""
    return (
        code.co_filename.startswith(_FOLDER)
        or is_hidden(code)
        # an entry has the user's file name, and is known by the cells that hold its objects
        or any(name.startswith(PREFIX) for name in code.co_freevars)
    )
