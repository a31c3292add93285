"""What a backward pass calls again reads what there is then: a checkpointed function, and a `Function` that was given a list."""

import pytest
from tests.end_to_end.support import check_source

CHECKPOINT = """
import torch
from torch import nn
from torch.utils.checkpoint import checkpoint
scale, table, weight = 2.0, {{"k": 2.0}}, torch.ones(3)
drop, seen = nn.Dropout(0.5), []
def run(x): return torch.sin(drop(x) * {read})
def f(x):
    global scale
    y = checkpoint(run, x, use_reentrant={reentrant})
    {body}
def args(): return (torch.ones(3, requires_grad=True),)
"""
CHANGES = {
    "scale": "scale = scale + 1.0",
    "table['k']": "table['k'] += 1.0",
    "weight": "weight.add_(1.0)",
    "weight.mean()": "torch.mul(weight, 2, out=weight)",
}
OPERAND = """
import torch
from torch.autograd import Function, grad
numbers = [2.0]
class Scaled(Function):
    @staticmethod
    def forward(ctx, x, given): ctx.given = given; return x * 1.0
    @staticmethod
    def backward(ctx, g): return g * ctx.given[0], None
def f(x):
    {body}
def args(): return (torch.ones(3, requires_grad=True),)
"""


@pytest.mark.parametrize("reentrant", [False, True])
@pytest.mark.parametrize(("read", "change"), CHANGES.items())
@pytest.mark.parametrize("end", ["return y", "y.sum().backward()\n    return x.grad"])
def test_a_checkpoint_sees_a_change_behind_it(read, change, end, reentrant):
    body = f"{change}\n    {end}"
    check_source(CHECKPOINT.format(read=read, body=body, reentrant=reentrant), calls=2)


@pytest.mark.parametrize(("read", "change"), CHANGES.items())
def test_a_change_that_is_taken_back_behind_the_backward_pass(read, change):
    back = (
        "scale = 2.0" if read == "scale" else "table['k'] = 2.0" if "table" in read else "weight.fill_(1.0)"
    )
    body = f"{change}\n    y.sum().backward()\n    {back}\n    return x.grad"
    check_source(CHECKPOINT.format(read=read, body=body, reentrant=False), calls=2)


@pytest.mark.parametrize(("read", "change"), CHANGES.items())
def test_a_change_behind_the_backward_pass_leaves_one_graph(read, change):
    body = f"y.sum().backward()\n    {change}\n    return x.grad"
    source = CHECKPOINT.format(read=read, body=body, reentrant=False).replace(
        "scale = scale + 1.0", "scale = 2.0"
    )
    report = check_source(source, calls=2, breaks=0)
    assert report.runs_per_call == [1, 1]


def test_another_change_leaves_one_graph():
    body = "seen.append(1)\n    return y"
    check_source(CHECKPOINT.format(read="scale", body=body, reentrant=False), calls=2, breaks=0)


def test_a_kept_history_is_run_again_after_a_change():
    body = "y.sum().backward(retain_graph=True)\n    scale = scale + 1.0\n    y.sum().backward()\n    return x.grad"
    check_source(CHECKPOINT.format(read="scale", body=body, reentrant=False), calls=2)


def test_the_parameters_of_a_checkpoint_are_stepped():
    check_source(
        "import torch\nfrom torch import nn, optim\nfrom torch.utils.checkpoint import checkpoint\ntorch.manual_seed(0)\n"
        "model = nn.Sequential(nn.Linear(3, 3), nn.Tanh(), nn.Dropout(0.2))\noptimizer = optim.AdamW(model.parameters(), 0.1)\n"
        "def f(x):\n"
        "    for _ in range(2):\n"
        "        optimizer.zero_grad()\n        loss = checkpoint(model, x, use_reentrant=False).pow(2).sum()\n"
        "        loss.backward()\n        optimizer.step()\n"
        "    return loss.detach()\n"
        "def args(): return (torch.ones(3, 3),)\n",
        calls=4,
        backward=False,
        breaks=0,
    )


@pytest.mark.parametrize("given", ["numbers", "made"])
@pytest.mark.parametrize("end", ["return y, made", "return grad(y.sum(), x)"])
def test_a_list_given_to_a_function_is_changed_behind_the_call(given, end):
    body = f"made = [4.0]\n    y = Scaled.apply(x, {given})\n    {given}[0] += 1.0\n    {end}"
    check_source(OPERAND.format(body=body), calls=2)


def test_a_list_that_stays_as_it_is_leaves_one_graph():
    body = "made = [4.0]\n    y = Scaled.apply(x, made)\n    return grad(y.sum(), x)"
    check_source(OPERAND.format(body=body), calls=2, breaks=0)


READING = """
import torch
from torch.autograd import Function, grad
numbers, scale = {{"k": 2.0}}, 2.0
class Scaled(Function):
    factor = 2.0
    @staticmethod
    def forward(ctx, x): return x * 1.0
    @staticmethod
    def backward(ctx, g): return g * {read}
def f(x):
    global scale
    y = Scaled.apply(x)
    {body}
def args(): return (torch.ones(3, requires_grad=True),)
"""


@pytest.mark.parametrize("backend", [None, "aot_eager"])
@pytest.mark.parametrize(
    "body",
    [
        "{change}; return y * 2",
        "(g,) = grad(y.sum(), x); {change}; return g",
        "{change}; (g,) = grad(y.sum(), x); return g",
        "return y * 2",
    ],
)
@pytest.mark.parametrize(
    ("read", "change"),
    [
        ("numbers['k']", "numbers['k'] += 1.0"),
        ("scale", "scale = scale + 1.0"),
        ("Scaled.factor", "Scaled.factor += 1.0"),
    ],
)
def test_what_the_backward_of_a_function_reads_is_changed_behind_the_call(
    read, change, body, backend
) -> None:
    check_source(READING.format(read=read, body=body.format(change=change)), backend=backend, change=None)
