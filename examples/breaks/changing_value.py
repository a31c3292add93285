"""A graph break: an operation that needs a value which is another one in each round."""

import torch


def program(values: torch.Tensor) -> dict[str, torch.Tensor]:
    found = {}
    for name in ["a", "bc", "def", "ghij", "klmno"]:
        print(end="")  # the rest of the loop is a continuation, which gets another name in each round
        values = values.sin()
        found[name + "!"] = values
    return found


ARGUMENTS = (torch.ones(3),)
