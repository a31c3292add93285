"""Polyfills of the methods in C by which a `torch.device` is a block: `with torch.device("cuda"):`."""

import torch
from torch._C import _pop_torch_function_stack, _push_on_torch_function_stack
from torch.utils._device import DeviceContext


def enter(device: torch.device) -> torch.device:
    """`torch.device.__enter__`."""
    _push_on_torch_function_stack(DeviceContext(device))
    return device


def leave(device: torch.device, *exception: object) -> None:
    """`torch.device.__exit__`, which leaves the innermost mode, whatever that is."""
    _pop_torch_function_stack()
