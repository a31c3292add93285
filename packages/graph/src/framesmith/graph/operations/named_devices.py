"""Devices that operations name: what torch's tensors make of them, and fakes do not.

torch.ones(2, device="cpu:0").device    ->  cpu, where a fake keeps the index
torch.ones(2, device="cuda")            ->  raises without CUDA, where a fake is made
"""

from collections.abc import Mapping
from functools import cache

import torch
from torch._subclasses.fake_tensor import FakeTensor

from framesmith.graph.nodes.arguments import tensors_in

_CPU = torch.device("cpu")
_EVERYWHERE = frozenset({"cpu", "meta"})


def settle_devices(result: object, kwargs: Mapping[str, object]) -> str | None:
    """Give the fakes of a result the devices that tensors would have. Why eager may raise for one of them, or for pinned memory;
    None if it does not."""
    if kwargs.get("pin_memory") is True:
        return "fakes know no pinned memory"
    for tensor in tensors_in(result):
        device = tensor.device
        if device.type not in _EVERYWHERE and not _is_there(device):
            return f"the process has no device {device}"
        # There is one CPU, whatever the index.
        if device.type == "cpu" and device != _CPU and isinstance(tensor, FakeTensor):
            tensor.fake_device = _CPU
    return None


@cache
def _is_there(device: torch.device) -> bool:
    try:
        module = torch.get_device_module(device.type)
        count: int = module.device_count() if module.is_available() else 0
        return (device.index or 0) < count
    except (RuntimeError, AttributeError):  # no module, or one that does not say
        return False
