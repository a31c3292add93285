"""A graph break: the step of an optimizer that decides by the values of the loss."""

import torch

LAYER = torch.nn.Linear(2, 1)
OPTIMIZER = torch.optim.LBFGS(LAYER.parameters())


def program(values: torch.Tensor) -> torch.Tensor:
    def closure() -> torch.Tensor:
        OPTIMIZER.zero_grad()
        loss = LAYER(values).square().mean()
        loss.backward()
        return loss

    return OPTIMIZER.step(closure)


ARGUMENTS = (torch.ones(3, 2),)
