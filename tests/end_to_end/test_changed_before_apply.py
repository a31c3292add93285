"""A `torch.autograd.Function` runs as it is in the graph: what it reads must not have been changed by the compiled function before."""

import pytest
from tests.end_to_end.support import check_source

PROGRAM = """
import torch
from torch.autograd import Function, grad
number, table, items = 2.0, {{"k": 2.0}}, [1.0, 2.0]
class Holder:
    scale = 3.0
holder, seen = Holder(), []
class Scaled(Function):
    factor = 2.0
    @staticmethod
    def forward(ctx, x): return x * {read}
    @staticmethod
    def backward(ctx, g): return g * {read}
def f(x):
    global number
    {body}
def args(): return (torch.ones(3, requires_grad=True),)
"""
CHANGES = {
    "number": "number = number + 3.0",
    "table['k']": "table['k'] += 1.0",
    "len(items)": "items.append(1.0)",
    "sum(items)": "items[0] = 7.0",
    "holder.scale": "holder.scale = 7.0",
    "Scaled.factor": "Scaled.factor = 7.0",
    "getattr(holder, 'scale')": "holder.scale = 7.0",
}


@pytest.mark.parametrize(("read", "change"), CHANGES.items())
def test_forward_finds_what_was_changed_before(read, change):
    body = f"{change}\n    return Scaled.apply(x)"
    check_source(PROGRAM.format(read=read, body=body), calls=2)


@pytest.mark.parametrize(("read", "change"), CHANGES.items())
def test_backward_in_the_graph_finds_what_was_changed_before(read, change):
    body = f"y = Scaled.apply(x)\n    {change}\n    return y.detach(), grad(y.sum(), x)"
    check_source(PROGRAM.format(read=read, body=body), calls=2)


@pytest.mark.parametrize(("read", "change"), CHANGES.items())
def test_backward_behind_the_graph_finds_what_was_changed_before(read, change):
    body = f"y = Scaled.apply(x)\n    {change}\n    return y"
    check_source(PROGRAM.format(read=read, body=body), calls=2)


@pytest.mark.parametrize("change", ["seen.append(1)", "holder.other = len(seen)", "x.grad = None"])
def test_a_change_of_what_it_does_not_read_leaves_one_graph(change):
    body = f"{change}\n    y = Scaled.apply(x)\n    {change}\n    return grad(y.sum(), x)"
    check_source(PROGRAM.format(read="table['k']", body=body), calls=2, breaks=0, graphs=1)


def test_a_closure_that_was_changed():
    source = (
        "import torch\nfrom torch.autograd import Function\n"
        "def make():\n    n = 2.0\n"
        "    class Scaled(Function):\n"
        "        @staticmethod\n        def forward(ctx, x): return x * n\n"
        "        @staticmethod\n        def backward(ctx, g): return g * n\n"
        "    def change():\n        nonlocal n\n        n = n + 1.0\n"
        "    return Scaled, change\n"
        "Scaled, change = make()\n"
        "def f(x):\n    change()\n    return Scaled.apply(x)\n"
        "def args(): return (torch.ones(3, requires_grad=True),)\n"
    )
    check_source(source, calls=2)


def test_a_training_step_around_it_stays_one_graph():
    check_source(
        "import torch\nfrom torch import nn, optim\nfrom torch.autograd import Function\ntorch.manual_seed(0)\n"
        "class Round(Function):\n"
        "    @staticmethod\n    def forward(ctx, x, scale): ctx.save_for_backward(x); return (x / scale).round() * scale\n"
        "    @staticmethod\n    def backward(ctx, g): return g * (ctx.saved_tensors[0].abs() < 3), None\n"
        "model, losses = nn.Linear(3, 2), []\noptimizer = optim.AdamW(model.parameters(), 0.1)\n"
        "def f(x):\n"
        "    for _ in range(2):\n"
        "        optimizer.zero_grad()\n        loss = Round.apply(model(x), 0.1).pow(2).sum()\n        loss.backward()\n"
        "        optimizer.step()\n        losses.append(loss.detach())\n"
        "    return loss.detach()\n"
        "def args(): return (torch.ones(3, 3),)\n",
        calls=4,
        backward=False,
        breaks=0,
    )
