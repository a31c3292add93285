"""Where a new tensor is made if the program names no device: as the blocks of `torch.device` around the traced call say.

Blocks that the trace enters are not here; they are in `variables.torch_contexts.device_blocks`.
"""

from collections.abc import Iterator
from contextlib import contextmanager

import torch
from torch.utils._device import DeviceContext


def entered_modes() -> tuple[object, ...]:
    """The torch-function modes of this thread, from the outermost to the innermost."""
    # asked at each operation, and there seldom is one
    count = torch._C._len_torch_function_stack()
    return tuple(map(torch._C._get_function_stack_at, range(count))) if count else ()


def device_of_blocks() -> torch.device | None:
    """The device of the innermost block of this thread; None if there is none."""
    blocks = (mode for mode in reversed(entered_modes()) if isinstance(mode, DeviceContext))
    return next((mode.device for mode in blocks), None)


def are_tensors_on_cpu() -> bool:
    """Whether new tensors are on the CPU where no device is said."""
    device = device_of_blocks()
    # no new `torch.device`: a mode of the program would see it
    return (torch._C._get_default_device() if device is None else device.type) == "cpu"


@contextmanager
def outside_of_blocks() -> Iterator[None]:
    """Leave the modes of this thread for a while. What a backend makes for itself, as tokens of effects, is not for the default device
    of the caller, and the graph says the device of what the program makes."""
    modes = entered_modes()
    for _ in modes:
        torch._C._pop_torch_function_stack()
    try:
        yield
    finally:
        for mode in modes:
            torch._C._push_on_torch_function_stack(mode)
