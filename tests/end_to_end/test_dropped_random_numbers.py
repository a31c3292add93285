"""An operation that draws random numbers runs once, though its result is unused or a later operation raises."""

import pytest
from tests.end_to_end.support import check_source

LAYERS = ["LSTM", "GRU", "RNN"]
HEAD = """
import torch
torch.manual_seed(1)
def args(): return [torch.ones(3, 2, 4), torch.tensor(9)]
def drawn(): return torch.rand(2)
"""


@pytest.mark.parametrize("layer", LAYERS)
def test_unused_recurrent_layers_with_dropout_draw(layer: str) -> None:
    check_source(
        f"{HEAD}layer = torch.nn.{layer}(4, 4, num_layers=2, dropout=0.5)\n"
        "def f(x, i):\n    layer(x)\n    return drawn()\n",
        breaks=0,
    )


DRAWING = [f"torch.nn.{layer}(4, 4, num_layers=2, dropout=0.5)" for layer in LAYERS]


@pytest.mark.parametrize(
    "work", [*DRAWING, "torch._standard_gamma", "torch.rand_like", "torch._sample_dirichlet"]
)
def test_nothing_is_drawn_twice_when_an_operation_behind_raises(work: str) -> None:
    check_source(
        f"{HEAD}work = {work}\n"
        "def f(x, i):\n    y = work(x)\n    try:\n        z = x[i]\n    except IndexError:\n        z = x\n"
        "    return (y[0] if type(y) is tuple else y).sum(), drawn()\n",
    )
