"""Whether torch asks `__torch_function__` of subclasses and modes at the present point of a trace. It knows no trackers."""

from dataclasses import dataclass
from typing import final

import torch


@final
@dataclass(frozen=True, slots=True)
class EnteredMode:
    """A torch-function mode that the trace has entered, by its tracker. `device`: that of a mode of `torch.device`, which only adds
    `device=` to calls that make tensors; None for all other modes."""

    block: object
    device: torch.device | None


@final
class OverrideState:
    """The blocks in which a trace is: `torch._C.DisableTorchFunctionSubclass` and `torch._C.DisableTorchFunction`, from the
    outermost to the innermost; the second also keeps calls from modes.

    Invariant: the trace does not turn torch's own switch, so that is what it was when the trace began.
    `is_watched`: a tensor of a subclass has been seen, or there is a mode, so that calls have to be looked at.
    `modes`: the torch-function modes that the trace has entered, outermost first. They stand above those of torch's own stack,
    which are those of the caller.
    `unpacks_none`: the class of the callable, where the call that begins now unpacks an empty dict (`f(x, **{})`), which C code
    may tell from no keywords.
    """

    __slots__ = ("_open", "is_watched", "modes", "unpacks_none")

    def __init__(self) -> None:
        self.is_watched = torch._C._len_torch_function_stack() > 0
        self.unpacks_none: type | None = None
        self.modes: list[EnteredMode] = []
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
        """Whether torch would ask a mode that the trace has entered now, other than those of `torch.device` alone."""
        return any(mode.device is None for mode in self.modes) and not self.asks_none()

    def innermost_device(self) -> torch.device | None:
        """The device of the innermost of the entered modes of `torch.device`."""
        return next((mode.device for mode in reversed(self.modes) if mode.device is not None), None)

    def default_device(self) -> torch.device | None:
        """What the modes that the trace has entered add as `device=`, where all are modes of `torch.device`; else None."""
        if not self.modes or self.asks_modes() or self.asks_none():
            return None
        return self.modes[-1].device

    def asks_none(self) -> bool:
        """Whether torch would ask neither a subclass nor a mode now."""
        return any(is_total for _, is_total in self._open) or torch._C._is_torch_function_all_disabled()
