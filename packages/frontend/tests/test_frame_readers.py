"""What code may read of the frames that called it."""

import inspect
import sys

import torch

from framesmith.frontend.tracing.frame_readers import may_read_callers


def test_a_stack_of_tensors_is_not_a_stack_of_frames() -> None:
    assert not may_read_callers((lambda x: torch.stack([x, x])).__code__)
    assert may_read_callers((lambda: inspect.stack()).__code__)
    assert may_read_callers((lambda: sys._getframe(1)).__code__)
