"""Whether torch asks `__torch_function__` of subclasses and modes at the present point of a trace. It knows no trackers."""

from typing import final

import torch


@final
class OverrideState:
    """The blocks in which a trace is: `torch._C.DisableTorchFunctionSubclass` and `torch._C.DisableTorchFunction`, from the
    outermost to the innermost; the second also keeps calls from modes.

    Invariant: the trace does not turn torch's own switch, so that is what it was when the trace began.
    `is_watched`: a tensor of a subclass has been seen, or a mode was entered, so that calls have to be looked at.
    `modes`: the torch-function modes that the trace has entered, outermost first. They stand above those of torch's own stack,
    which are those of the caller.
    """

    __slots__ = ("_open", "is_watched", "modes")

    def __init__(self) -> None:
        self.is_watched = False
        self.modes: list[object] = []
        self._open: list[tuple[object, bool]] = []

    def enter(self, owner: object, *, is_total: bool = False) -> None:
        """Enter a block of `owner` in which no subclass is asked, and no mode either if `is_total`."""
        self._open.append((owner, is_total))

    def leave(self) -> None:
        """Leave the innermost block."""
        self._open.pop()

    def is_innermost(self, owner: object) -> bool:
        """Whether the innermost block is one of `owner`."""
        return bool(self._open) and self._open[-1][0] is owner

    def asks_subclasses(self) -> bool:
        """Whether torch would ask a subclass now."""
        # torch's own switch is asked as well: the caller of the compiled function may have turned it
        return not self._open and torch._C._is_torch_function_enabled()

    def asks_modes(self) -> bool:
        """Whether torch would ask a mode that the trace has entered now."""
        return bool(self.modes) and not self.asks_none()

    def asks_none(self) -> bool:
        """Whether torch would ask neither a subclass nor a mode now."""
        return any(is_total for _, is_total in self._open) or torch._C._is_torch_function_all_disabled()
