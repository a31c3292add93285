"""Random numbers that are drawn and not needed are drawn too, so that what is drawn afterwards is what eager draws."""

import pytest
import torch
from tests.end_to_end.support import check, check_source
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


NESTED = [
    "torch.func.vmap(lambda r: (torch.rand(2), r * 2)[1], randomness='different')(x)",
    "torch.func.vmap(lambda r: (torch.rand(2), F.dropout(r, 0.5), r * 2)[2], randomness='same')(x)",
    "torch.func.vmap(lambda r: (r * 2, torch.rand(2)), randomness='different')(x)[0]",
    "torch.func.vmap(lambda r: r * torch.rand(2).sum(), randomness='different')(x) and None",
    "torch.func.grad(lambda r: (torch.rand(3), (r * r).sum())[1])(x.detach())",
    "torch.func.grad(lambda r: ((r * r).sum(), torch.rand(3)), has_aux=True)(x.detach())[0]",
    "torch.func.grad(lambda r: (r * torch.rand(3) + torch.rand(3)).sum())(x.detach())",
    "torch.func.vmap(torch.func.grad(lambda r: (torch.rand(3), r * r)[1]), randomness='same')(x.detach())",
    "torch.func.jacrev(lambda r: (torch.rand(3), r * 3)[1])(x.detach())",
    "torch.func.jvp(lambda r: (torch.rand(3), r * 3)[1], (x.detach(),), (torch.ones(3),))[1]",
    "torch.func.vjp(lambda r: (torch.rand(3), r * 3)[1], x.detach())[1](torch.ones(3))[0]",
    "checkpoint(lambda r: (torch.rand(3), F.dropout(r, 0.5), r.sin())[2], x, use_reentrant=False)",
    "checkpoint(lambda r: (r * 2, torch.rand(3)), x, use_reentrant=False)[0]",
    "Noisy.apply(x)",
    "(Dropped.apply(x), x * 2)[1]",
]
BODIES = """
from torch.utils.checkpoint import checkpoint
class Noisy(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        torch.rand(3)
        return x * 2
    @staticmethod
    def backward(ctx, gradient):
        torch.rand(4)
        return gradient * 2
class Dropped(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        kept = torch.rand(3) > 0.5
        ctx.save_for_backward(kept)
        return x * kept
    @staticmethod
    def backward(ctx, gradient):
        return gradient * ctx.saved_tensors[0]
"""


@pytest.mark.parametrize("backend", [None, "aot_eager"])
@pytest.mark.parametrize("expression", [one.replace(" and None", ".shape") for one in NESTED])
def test_draws_in_nested_graphs_that_nothing_needs(expression, backend) -> None:
    check_source(
        HEAD.replace("GRADIENT", "True")
        + BODIES
        + f"def f(x):\n    y = {expression}\n    return y, torch.rand(2)\n",
        backend=backend,
        tolerance=1e-6,
    )


def in_a_branch(x):
    def drawing(r):
        torch.rand(3)
        return r.sin()

    return torch.cond(x.sum() > 0, drawing, lambda r: r.cos(), (x,)), torch.rand(2)


def in_a_loop(x):
    def body(i, r):
        torch.rand(2)
        return i + 1, r.sin()

    return torch.while_loop(lambda i, r: i < 3, body, (torch.tensor(0), x.detach()))[1], torch.rand(2)


@pytest.mark.parametrize("backend", [None, "aot_eager"])
@pytest.mark.parametrize("program", [in_a_branch, in_a_loop])
def test_draws_in_branches_and_loops_that_nothing_needs(program, backend) -> None:
    check(program, torch.linspace(-1, 1, 3, requires_grad=True), backend=backend, tolerance=1e-6)


USED = [
    "torch.func.vmap(lambda r: F.dropout(r, 0.5), randomness='different')(x)",
    "torch.func.grad(lambda r: F.dropout(r, 0.5).sum())(x)",
    "Dropped.apply(x)",
    "Noisy.apply(x)",
]


def test_nested_graphs_of_which_all_draws_are_needed_are_compiled() -> None:
    compiled = []

    def forward(graph, given):
        compiled[-1] += 1
        return graph.forward

    def backend(module, examples):
        return aot_module_simplified(module, examples, fw_compiler=forward)

    for expression in USED:
        compiled.append(0)
        check_source(
            HEAD.replace("GRADIENT", "True") + BODIES + f"def f(x):\n    return {expression}\n",
            backend=backend,
            calls=1,
            backward=False,
            tolerance=1e-6,
        )
    assert [count > 0 for count in compiled] == [True, True, True, False]
