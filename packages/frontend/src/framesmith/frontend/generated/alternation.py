"""What a dispatcher tries first where its entries gain nothing for now: a native run, and now and then the entries again."""

from collections.abc import Callable
from typing import Final, final

from framesmith.frontend.hidden_frames import hidden

PHASE: Final = 64
"""So many calls run natively, then as many try the entries. Tuning only: a loop of some ten rounds gets to its end in a phase."""


@final
class AlternatingRuns:
    """`native` for a phase of calls, `absent` (go on to the entries) for the next one, and so on."""

    __slots__ = ("_absent", "_calls", "_native")

    def __init__(self, native: Callable[..., object], absent: object) -> None:
        self._native = native
        self._absent = absent
        self._calls = 0

    @hidden
    def __call__(self, *values: object) -> object:
        """The result of the native run, or `absent`."""
        # two threads may count one call: a phase is a call longer then
        self._calls += 1
        return self._absent if self._calls // PHASE % 2 else self._native(*values)
