"""The states of random number generators while a backend compiles: what it draws, to time kernels on, is not for the program to see."""

import random
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Final

import torch

_is_cuda_in_use: Final[Callable[[], bool]] = torch.cuda.is_initialized


@contextmanager
def unseen_draws() -> Iterator[None]:
    """Give Python's generator and torch's for the CPU and the current CUDA device, if that is in use, the states they had."""
    python, cpu = random.getstate(), torch.default_generator.get_state()
    cuda = _cuda_generator()
    device = None if cuda is None else cuda.get_state()
    try:
        yield
    finally:
        random.setstate(python)
        torch.default_generator.set_state(cpu)
        if cuda is not None and device is not None:
            cuda.set_state(device)


def _cuda_generator() -> torch.Generator | None:
    # A stream that is being captured refuses questions about its state; one that is not in use yet has drawn nothing.
    if not _is_cuda_in_use() or torch.cuda.is_current_stream_capturing():
        return None
    return torch.cuda.default_generators[torch.cuda.current_device()]
