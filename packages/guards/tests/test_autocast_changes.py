"""What a message says of autocast: the device, and the type that it casts to."""

import pytest
import torch

from framesmith.guards.torch_adapter import StateSnapshot


@pytest.mark.parametrize("device", ["cpu", "cuda", "xpu", "mps", "hpu", "xla", "mtia", "ipu"])
@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16])
def test_the_device_and_the_type(device: str, dtype: torch.dtype) -> None:
    snapshot, before = StateSnapshot(), torch.get_autocast_dtype(device)
    try:
        torch.set_autocast_dtype(device, dtype)
        torch.set_autocast_enabled(device, True)
        assert snapshot.changes() == [f"autocast on {device} changed from off to {dtype}"]
        assert not snapshot.check()
    finally:
        torch.set_autocast_enabled(device, False)
        torch.set_autocast_dtype(device, before)
    assert snapshot.changes() == []


def test_the_cache_of_casts() -> None:
    snapshot = StateSnapshot()
    torch.set_autocast_cache_enabled(False)
    try:
        (change,) = snapshot.changes()
    finally:
        torch.set_autocast_cache_enabled(True)
    assert "cached_enabled" in change
