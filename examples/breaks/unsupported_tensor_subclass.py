"""A graph break: a tensor subclass that cannot be traced."""

import torch


class Meters(torch.Tensor):
    """A tensor with a unit that sees every operation of the dispatcher, and does not say what it holds."""

    @classmethod
    def __torch_dispatch__(cls, func, types, args=(), kwargs=None):  # type: ignore[no-untyped-def]
        """Run the operation."""
        with torch._C._DisableTorchDispatch():
            return func(*args, **(kwargs or {}))


def program(length: torch.Tensor) -> torch.Tensor:
    return length + 1


ARGUMENTS = (torch.ones(3).as_subclass(Meters),)
