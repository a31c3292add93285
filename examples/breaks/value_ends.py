"""A graph break: the program sees the end of an object."""

import weakref

import torch


class Buffer:
    """Held by the function alone."""


def program(values: torch.Tensor) -> tuple[bool, torch.Tensor]:
    buffer = Buffer()
    reference = weakref.ref(buffer)
    del buffer  # a graph break: what follows has to find it gone
    return reference() is None, values + 1


ARGUMENTS = (torch.ones(3),)
