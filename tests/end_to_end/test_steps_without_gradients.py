"""A step of an optimizer that computes gradients by itself, called where they are off or on."""

import pytest
import torch

from framesmith import frontend


def data_add(layer, loss):
    loss.backward()
    for one in layer.parameters():
        one.data.add_(one.grad.data, alpha=-0.1)


def data_set(layer, loss):
    loss.backward()
    for one in layer.parameters():
        one.data = one.data - one.grad * 0.1


def detached(layer, loss):
    loss.backward()
    for one in layer.parameters():
        one.detach().add_(one.grad, alpha=-0.1)


def without_backward(layer, loss):
    parameters = list(layer.parameters())
    for one, gradient in zip(parameters, torch.autograd.grad(loss, parameters), strict=True):
        one.data.sub_(gradient)


def under_no_grad(layer, loss):
    parameters = list(layer.parameters())
    gradients = torch.autograd.grad(loss, parameters)
    with torch.no_grad():
        for one, gradient in zip(parameters, gradients, strict=True):
            one.sub_(gradient)


def element(layer, loss):
    (gradient,) = torch.autograd.grad(loss, [layer.weight])
    layer.weight.data.view(-1)[0] = gradient.sum()


@pytest.mark.parametrize("step", [data_add, data_set, detached, without_backward, under_no_grad, element])
@pytest.mark.parametrize("outer", [True, False])
@pytest.mark.parametrize("backend", ["eager", "aot_eager"])
def test_the_step_is_that_of_eager(step, outer, backend):
    def run(compiled):
        torch.manual_seed(0)
        layer = torch.nn.Linear(4, 1)

        def train(x):
            with torch.enable_grad():
                layer.zero_grad()
                loss = layer(x).pow(2).mean()
                step(layer, loss)
            return loss.detach()

        call = frontend.compile(train, backend=backend) if compiled else train
        with torch.set_grad_enabled(outer):
            losses = [call(torch.randn(3, 4)) for _ in range(3)]
        return [*losses, *layer.parameters(), *(one.grad for one in layer.parameters())]

    for found, expected in zip(run(True), run(False), strict=True):
        assert (found is None) == (expected is None)
        assert found is None or (
            torch.equal(found, expected) and found.requires_grad == expected.requires_grad
        )
