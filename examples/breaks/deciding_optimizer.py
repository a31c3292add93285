"""A graph break: the step of an optimizer that decides by the values of the loss."""

import torch


def program(values: torch.Tensor) -> torch.Tensor:
    weight = torch.zeros(2, requires_grad=True)
    optimizer = torch.optim.LBFGS([weight])

    def closure() -> torch.Tensor:
        optimizer.zero_grad()
        loss = (values @ weight - 1).square().mean()
        loss.backward()
        return loss

    optimizer.step(closure)
    return weight.detach()


ARGUMENTS = (torch.ones(3, 2),)
