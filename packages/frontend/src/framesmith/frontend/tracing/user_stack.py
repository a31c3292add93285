"""Where the user's frames are while tracing: for nodes, guards, breaks and errors."""

import linecache
import re
import traceback
from collections.abc import Sequence
from types import CodeType
from typing import Final, final

import torch

from framesmith.frontend.tracing.machine import Frame, Machine
from framesmith.frontend.tracing.module_stacks import MODULES
from framesmith.frontend.user_lines import UserLocation, is_library_file, place_text, stack_lines

_LONGEST: Final = 400
_MAY_WARN: Final = re.compile(r"\\|\d[a-zA-Z]")
"""An invalid escape, `1if x else y`."""
_CALLING_MODULES: Final = torch.nn.modules.module.__file__


def location(frame: Frame) -> UserLocation:
    """Where the operation is that a frame is at."""
    code, line = frame.code, frame.operation.position.line
    return UserLocation(code.co_filename, code.co_firstlineno if line is None else line, code.co_name)


def user_location(frames: Sequence[Frame]) -> UserLocation | None:
    """The line in the innermost frame that is neither torch's nor the standard library's nor ours.

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
    """The line of `user_location` as the reasons of guards name it."""
    found = user_location(frames)
    return None if found is None else place_text(*found)


def user_stack(frames: Sequence[Frame]) -> tuple[UserLocation, ...]:
    """Where all frames are, the outermost first."""
    return tuple(map(location, frames))


@final
class StackTexts:
    """Where all frames are, for each operation that is recorded, written as Python writes a traceback. The frames in which torch's modules
    call what is in them are left out, so that the last one is the line of the program.

    `_texts`: by the operations at which the frames are, whose code is kept, so that its id stays its own; `_shown`: of one frame.
    """

    def __init__(self, machine: Machine) -> None:
        self._machine = machine
        self._summary = traceback.StackSummary()
        self._shown: dict[tuple[int, int], str] = {}
        self._texts: dict[tuple[tuple[int, int], ...], tuple[list[CodeType], str]] = {}

    def __call__(self) -> str:
        """The text of the present moment."""
        frames = self._machine.frames
        operations = tuple([(id(frame.code), frame.current) for frame in frames])
        found = self._texts.get(operations)
        if found is None:
            shown = [frame for frame in frames if not frame.code.co_filename.startswith(MODULES)]
            # where one of torch's modules was compiled there are no others
            text = stack_lines(map(location, shown or frames), map(self._show, shown or frames))
            found = self._texts[operations] = ([frame.code for frame in frames], text)
        return found[1]

    def _show(self, frame: Frame) -> str:
        place = id(frame.code), frame.current
        if place not in self._shown:
            self._shown[place] = self._summary.format_frame_summary(_summary(frame))
        return self._shown[place]


def _summary(frame: Frame) -> traceback.FrameSummary:
    (_, end_line, column, end), place = frame.operation.position, location(frame)
    line = linecache.getline(place.file, place.line)
    # to mark an operation, Python parses the line: that takes time, and may warn
    if len(line) > _LONGEST or not line.isascii() or _MAY_WARN.search(line):
        column = end = None
    return traceback.FrameSummary(*place, lookup_line=False, end_lineno=end_line, colno=column, end_colno=end)
