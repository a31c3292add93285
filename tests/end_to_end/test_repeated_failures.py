"""A repeated layer of which an operation fails on the data: what came before it has happened, the error is that of eager."""

import traceback

import pytest
import torch
from tests.end_to_end.support import check_source
from torch import nn

from framesmith import frontend

PROGRAM = """
import torch
from torch import nn
log = []

class Layer(nn.Module):
    def __init__(self, number):
        super().__init__()
        self.weight = nn.Parameter(torch.eye(3) + number)
    def forward(self, x):
        y = torch.relu(x @ self.weight)
        z = torch.linalg.inv(y)
        return x + z.sum() * 0.0 + y * 0.1

class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = nn.ModuleList(Layer(number) for number in range(6))
    def forward(self, x):
        log.append("begin")
        {before}
        x = x.detach()
        for layer in self.layers:
            x = layer(x)
        log.append("end")
        return x

def f(model, x):
    return model(x)

def args(): return [Model(), torch.eye(3)]
"""
BEFORE = {
    "nothing": "pass",
    "a write": "x.add_(1.0)",
    "a draw": "x = x + torch.rand(3, 3) * 0.0",
    "an attribute": "self.seen = x.sum()",
}


@pytest.mark.parametrize("text", BEFORE.values(), ids=BEFORE)
@pytest.mark.parametrize("place", [0, 2, 5])
def test_a_layer_fails_on_the_data(text, place):
    before = frontend.counters["stats"]["repeated_blocks"]

    def change(model, x):
        """Every other call gets a singular matrix."""
        with torch.no_grad():
            weight = model.layers[place].weight
            weight.copy_(torch.eye(3) if not weight.any() else torch.zeros(3, 3))

    check_source(PROGRAM.format(before=text, place=place), calls=5, change=change, backend="eager")
    is_repeated = text in (
        "pass",
        BEFORE["an attribute"],
    )  # after a write or a draw it would have to go on in its midst
    assert (frontend.counters["stats"]["repeated_blocks"] - before >= 4) == is_repeated


class Layer(nn.Module):
    def __init__(self):
        super().__init__()
        self.weight = nn.Parameter(torch.eye(3))

    def forward(self, x):
        y = torch.relu(x @ self.weight)
        z = torch.linalg.inv(y)  # the line of the failure
        return x + z * 0.1 + y


def test_the_traceback_ends_at_the_line_of_the_layer():
    model = nn.Sequential(*(Layer() for _ in range(6)))
    compiled = frontend.compile(model, backend="eager")
    compiled(torch.eye(3))
    with torch.no_grad():
        model[3].weight.zero_()
    with pytest.raises(RuntimeError, match="singular") as caught:
        compiled(torch.eye(3))
    last = traceback.extract_tb(caught.value.__traceback__)[-1]
    assert last.line == "z = torch.linalg.inv(y)  # the line of the failure"
    assert not any(
        "eval_with_key" in frame.filename for frame in traceback.extract_tb(caught.value.__traceback__)
    )
