"""Traceback entries for frames that were traced, and so never ran: an exception that left such a frame gets its entry.

An entry names the user's function and line. Its frame is that of an unstarted generator with the user's names:
such a frame has no caller, so the traceback keeps no frame of the entry alive.
"""

from collections.abc import Generator
from types import CodeType, FrameType, FunctionType, TracebackType
from typing import Final, final

Place = tuple[CodeType, int]  # a user's code object and a line in it


@final
class Passage:
    """Called with an exception, it adds the user's frames to its traceback, as if the exception had left them.

    `places` are the frames, the innermost first. With `native`, the first frame of the traceback, which caught the
    exception, is removed before.
    """

    __slots__ = ("_frames", "_native")

    def __init__(self, places: tuple[Place, ...], *, native: bool = False) -> None:
        self._frames = tuple((make_named_frame(code), line) for code, line in places)
        self._native = native

    def __call__(self, error: BaseException) -> None:
        """Change the traceback of the exception, and nothing else of it."""
        traceback = error.__traceback__
        if self._native and traceback is not None:
            traceback = traceback.tb_next
        for frame, line in self._frames:
            traceback = TracebackType(traceback, frame, NO_INSTRUCTION, line)
        error.__traceback__ = traceback


NO_INSTRUCTION: Final = -1


def make_named_frame(code: CodeType) -> FrameType:
    """A frame with the names of the user's code, which a traceback shows as the user's."""
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
