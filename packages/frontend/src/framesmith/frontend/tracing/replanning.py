"""How a trace that has gone too far is made again: with a plan that says before which step the second one stops.

A step that fails after it has changed something, or has read values, cannot be taken back. So the trace is thrown away
and made once more up to that step, whose operation runs natively then.
"""

from dataclasses import dataclass
from types import CodeType
from typing import final

from framesmith.frontend.tracing.trace_end import NativeEnd


@final
@dataclass(frozen=True, slots=True)
class PlannedStop:
    """The plan of a second trace: stop before the step with this number, and end as `end` says.

    `code` and `operation` say what the first trace did in that step.
    """

    step: int
    code: CodeType | None  # None: any operation will do
    operation: int
    end: NativeEnd


class MixedIdentities(Exception):
    """The trace has looked up `id(x)` as a key without reading it, and has seen numbers that may be addresses: trace
    again and read it."""


class Restart(Exception):
    """What a step has done already cannot be taken back: trace again and stop before it."""

    def __init__(self, stop: PlannedStop) -> None:
        super().__init__(stop)
        self.stop = stop
