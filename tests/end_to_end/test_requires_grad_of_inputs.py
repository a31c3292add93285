"""`requires_grad_()` on what a function is given, and on parameters: where the graph runs as captured it is a part of it."""

import pytest
import torch
from tests.end_to_end.support import check_source

from framesmith import frontend

PROGRAM = """
import torch
from torch import autograd, nn
torch.manual_seed(1)
layer, mask = nn.Linear(4, 4), torch.ones(3, 4)
layers = nn.ModuleList([nn.Linear(4, 4) for _ in range(4)])
def f(x, y):
    {body}
def args():
    torch.manual_seed(2)
    x = torch.randn(3, 4)
    return x, x[1:]
"""
BODIES = {
    "gradient": "x.requires_grad_(); return autograd.grad((x ** 3).sum(), x)",
    "backward": "x.requires_grad_(True); (x ** 3).sum().backward(); x.requires_grad_(False); return x.grad.clone()",
    "attribute": "x.requires_grad = True; z = x * 2; x.requires_grad = False; return z, z.requires_grad",
    "nothing else": "x.requires_grad_(not x.requires_grad)",
    "given back": "return x.requires_grad_()",
    "order": "a = x * 2; x.requires_grad_(); b = x * 2; return a, b, a.requires_grad, b.requires_grad",
    "view": "v = y[0]; y.requires_grad_(); return v.requires_grad, y * 2, x * 2, x.requires_grad",
    "global variable": "mask.requires_grad_(not mask.requires_grad); return x * mask",
    "without gradients": "with torch.no_grad(): x.requires_grad_(); z = x * 2\n    return z, x * 3",
    "module": "layer.requires_grad_(False); z = layer(x); layer.requires_grad_(True); return z, layer(x)",
    "repeated": (
        "layers[1].weight.requires_grad_(False)\n    for one in layers: x = one(x)\n"
        "    layers[1].weight.requires_grad_(True)\n    for one in layers: x = one(x)\n    return x"
    ),
    "changed before": "mask.add_(1); mask.requires_grad_(); z = (x * mask).sum(); mask.requires_grad_(False); return z",
    "transform": "x.requires_grad_(); return torch.func.grad(lambda v: (v ** 2).sum())(x)",
}


@pytest.mark.parametrize("body", BODIES.values(), ids=BODIES)
def test_it_is_in_the_graph(body):
    check_source(PROGRAM.format(body=body), breaks=0, change=again)


def again(x, y):
    x.requires_grad_(False)
    y.requires_grad_(False)


@pytest.mark.parametrize("body", BODIES.values(), ids=BODIES)
def test_a_backend_that_replaces_operations_breaks(body):
    check_source(PROGRAM.format(body=body), backend="aot_eager", change=again, tolerance=1e-6)


REFUSED = {
    "a tensor with a history": "z = (x * 1).requires_grad_(); w = z * 2; w.requires_grad_(False)",
    "integers": "x.long().requires_grad_()",
    "a graph that raises": "x.requires_grad_(); z = x * 2; return z[torch.tensor([9])]",
}


@pytest.mark.parametrize("body", REFUSED.values(), ids=REFUSED)
def test_errors_are_those_of_eager(body):
    check_source(PROGRAM.format(body=body), backward=False, change=again)


@pytest.mark.parametrize("form", ["{}.requires_grad_({})", "{}.requires_grad = {}"])
def test_the_judge_of_a_training_step_is_frozen_for_a_time(form):
    off, on = (f"[{form} for p in judge.parameters()]".format("p", value) for value in (False, True))
    if "=" in form:
        off, on = (f"for p in judge.parameters(): {form}".format("p", value) for value in (False, True))
    report = check_source(
        "import torch\nimport torch.nn.functional as F\nfrom torch import nn, optim\ntorch.manual_seed(0)\n"
        "maker, judge = nn.Linear(2, 2), nn.Linear(2, 1)\n"
        "first, second = optim.Adam(judge.parameters(), 0.01), optim.Adam(maker.parameters(), 0.01)\n"
        f"def f(x):\n    {on}\n    first.zero_grad()\n"
        "    (F.softplus(-judge(x)) + F.softplus(judge(maker(x).detach()))).mean().backward()\n    first.step()\n"
        f"    {off}\n    second.zero_grad()\n"
        "    loss = F.softplus(-judge(maker(x))).mean()\n    loss.backward()\n    second.step()\n    return loss.detach()\n"
        "def args(): return (torch.ones(3, 2),)\n",
        calls=4,
        backward=False,
        breaks=0,
    )
    assert report.runs_per_call == [1] * 4


def test_a_leaf_that_has_a_history_by_then_is_another_entry():
    compiled = frontend.compile(
        lambda x: x.requires_grad_(x.requires_grad) * 2, backend="eager", fullgraph=True
    )
    leaf = torch.ones(2, requires_grad=True)
    for given in (torch.ones(2), leaf, leaf * 1):
        assert torch.equal(compiled(given), torch.full((2,), 2.0))
