"""A graph break: a store, where a mask is true, of values that require gradients."""

import torch


def program(embeddings: torch.Tensor, mask: torch.Tensor, features: torch.Tensor) -> torch.Tensor:
    result = embeddings.clone()
    result[mask] = features
    return result.detach().sum()


ARGUMENTS = (
    torch.ones(4, 2),
    torch.tensor([True, False, True, False]),
    torch.zeros(2, 2, requires_grad=True),
)
BACKEND = "aot_eager"
