"""The blocks of `torch.device` around a trace: which is the innermost, and where new tensors are made."""

import torch
from torch.overrides import BaseTorchFunctionMode

from framesmith.graph.environment.default_devices import (
    are_tensors_on_cpu,
    device_of_blocks,
    entered_modes,
    outside_of_blocks,
)


def test_modes_are_told_from_the_outermost_to_the_innermost() -> None:
    assert entered_modes() == ()
    with torch.device("meta"), BaseTorchFunctionMode() as mode:
        assert entered_modes()[1] is mode
        assert device_of_blocks() == torch.device("meta")


def test_where_tensors_are_made() -> None:
    assert device_of_blocks() is None
    assert are_tensors_on_cpu()
    with torch.device("meta"):
        assert not are_tensors_on_cpu()
        with torch.device("cpu"):
            assert are_tensors_on_cpu()


def test_blocks_are_left_for_a_while() -> None:
    with torch.device("meta"), BaseTorchFunctionMode():
        before = entered_modes()
        with outside_of_blocks():
            assert entered_modes() == ()
            assert torch.ones(1).device.type == "cpu"
        assert [one is other for one, other in zip(before, entered_modes(), strict=True)] == [True, True]
