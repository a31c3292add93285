"""torch's per-thread switches that recorded operations may turn while tracing, and turning them back.

Grad mode, blocks of inference mode, levels of forward-mode differentiation and autocast only; the frontend models the rest itself (default dtype, function modes, seeds).
"""

from dataclasses import dataclass
from typing import final

import torch

from framesmith.graph.environment.dual_levels import leave_levels, open_levels
from framesmith.graph.environment.inference_blocks import InferenceBlock, open_blocks, restore_blocks

_AUTOCAST_DEVICES = tuple(
    device
    for device in ("cpu", "cuda", "xpu", "mps", "hpu")
    if torch.amp.autocast_mode.is_autocast_available(device)
)


@final
@dataclass(frozen=True, slots=True)
class Ambient:
    """The switches at one moment."""

    grad: bool
    is_inference_mode: bool
    autocast: tuple[tuple[str, bool, torch.dtype], ...]
    autocast_cache: bool
    # blocks entered; leaving the outermost forgets the copies of weights in lower precision
    autocast_nesting: int
    inference: tuple[InferenceBlock, ...]
    levels: tuple[int, ...]

    @staticmethod
    def now() -> "Ambient":
        """The present state of the switches of this thread."""
        return Ambient(
            torch.is_grad_enabled(),
            torch.is_inference_mode_enabled(),
            tuple(
                (device, torch.is_autocast_enabled(device), torch.get_autocast_dtype(device))
                for device in _AUTOCAST_DEVICES
            ),
            torch.is_autocast_cache_enabled(),
            _count_nesting(),
            open_blocks(),
            open_levels(),
        )

    def restore(self, *, blocks: bool = True, forgets: bool = False) -> None:
        """Turn the switches back to this state; without `blocks` as many autocast blocks stay open as are now. The copies that autocast
        has made of weights stay, since the caller may be in a block; with `forgets` they go as usual with the outermost block. A level of
        forward-mode differentiation that was left stays so: its tangents are gone."""
        leave_levels(self.levels)
        restore_blocks(self.inference)  # before the grad mode, which they put back
        if torch.is_grad_enabled() != self.grad:  # a torch-function mode sees the setter
            torch._C._set_grad_enabled(self.grad)
        for device, enabled, dtype in self.autocast:
            if torch.is_autocast_enabled(device) != enabled:
                torch.set_autocast_enabled(device, enabled)
            if torch.get_autocast_dtype(device) != dtype:
                torch.set_autocast_dtype(device, dtype)
        if torch.is_autocast_cache_enabled() != self.autocast_cache:
            torch.set_autocast_cache_enabled(self.autocast_cache)
        # An operation that raised inside of a block left it open; a roll-back may also go into one.
        depth = _count_nesting()
        if blocks:
            leave_blocks(depth - self.autocast_nesting, forgets=forgets)
        for _ in range(depth, self.autocast_nesting if blocks else depth):
            torch.autocast_increment_nesting()


def leave_blocks(count: int, *, forgets: bool = True) -> None:
    """Leave as many autocast blocks; leaving the outermost forgets the copies of weights, if `forgets` is set."""
    for _ in range(count):
        if torch.autocast_decrement_nesting() == 0 and forgets:
            torch.clear_autocast_cache()


def _count_nesting() -> int:
    """The number of autocast blocks that this thread has entered; torch has no other way to ask."""
    torch.autocast_increment_nesting()
    return torch.autocast_decrement_nesting()


def undo_blocks(entered: int) -> None:
    """Undo what a graph that raised did to blocks of autocast: it had entered so many more than it had left; with a negative number it
    had left such as were open when it began."""
    leave_blocks(entered)
    for _ in range(-entered):
        torch.autocast_increment_nesting()
