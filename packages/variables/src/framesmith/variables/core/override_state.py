"""Whether torch asks `__torch_function__` of subclasses at the present point of a trace. It knows no trackers."""

from typing import final

import torch


@final
class OverrideState:
    """The blocks in which a trace is: `torch._C.DisableTorchFunctionSubclass` and `torch._C.DisableTorchFunction`.

    Invariant: the trace does not turn torch's own switch, so that is what it was when the trace began.
    `is_watched`: a tensor of a subclass has been seen, so that calls have to be looked at.
    """

    __slots__ = ("_open", "is_watched")

    def __init__(self) -> None:
        self.is_watched = False
        self._open = 0

    def turn(self, entering: bool) -> None:
        """Enter or leave a block in which no subclass is asked."""
        self._open += 1 if entering else -1

    def asks_subclasses(self) -> bool:
        """Whether torch would ask a subclass now."""
        return self._open == 0 and torch._C._is_torch_function_enabled()
