"""Where the frames of eager are: those that are traced, and those that the trace skips between them.

    f():  module(x)                                     the line in f
          nn.Module._wrapped_call_impl, _call_impl      skipped: all that they do is to call the next
          module.forward:  warnings.warn("old", stacklevel=2)

Not here: the line that a guard or a break names (`user_stack`).
"""

from collections.abc import Sequence
from types import CodeType, FunctionType
from typing import Final

from framesmith.bytecode.meaning import Kind
from framesmith.frontend.generated.synthetic_frames import FramePlace
from framesmith.frontend.tracing.machine import Frame, reading_of
from framesmith.frontend.tracing.user_stack import location
from framesmith.variables.callables.polyfill_functions import is_polyfill_code
from framesmith.variables.core import SkippedFrame

_READS: Final = (Kind.LOAD_CELL, Kind.LOAD_ATTRIBUTE, Kind.LOAD_METHOD)


def places_of(frames: Sequence[Frame]) -> list[FramePlace]:
    """Where these frames and the skipped ones before them are, the outermost first. Not those of polyfills, which the user
    did not write."""
    places: list[FramePlace] = []
    for frame in frames:
        places += map(_skipped_place, frame.skipped)
        if not is_polyfill_code(frame.code):
            places.append(FramePlace(frame.code, location(frame).line, frame.namespace.value))
    return places


def _skipped_place(skipped: SkippedFrame) -> FramePlace:
    function = skipped.function
    assert isinstance(function, FunctionType)
    code, line = function.__code__, skipped.callee
    if isinstance(line, str):
        line = _line_that_reads(code, line)
    return FramePlace(code, line, function.__globals__)


def _line_that_reads(code: CodeType, name: str) -> int:
    line = next(
        one.position.line
        for one in reading_of(code).operations
        if one.kind in _READS and one.argument == name
    )
    assert line is not None
    return line
