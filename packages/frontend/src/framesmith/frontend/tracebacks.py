"""Traceback entries of frames that were traced and hence never ran: an exception that leaves one gets them.

An entry names the user's function and line. It is made by running a function of one line that has the user's names.
"""

from types import CodeType, FunctionType
from typing import final

from framesmith.frontend.generated import Identity, generated_function

_RAISED = "__fs_raised"


@final
class Passage:
    """Called with an exception that a native operation raised: it then looks as if it had left the user's frames.

    `places` are (code, line), the innermost first. The frame that runs the native operation, the first of the
    traceback, is taken off.
    """

    __slots__ = ("_frames",)

    def __init__(self, places: tuple[tuple[CodeType, int], ...]) -> None:
        self._frames = tuple(frame_function(code, line) for code, line in places)

    def __call__(self, error: BaseException) -> None:
        """Change the traceback of the exception; nothing else of it."""
        context = error.__context__
        error.__traceback__ = error.__traceback__ and error.__traceback__.tb_next
        for function in self._frames:
            try:
                function(error)
            except BaseException as same:
                assert same is error and same.__traceback__ is not None
                same.__traceback__ = same.__traceback__.tb_next
        error.__context__ = context


def frame_function(code: CodeType, line: int) -> FunctionType:
    """A function that raises its argument and shows up in the traceback as the user's."""
    return generated_function(_RAISED, [(f"raise {_RAISED}", line)], {}, Identity.of(code), {})
