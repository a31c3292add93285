"""`checkpoint(..., use_reentrant=True)` and `checkpoint_sequential`: values, gradients and warnings are those of eager."""

import warnings

import pytest
import torch
from tests.end_to_end.support import check
from torch import nn
from torch.utils.checkpoint import checkpoint, checkpoint_sequential

from framesmith import frontend


class Net(nn.Module):
    def __init__(self, dropout=0.0):
        super().__init__()
        torch.manual_seed(0)
        self.first, self.second, self.dropout = nn.Linear(4, 4), nn.Linear(4, 4), nn.Dropout(dropout)

    def block(self, x, scale):
        return torch.sin(self.dropout(self.first(x))) * scale

    def two(self, x, y):
        return self.first(x) + y, (x > 0).long(), self.second(y).exp()

    def forward(self, x, kind):
        if kind == "two":
            one, mask, other = checkpoint(self.two, x, x * 2, use_reentrant=True)
            return one * mask + other
        if kind == "nested":
            return checkpoint(
                lambda z: checkpoint(self.block, z, 2.0, use_reentrant=True) + z, x, use_reentrant=True
            )
        if kind == "nested deeper":
            return checkpoint(
                lambda z: checkpoint(self.block, self.second(z), 2.0, use_reentrant=True),
                x,
                use_reentrant=True,
            )
        if kind == "other form inside":
            return checkpoint(
                lambda z: checkpoint(self.block, z, 2.0, use_reentrant=False) + z, x, use_reentrant=True
            )
        if kind == "other form between":
            return checkpoint(
                lambda z: checkpoint(
                    lambda z: checkpoint(self.block, z, 2.0, use_reentrant=True) * 2, z, use_reentrant=False
                ),
                x,
                use_reentrant=True,
            )
        if kind == "keywords":
            return checkpoint(self.block, x, scale=3.0, use_reentrant=True)
        if kind == "list":
            return checkpoint(lambda z: [self.first(z), z + 1], x, use_reentrant=True)[0]
        if kind == "view":
            return checkpoint(lambda z: self.first(z).t(), x, use_reentrant=True) * 2
        if kind == "constant":
            return checkpoint(lambda z: (z * 2, torch.ones(2)), x, use_reentrant=True)[1] * 3
        if kind == "container":
            return checkpoint(lambda pair: pair[0] * pair[1], (x, x + 1), use_reentrant=True)
        return self.second(checkpoint(self.block, x, 3.0, use_reentrant=True))


def outcome(model, x, kind, backward):
    torch.manual_seed(1)
    model.zero_grad()
    with warnings.catch_warnings(record=True) as seen:
        warnings.simplefilter("always")
        try:
            result = model(x, kind)
            if backward:
                result.sum().backward()
        except (ValueError, RuntimeError) as error:
            return str(error)
    gradients = [None if one.grad is None else one.grad.tolist() for one in (x, *model.parameters())]
    return result.tolist(), result.requires_grad, gradients, [str(one.message) for one in seen]


KINDS = [
    "plain",
    "two",
    "nested",
    "nested deeper",
    "other form inside",
    "other form between",
    "keywords",
    "list",
    "view",
    "constant",
    "container",
]


@pytest.mark.parametrize("dropout", [0.0, 0.5])
@pytest.mark.parametrize("requires_grad", [True, False])
@pytest.mark.parametrize("kind", KINDS)
def test_results_and_gradients(kind, requires_grad, dropout):
    eager, compiled = Net(dropout), frontend.compile(Net(dropout), backend="eager")
    for number in range(3):
        found = []
        for model in (eager, compiled):
            x = torch.linspace(-1, 1 + number, 8).view(2, 4).requires_grad_(requires_grad)
            found.append(outcome(model, x, kind, backward=True))
        assert found[0] == found[1], number
    with torch.no_grad():
        x = torch.ones(2, 4)
        assert outcome(eager, x, kind, False) == outcome(compiled, x, kind, False)


def test_it_is_captured_whole():
    def program(x):
        model = Net()
        return checkpoint(torch.sin, x, use_reentrant=True) * 2, len(list(model.parameters()))

    net = Net()
    x = torch.ones(2, 4, requires_grad=True)
    for backend in ("eager", "aot_eager"):
        for kind in ("plain", "other form inside"):
            compiled = frontend.compile(
                lambda x, net=net, kind=kind: net(x, kind), backend=backend, fullgraph=True
            )
            net.zero_grad()
            compiled(x).sum().backward()
            captured = [one.grad.clone() for one in net.first.parameters()]
            net.zero_grad()
            net(x, kind).sum().backward()
            assert all(map(torch.allclose, captured, [one.grad for one in net.first.parameters()]))
    check(program, torch.ones(3, requires_grad=True))


@pytest.mark.parametrize("reentrant", [True, False])
@pytest.mark.parametrize("segments", [1, 2, 3])
def test_sequential(segments, reentrant):
    layers = nn.Sequential(nn.Linear(4, 4), nn.ReLU(), nn.Linear(4, 4), nn.Tanh())

    def program(x, layers):
        return checkpoint_sequential(layers, segments, x, use_reentrant=reentrant) * 2

    check(program, torch.ones(2, 4, requires_grad=True), layers, graphs=1, breaks=0)


def test_training_with_the_backward_pass_inside():
    def train(compiles):
        model = Net()
        optimizer = torch.optim.Adam(model.parameters(), lr=0.1)

        def step(x):
            optimizer.zero_grad()
            loss = model(x, "plain").pow(2).mean()
            loss.backward()
            optimizer.step()
            return loss.detach()

        run = frontend.compile(step, backend="eager") if compiles else step
        return [run(torch.linspace(0, 1, 8).view(2, 4).requires_grad_()).item() for _ in range(5)]

    assert train(False) == train(True)
