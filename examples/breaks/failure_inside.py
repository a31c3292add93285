"""A graph break: an operation that may fail on data, behind a change, inside of a call that cannot be resumed."""

from collections.abc import Iterator

import torch


def inverses(total: torch.Tensor, values: torch.Tensor) -> Iterator[torch.Tensor]:
    total.add_(1)
    yield torch.linalg.inv(values)


def program(total: torch.Tensor, values: torch.Tensor) -> list[torch.Tensor]:
    return [*inverses(total, values)]


ARGUMENTS = (torch.zeros(1), torch.eye(2))
