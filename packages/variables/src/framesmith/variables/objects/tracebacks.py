"""Traceback entries of frames that were traced and hence never ran: an exception that left one gets them.

An entry names the user's function and line. It is made by running a function of one line that has the user's names.
"""

from types import CodeType, FunctionType
from typing import final

Place = tuple[CodeType, int]  # a user's code object and a line in it


@final
class Passage:
    """Called with an exception, makes it look as if it had left the user's frames.

    `places` are the frames, the innermost first. With `native`, the frame that caught the exception, the first of
    its traceback, is taken off before.
    """

    __slots__ = ("_frames", "_native")

    def __init__(self, places: tuple[Place, ...], *, native: bool = False) -> None:
        self._frames = tuple(frame_function(code, line) for code, line in places)
        self._native = native

    def __call__(self, error: BaseException) -> None:
        """Change the traceback of the exception; nothing else of it."""
        context = error.__context__
        if self._native and error.__traceback__ is not None:
            error.__traceback__ = error.__traceback__.tb_next
        for function in self._frames:
            try:
                function(error)
            except BaseException as same:
                assert same is error and same.__traceback__ is not None
                same.__traceback__ = same.__traceback__.tb_next
        error.__context__ = context


def frame_function(code: CodeType, line: int) -> FunctionType:
    """A function that raises its argument and shows up in the traceback as the user's."""
    first = _template.__code__.co_firstlineno
    offset = next(at for _, _, at in _template.__code__.co_lines() if at is not None and at > first) - first
    named = _template.__code__.replace(
        co_name=code.co_name,
        co_qualname=code.co_qualname,
        co_filename=code.co_filename,
        co_firstlineno=line - offset,
    )
    return FunctionType(named, {})


def _template(error: BaseException) -> None:
    raise error
