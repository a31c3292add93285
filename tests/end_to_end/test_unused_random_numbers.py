"""Random numbers that are drawn and not needed are drawn too, so that what is drawn afterwards is what eager draws."""

import pytest
from tests.end_to_end.support import check_source
from torch._functorch.aot_autograd import aot_module_simplified

HEAD = """
import torch
import torch.nn.functional as F
from torch import nn
attention = nn.MultiheadAttention(4, 2, dropout=0.5)
layer = nn.TransformerEncoderLayer(4, 2, 8, dropout=0.2)
def args(): return [torch.linspace(-1, 1, 3, requires_grad=GRADIENT)]
"""
DRAWS = [
    "torch.rand(3)",
    "torch.rand(())",
    "torch.rand_like(x)",
    "torch.randint(0, 4, (2, 2)); torch.randperm(4)",
    "torch.multinomial(torch.ones(3), 2); torch.poisson(torch.ones(2))",
    "F.dropout(x, 0.5)",
    "F.dropout(F.dropout(x, 0.5), 0.3).sin()",
    "F.rrelu(x, training=True); F.gumbel_softmax(x)",
    "F.fractional_max_pool2d(torch.ones(1, 1, 4, 4), 2, output_size=2)",
    "torch.empty(3).normal_(); torch.empty(3).bernoulli_(0.5); torch.empty(4).random_()",
    "nn.init.orthogonal_(torch.empty(3, 3))",
    "q = torch.ones(2, 1, 4); attention(q, q, q)",
    "q = torch.ones(1, 1, 3, 4); F.scaled_dot_product_attention(q, q, q, dropout_p=0.5)",
    "layer(torch.ones(2, 1, 4))",
    "y = torch.rand(3); z = y.sin(); y = y.shape",
    "y = torch.rand(3); y.zero_(); x = x + y",
    "y = torch.zeros(3); y.copy_(torch.rand(3)); y.fill_(1); x = x * y",
    "y = torch.empty(3); y.uniform_(); y[:] = 2; x = x * y",
    "x = x + torch.zeros_like(torch.rand(3)) + torch.rand(3).new_ones(3)",
    "torch.rand(3)\n    with torch.no_grad(): torch.rand(2)",
    "torch.rand(3)\n    print('between')\n    torch.rand(3)",
]


@pytest.mark.parametrize("draws", DRAWS)
@pytest.mark.parametrize("gradient", [True, False])
def test_draws_that_nothing_needs(draws, gradient) -> None:
    check_source(
        HEAD.replace("GRADIENT", str(gradient))
        + f"def f(x):\n    {draws}\n    return x * 2, torch.rand(2)\n",
        backend="aot_eager",
    )


def test_only_draws_that_may_be_dropped_are_results() -> None:
    sizes = []

    def backend(module, examples):
        sizes.append(len(module.graph.output_node().args[0]))
        return aot_module_simplified(module, examples, fw_compiler=lambda graph, given: graph.forward)

    for draws in ("x = F.dropout(x, 0.5).relu() + torch.rand(3)", "torch.rand(3)"):
        check_source(
            HEAD.replace("GRADIENT", "True") + f"def f(x):\n    {draws}\n    return x * 2\n",
            backend=backend,
            calls=2,
            tolerance=1e-6,
        )
    assert sizes == [1, 2]
