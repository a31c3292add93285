"""Traceback entries of frames that were traced and hence never ran: an exception that left one gets them.

An entry names the user's function and line. Its frame is that of a generator with the user's names that never starts:
such a frame has no caller, so the traceback keeps nothing of ours alive.
"""

from collections.abc import Generator
from types import CodeType, FrameType, FunctionType, TracebackType
from typing import Final, final

Place = tuple[CodeType, int]  # a user's code object and a line in it


@final
class Passage:
    """Called with an exception, makes it look as if it had left the user's frames.

    `places` are the frames, the innermost first. With `native`, the frame that caught the exception, the first of
    its traceback, is taken off before.
    """

    __slots__ = ("_frames", "_native")

    def __init__(self, places: tuple[Place, ...], *, native: bool = False) -> None:
        self._frames = tuple((frame_named(code), line) for code, line in places)
        self._native = native

    def __call__(self, error: BaseException) -> None:
        """Change the traceback of the exception; nothing else of it."""
        traceback = error.__traceback__
        if self._native and traceback is not None:
            traceback = traceback.tb_next
        for frame, line in self._frames:
            traceback = TracebackType(traceback, frame, NO_INSTRUCTION, line)
        error.__traceback__ = traceback


NO_INSTRUCTION: Final = -1


def frame_named(code: CodeType) -> FrameType:
    """A frame that shows up in a traceback as the user's."""
    named = _template.__code__.replace(
        co_name=code.co_name,
        co_qualname=code.co_qualname,
        co_filename=code.co_filename,
        co_firstlineno=code.co_firstlineno,
    )
    frame = FunctionType(named, {})().gi_frame
    assert isinstance(frame, FrameType)
    return frame


def _template() -> Generator[None, None, None]:
    yield
