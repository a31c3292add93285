"""Functions with the name, file, line and globals of inlined frames, for what reports its caller (ADR 0016)."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from types import CodeType, FunctionType
from typing import final

from framesmith.frontend.generated.functions import Identity, generate_function
from framesmith.guards.names import PREFIX


@final
@dataclass(frozen=True, slots=True)
class FramePlace:
    """Where a frame is: its code, the line, and its globals."""

    code: CodeType
    line: int
    namespace: dict[str, object]


def make_synthetic_frame(places: Sequence[FramePlace]) -> Callable[..., object] | None:
    """A function that calls its first argument with the others, through one function for each of these frames.

    `places` are given from the outermost; None if there are none.
    """
    function: FunctionType | None = None
    anything = f"{PREFIX}anything"  # the frame's globals may have another BaseException
    # the innermost first, since each function calls the next
    for place in reversed(places):
        line = place.line
        inner = f"{PREFIX}inner"
        call = f"{PREFIX}f(*args, **kwargs)" if function is None else f"{inner}({PREFIX}f, *args, **kwargs)"
        lines = [
            (f"try: return {call}", line),
            (f"except {anything} as {PREFIX}x:", line),
            (f" {PREFIX}x.__traceback__ = {PREFIX}x.__traceback__.tb_next", line),  # the frame is named apart
            (" raise", line),
        ]
        held: dict[str, object] = {anything: BaseException}
        if function is not None:
            held[inner] = function
        function = generate_function(
            f"{PREFIX}f, /, *args, **kwargs", lines, held, Identity.of(place.code), place.namespace
        )
    return function
