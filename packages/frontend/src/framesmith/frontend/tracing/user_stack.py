"""The user's frames while tracing, as text: for nodes, guards, breaks and errors."""

from collections.abc import Sequence
from typing import Final, TypeAlias

import torch

from framesmith.frontend.tracing.machine import Frame
from framesmith.frontend.user_lines import is_library_file, place_text, source_line

Place: TypeAlias = tuple[str, int, str]
"""File, line and function."""

_CALLING_MODULES: Final = torch.nn.modules.module.__file__


def location(frame: Frame) -> Place:
    """File, line and function of the operation that a frame is at."""
    position = frame.operation.position
    line = frame.code.co_firstlineno if position.line is None else position.line
    return frame.code.co_filename, line, frame.code.co_name


def user_location(frames: Sequence[Frame]) -> Place | None:
    """The place in the innermost frame that is neither torch's nor the standard library's nor ours.

    Where all are (a module of torch's was compiled), that of the innermost frame; None without frames, and in the code
    that every call of a module runs.
    """
    for frame in reversed(frames):
        if not is_library_file(frame.code.co_filename):
            return location(frame)
    if not frames or frames[-1].code.co_filename == _CALLING_MODULES:
        return None
    return location(frames[-1])


def frame_text(frames: Sequence[Frame]) -> str | None:
    """The place of `user_location` as the reasons of guards name it."""
    found = user_location(frames)
    return None if found is None else place_text(*found)


def stack_text(frames: list[Frame]) -> str:
    """The frames as a traceback shows them, the outermost first."""
    lines: list[str] = []
    for frame in frames:
        file, line, function = location(frame)
        lines.append(f'  File "{file}", line {line}, in {function}\n')
        source = source_line(file, line)
        if source:
            lines.append(f"    {source}\n")
    return "".join(lines)
