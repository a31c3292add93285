"""Exceptions that reach a graph without being those of an operation: of hooks, handlers of signals, torch's own control flow.

Torch calls code of the program in the midst of an operation (hooks of `saved_tensors_hooks`), the interpreter does between two
(handlers of signals), and an outer checkpoint stops the function that it runs again by an exception. The operation need not raise
when it runs once more, and that code must not run a second time: the exception is raised again in its place (ADR 0015).
"""

import sys
from collections.abc import Iterator
from types import FrameType, FunctionType, TracebackType
from typing import Final

import torch
from torch import fx
from torch._ops import HigherOrderOperator
from torch.utils.checkpoint import _StopRecomputationError

_OWN_PACKAGES: Final = sys.stdlib_module_names | {torch.__name__, __name__.partition(".")[0]}


def is_interruption(error: BaseException, node: fx.Node) -> bool:
    """Whether the exception, whose traceback has the frames that the operation called, is not that of the operation."""
    if isinstance(error, _StopRecomputationError):
        return True
    frames = [*_frames(error.__traceback__)]
    if node.op == "call_function" and isinstance(node.target, FunctionType | HigherOrderOperator):
        return any(map(_is_of_program, frames))
    return bool(frames)  # C code calls no function of Python by itself


def _frames(traceback: TracebackType | None) -> Iterator[FrameType]:
    while traceback is not None:
        yield traceback.tb_frame
        traceback = traceback.tb_next


def _is_of_program(frame: FrameType) -> bool:
    name = frame.f_globals.get("__name__")
    # texts of fx have globals without a name
    return isinstance(name, str) and name.partition(".")[0] not in _OWN_PACKAGES
