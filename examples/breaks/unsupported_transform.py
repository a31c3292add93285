"""A graph break: a function under torch.vmap that is more than a computation on tensors."""

import torch


class Counter:
    calls = 0

    def double(self, row: torch.Tensor) -> torch.Tensor:
        self.calls += 1
        return row * 2


COUNTER = Counter()


def program(rows: torch.Tensor) -> torch.Tensor:
    return torch.vmap(COUNTER.double)(rows) + 1


ARGUMENTS = (torch.ones(2, 3),)
