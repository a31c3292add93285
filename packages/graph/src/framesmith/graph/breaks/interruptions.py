"""Exceptions that reach a graph without being those of an operation: of hooks, handlers of signals, torch's own control flow.

Torch calls code of the program in the midst of an operation (hooks of `saved_tensors_hooks`), the interpreter does between two
(handlers of signals), and an outer checkpoint stops the function that it runs again by an exception. The operation need not raise
when it runs once more, and that code must not run a second time: the exception is raised again in its place (ADR 0015).
"""

import signal
from collections.abc import Iterator
from types import FrameType, FunctionType, TracebackType
from typing import Final

import torch
from torch import fx
from torch._ops import HigherOrderOperator, OpOverload, OpOverloadPacket
from torch.utils.checkpoint import _StopRecomputationError

_OWN_PACKAGES: Final = frozenset({torch.__name__, __name__.partition(".")[0]})
_IN_PYTHON: Final = (FunctionType, HigherOrderOperator, OpOverload, OpOverloadPacket)


def is_interruption(error: BaseException, node: fx.Node) -> bool:
    """Whether other code than the operation raised the exception, whose traceback has the frames that the operation called."""
    if isinstance(error, _StopRecomputationError) or not isinstance(error, Exception):
        return True  # KeyboardInterrupt has no frame of its own, and comes between two operations as well
    frames = [*_frames(error.__traceback__)]
    if node.op == "call_function" and isinstance(node.target, _IN_PYTHON):
        return any(map(_is_of_program, frames))
    return bool(frames)  # an operation in C has no frames of Python: these are of a hook or handler


def is_of_signal_handler(error: BaseException) -> bool:
    """Whether a handler of a signal raised the exception, in the midst of whatever ran."""
    return _find_handler(error.__traceback__) is not None


def cut_to_handler(error: BaseException) -> BaseException:
    """The exception with a traceback that begins with the handler of a signal; without one where none is in there."""
    return error.with_traceback(_find_handler(error.__traceback__))


def _find_handler(traceback: TracebackType | None) -> TracebackType | None:
    handlers = [signal.getsignal(number) for number in signal.valid_signals()]
    functions = [getattr(one, "__func__", one) for one in handlers]
    codes = {one.__code__ for one in functions if isinstance(one, FunctionType)}
    while traceback is not None and traceback.tb_frame.f_code not in codes:
        traceback = traceback.tb_next
    return traceback


def _frames(traceback: TracebackType | None) -> Iterator[FrameType]:
    while traceback is not None:
        yield traceback.tb_frame
        traceback = traceback.tb_next


def _is_of_program(frame: FrameType) -> bool:
    name = frame.f_globals.get("__name__")
    # texts of fx have globals without a name
    return isinstance(name, str) and name.partition(".")[0] not in _OWN_PACKAGES
