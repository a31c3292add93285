"""A graph break: an instruction that is not modelled."""

import torch


def program(values: torch.Tensor) -> torch.Tensor:
    values = values.sin()
    try:
        raise ExceptionGroup("two", [ValueError("a"), TypeError("b")])
    except* ValueError:
        values = values.cos()
    except* TypeError:
        values = values * 2
    return values


ARGUMENTS = (torch.ones(3),)
