"""Traceback lines for frames that were traced, and so never ran: an exception that left such a frame gets its line.

It names the user's function, line and columns. Its frame is that of an unstarted generator with the user's names:
such a frame has no caller, so the traceback keeps no frame of the compiled entry alive.
"""

import dis
from collections.abc import Generator
from types import CodeType, FrameType, FunctionType, TracebackType
from typing import Final, TypeAlias, final

Span: TypeAlias = tuple[int | None, int | None, int | None, int | None]
"""Line, last line, column and last column, as `code.co_positions()` gives them."""
Place: TypeAlias = tuple[CodeType, Span]
"""A user's code object and where in it."""


@final
class Passage:
    """Called with an exception, it adds the user's frames to its traceback, as if the exception had left them.

    `places` are the frames, the innermost first. With `native`, the first frame of the traceback, which caught the
    exception, is removed before.
    """

    __slots__ = ("_frames", "_native")

    def __init__(self, places: tuple[Place, ...], *, native: bool = False) -> None:
        # Made once, while the entry is built: each call only links new traceback objects to them.
        self._frames = tuple(
            (make_named_frame(code), _find_instruction(code, span), span[0] or code.co_firstlineno)
            for code, span in places
        )
        self._native = native

    def __call__(self, error: BaseException) -> None:
        """Change the traceback of the exception, and nothing else of it."""
        traceback = error.__traceback__
        if self._native and traceback is not None:
            traceback = traceback.tb_next
        for frame, instruction, line in self._frames:
            traceback = TracebackType(traceback, frame, instruction, line)
        error.__traceback__ = traceback


NO_INSTRUCTION: Final = -1
_NOP: Final = bytes([dis.opmap["NOP"], 0])


def _find_instruction(code: CodeType, span: Span) -> int:
    """The offset of an instruction that stands there: the columns, which are underlined, are looked up by it."""
    found = next((index for index, one in enumerate(code.co_positions()) if one == span), None)
    # `co_positions()` has one item for each code unit, which is two bytes.
    return NO_INSTRUCTION if found is None else found * 2


def make_named_frame(code: CodeType) -> FrameType:
    """A frame with the names and positions of the user's code, which a traceback shows as the user's."""
    text = _template.__code__.co_code
    missing = max(len(code.co_code) - len(text), 0) // len(_NOP)
    named = _template.__code__.replace(
        # as long as what the positions are for: CPython 3.11 writes a line for each of them where a tracer is set
        co_code=text + _NOP * missing,
        co_name=code.co_name,
        co_qualname=code.co_qualname,
        co_filename=code.co_filename,
        co_firstlineno=code.co_firstlineno,
        co_linetable=code.co_linetable,
    )
    # The generator dies at once; its frame lives on by itself (CPython: `take_ownership`).
    frame = FunctionType(named, {})().gi_frame
    assert isinstance(frame, FrameType)
    return frame


def _template() -> Generator[None, None, None]:
    yield
