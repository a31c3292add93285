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


BEHIND_DRAWS = {
    "rand": "z = torch.rand(3)",
    "randn": "z = torch.randn(3)",
    "randint": "z = torch.randint(0, 9, (3,))",
    "randperm": "z = torch.randperm(3)",
    "dropout": "z = torch.nn.functional.dropout(a, 0.5)",
    "into an argument": "z = a.uniform_()",
    "into a new tensor": "z = (a * 1).bernoulli_(0.5)",
    "a factor of an argument": "z = a.add_(1).mul_(torch.rand(3))",
    "in a branch": "z = torch.cond(a.sum() > 0, torch.rand_like, torch.zeros_like, (a,))",
    "for each row": "z = torch.vmap(lambda row: row * torch.rand(()), randomness='different')(a)",
}
WITHOUT_A_KERNEL = ["torch.gcd(a, a)", "torch.bitwise_and(a, a)"]


@pytest.mark.parametrize("failing", WITHOUT_A_KERNEL)
@pytest.mark.parametrize("draw", BEHIND_DRAWS)
def test_nothing_is_drawn_twice_when_a_kernel_is_missing_behind(draw: str, failing: str) -> None:
    check_source(
        f"{HEAD}def args(): return [torch.ones(3)]\n"
        f"def f(a):\n    {BEHIND_DRAWS[draw]}\n    try:\n        w = {failing}\n"
        "    except NotImplementedError:\n        w = 'refused'\n    return a, z, w, drawn()\n",
        backend="aot_eager",
    )
