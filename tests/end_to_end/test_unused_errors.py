"""What raises in eager raises although nothing needs its result, also where a backend replaces the operations and drops such ones."""

import pytest
import torch
from tests.end_to_end.support import check_source
from torch._functorch.aot_autograd import aot_module_simplified

from framesmith import frontend

HEAD = """
import numpy
import torch
import torch.nn.functional as F
from torch.utils.checkpoint import checkpoint
far, near, none = torch.tensor([9]), torch.tensor([0, 1]), torch.tensor([0, 0])
def args(): return [torch.linspace(-1, 1, 16).reshape(4, 4).requires_grad_(GRADIENT)]
class Own(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        x[far]
        return x * 2
    @staticmethod
    def backward(ctx, gradient):
        return gradient * 2
"""
OPERATIONS = [
    "x[far]",
    "(x[far] * 2).sum().exp()",
    "x.gather(0, far[None])",
    "F.embedding(far, x)",
    "F.one_hot(far, 3)",
    "torch.linalg.inv(x * 0)",
    "torch.linalg.svd(x * float('nan'))",
    "F.cross_entropy(x, torch.tensor([0, 1, 9, 2]))",
    "F.binary_cross_entropy(x * 0 + 5, x)",
    "torch.multinomial(x * 0, 1)",
    "near // none",
    "x @ x.double()",
    "x.clone()[far] = 1.0",
    "x.clone().index_put_((far,), x[0])",
    "torch.index_select(x.detach(), 0, far, out=torch.empty(1, 4))",
    "y = x[far]; y[:] = 0.0; x = x + y",
    "y = torch.empty(1, 4); torch.index_select(x.detach(), 0, far, out=y); y.zero_(); x = x + y",
    "x = x + torch.zeros_like(x[far])",
    "x = x + x[far].shape[0]",
    "x.as_strided((99,), (99,))",
    "torch._assert_async(x.sum() > 1e9)",
    "checkpoint(lambda one: (one[far], one + 1)[1], x, use_reentrant=False)",
    "Own.apply(x)",
    "x = Own.apply(x)",
    "near.clone()[0] = 2**63",
    "torch.full((2,), 300, dtype=torch.uint8)",
    "near.masked_fill(near > 0, 2**63)",
    "torch.linspace(0, 1e30, 3, dtype=torch.int64)",
    "x[[9, 9]]",
    "x[:0].max()",
    "x[:0].median(0)",
    "x.sort(5)",
    "x.argsort(-3)",
    "x.sort(5)[0].exp()",
    "torch.softmax(x, 2)",
    "torch.cummax(x.sum(), 1)",
    "torch.logsumexp(x, (5,))",
    "x.select(-3, 0)",
    "F.conv1d(x[None], torch.ones(1, 4, 2), dilation=0)",
    "F.pixel_unshuffle(x[None], 3)",
    "F.soft_margin_loss(x.sum(), torch.ones(3))",
    "x.select_scatter(x[0, :1], 0, 1)",
    "torch.diagonal_scatter(x, x[0, :1])",
    "torch.linalg.cross(x[:, :3], x[:, :3].double())",
    "torch.heaviside(x.detach(), x.detach().double())",
    "torch.quantile(x.detach(), 1.5)",
    "F.grid_sample(x[None, None], torch.zeros(1, 2, 2, 2, dtype=torch.double))",
    "torch.addmv(x[0], torch.ones(0, 4), x[0])",
    "torch.bitwise_and(near, 3.5)",
    "near ^ 2j",
    "torch.bitwise_or(near, numpy.float32(1.5))",
    "x < 2j",
    "torch.ge(near, 2j)",
    "torch.sub(near > 0, True)",
    "torch.sub(x, True)",
    "True - near",
    "torch.clamp(x, 2j)",
    "torch.clamp(x, max=2j)",
    "torch.lerp(x, x, 2j)",
    "torch.full_like(x, 2j)",
    "torch.copysign(near, 2j)",
    "torch.addcmul(x, x, x, value=2j)",
    "torch.add(near > 0, near > 0, alpha=3.5)",
    "(near > 0) == 2**63",
    "near.clone().add_(2.5)",
    "near.clone().fill_(2j)",
    "torch.full((2,), 2j, dtype=torch.float32)",
    "torch.arange(3, dtype=torch.bool)",
    "torch.arange(3, dtype=torch.complex64)",
    "torch.eye(2, dtype=torch.uint16)",
    "x.detach().cumsum(0, dtype=torch.bool)",
]


@pytest.mark.parametrize("operation", OPERATIONS)
@pytest.mark.parametrize("gradient", [True, False])
@pytest.mark.parametrize("backend", ["eager", "aot_eager"])
def test_errors_of_what_nothing_needs(operation, gradient, backend) -> None:
    check_source(
        HEAD.replace("GRADIENT", str(gradient)) + f"def f(x):\n    {operation}\n    return x * 2\n",
        backend=backend,
        calls=2,
    )


FAR = torch.tensor([9])
TRANSFORMS = [
    lambda x: torch.vmap(lambda one: (one[FAR], one + 1)[1])(x),
    lambda x: torch.func.grad(lambda one: (one[FAR], one.sum())[1])(x),
]


@pytest.mark.parametrize("program", TRANSFORMS, ids=["vmap", "grad"])
@pytest.mark.parametrize("backend", ["eager", "aot_eager"])
def test_errors_of_what_a_transformed_function_does_not_need(program, backend) -> None:
    with pytest.raises(IndexError, match="index 9 is out of bounds for dimension 0 with size 4"):
        frontend.compile(program, backend=backend)(torch.ones(4, 4))


def test_only_what_leads_to_no_result_is_a_result() -> None:
    sizes = []

    def backend(module, examples):
        sizes.append(len(module.graph.output_node().args[0]))
        return aot_module_simplified(module, examples, fw_compiler=lambda graph, given: graph.forward)

    for body in ("y = x[near]; y.add_(1); y[0] = 2.0; return y", "x[near]; x[near].sum(); return x * 2"):
        check_source(HEAD.replace("GRADIENT", "True") + f"def f(x):\n    {body}\n", backend=backend)
    assert sizes == [1, 3]


REPEATED = """
import torch
from torch import nn

class Layer(nn.Module):
    def __init__(self):
        super().__init__()
        self.table, self.weight = nn.Parameter(torch.ones(4, 4)), nn.Parameter(torch.eye(4))
    def forward(self, x, place):
        self.table[place]
        return torch.relu(x @ self.weight)

class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = nn.ModuleList(Layer() for _ in range(5))
        self.layers[3].table = nn.Parameter(torch.ones(ROWS, 4))
    def forward(self, x, place):
        for layer in self.layers:
            x = layer(x, place)
        return x

def f(model, x, place): return model(x, place)
def args(): return [Model(), torch.ones(4, 4), torch.tensor([PLACE])]
"""


@pytest.mark.parametrize("rows, place", [(4, 3), (4, 9), (3, 3)])
@pytest.mark.parametrize("backend", ["eager", "aot_eager"])
def test_errors_of_what_nothing_needs_in_a_repeated_layer(rows, place, backend) -> None:
    source = REPEATED.replace("ROWS", str(rows)).replace("PLACE", str(place))
    check_source(source, backend=backend, calls=2)
