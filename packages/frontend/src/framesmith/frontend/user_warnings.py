"""Our warnings name the line of the user's that led to them: the innermost frame that is not of this project.

The number of our frames between depends on the path that a call takes, so they are inspected instead of counted.
"""

import os
import sys
import warnings
from types import CodeType, FrameType
from typing import Final

import framesmith.bytecode
import framesmith.graph
import framesmith.guards
import framesmith.variables
from framesmith.frontend.hidden_frames import is_hidden

_LAYERS: Final = (framesmith.bytecode, framesmith.guards, framesmith.graph, framesmith.variables)
_FOLDERS: Final = tuple(
    os.path.dirname(file) + os.sep for file in (__file__, *(str(layer.__file__) for layer in _LAYERS))
)


def warn(message: str, category: type[Warning]) -> None:
    """Issue a warning that names the user's line."""
    frame = user_frame(sys._getframe(1))
    if frame is None:
        warnings.warn(message, category, stacklevel=2)
        return
    warnings.warn_explicit(
        message,
        category,
        frame.f_code.co_filename,
        frame.f_lineno,
        module=frame.f_globals.get("__name__", "<unknown>"),
        # as `warnings.warn` does: what was shown is noted in the module that it was shown for
        registry=frame.f_globals.setdefault("__warningregistry__", {}),
        source=None,
    )


def user_frame(frame: FrameType | None) -> FrameType | None:
    """The innermost frame of the user's, from this one outwards."""
    while frame is not None and is_ours(frame.f_code):
        frame = frame.f_back
    return frame


def is_ours(code: CodeType) -> bool:
    """Whether a frame of this code is one of this project."""
    return is_hidden(code) or is_ours_file(code.co_filename)


def is_ours_file(file: str) -> bool:
    """Whether a file is one of this project."""
    return file.startswith(_FOLDERS)
