"""How the user's frames are left when they cannot go on: their `finally` and `with` run, their `except` do not.

x = x + 1
with lock:
    print(x)         the entry ends here, with the lock held
    y = x * 2        the backend fails when the continuation is compiled: the lock is released before the error is raised
"""

from collections.abc import Iterator
from typing import final

from framesmith.bytecode.meaning import Handler, Reading, stack_depths
from framesmith.bytecode.resume import StackItem
from framesmith.frontend.tracing.frame_layout import FrameLayout
from framesmith.frontend.tracing.machine import reading_of


@final
class Unwinding(BaseException):
    """Raised in a frame of the user in order to leave it. No `except Exception` takes it: the program has made no mistake."""


def find_interruption(layout: FrameLayout) -> tuple[int, tuple[StackItem, ...], int]:
    """The operation at which a frame is left that has done `layout.current`, the slots of its stack that it keeps, and how many
    more there are at that operation.

    It is the next operation, unless that is outside of a block which the frame has not left yet: the code behind a block
    begins with what leaves it.
    """
    reading = reading_of(layout.code)
    last = reading.handlers[layout.current]
    if last is None or last in _handlers_around(reading, layout.index):
        return layout.index, layout.stack, 0
    kept = layout.stack[: last.depth]
    return layout.current, kept, (stack_depths(reading)[layout.current] or last.depth) - len(kept)


def _handlers_around(reading: Reading, index: int) -> Iterator[Handler]:
    """The handlers that an exception at an operation meets if each passes it on, the innermost first."""
    seen = set[int]()
    handler = reading.handlers[index]
    while handler is not None and handler.target not in seen:
        seen.add(handler.target)
        yield handler
        handler = reading.handlers[handler.target]
