"""`register_hook` and `retain_grad` of tensors that the compiled function computes."""

import pytest
import torch
from tests.end_to_end.support import check, check_source
from torch import nn

PROGRAMS = {
    "changes the gradient": "y.register_hook(lambda g: g.clamp(-0.5, 0.5))\nreturn y.sin()",
    "collects": "y.register_hook(log.append)\nreturn y.sin()",
    "uses a tensor of the graph": "w = x.detach().sigmoid(); y.register_hook(lambda g: g * w)\nreturn y.sin()",
    "changes a variable": "n = 0\ndef hook(g):\n    nonlocal n\n    n += 1\n    log.append(n)\ny.register_hook(hook)\nreturn y.sin()",
    "two in order": "y.register_hook(lambda g: log.append('a'))\ny.register_hook(lambda g: g * len(log))\nreturn y.sin()",
    "of a value changed afterwards": "y.register_hook(lambda g: g * 10)\ny.mul_(3)\nreturn y.sin()",
    "of a value changed before": "y.mul_(3)\ny.register_hook(lambda g: g * 10)\nreturn y.sin()",
    "of a view": "z = y[0]\nz.register_hook(lambda g: g * 10)\nreturn y.sin(), z",
    "of a value that is dropped": "y.exp().register_hook(lambda g: g * 10)\nreturn y.sin()",
    "retained": "y.retain_grad()\nreturn y, y.sin()",
    "retained by a leaf": "x.retain_grad()\nreturn y.sin()",
}


def program(lines, after=""):
    body = lines.replace("\n", "\n    ")
    return f"""
import torch
def args(): return torch.tensor([[0.5, -2.0]]).requires_grad_(), []
def f(x, log):
    y = x * 2
    {body}
{after}"""


@pytest.mark.parametrize("name", PROGRAMS)
def test_a_hook_of_a_computed_tensor_is_part_of_the_graph(name):
    check_source(program(PROGRAMS[name]), breaks=0)


@pytest.mark.parametrize("name", sorted(PROGRAMS.keys() - {"of a value that is dropped"}))
def test_a_hook_runs_as_in_eager_behind_a_graph_of_other_operations(name):
    """AOTAutograd runs a hook of a result that has no part in the loss with None, outside of the graph too."""
    check_source(program(PROGRAMS[name]), backend="aot_eager")


LATER = {
    "a break": "torch._dynamo.graph_break()",
    "its handle": "log.append(type(handle).__name__); handle.remove()",
    "its handle after a break": "torch._dynamo.graph_break()\nhandle.remove()",
    "a backward pass": "y.sum().backward(retain_graph=True)",
    "gradients": "log.append(torch.autograd.grad(y.sum(), x, retain_graph=True)[0])",
    "the hooks": "log.append(len(y._backward_hooks))",
    "the mark": "y.retain_grad()\nlog.append(y.retains_grad)",
    "an error": "log[7]",
}


@pytest.mark.parametrize("name", LATER)
def test_what_follows_a_hook_sees_it(name):
    lines = f"handle = y.register_hook(lambda g: g * 10)\n{LATER[name]}\nreturn y.sin()"
    check_source(program(lines))


@pytest.mark.parametrize("name", ["register_hook(print)", "retain_grad()"])
def test_a_tensor_without_a_gradient_refuses_it(name):
    check_source(program(f"return x.detach().{name}"), breaks=0)


class Clamped(nn.Module):
    def __init__(self):
        super().__init__()
        self.linear = nn.Linear(4, 4)

    def forward(self, x):
        y = self.linear(x)
        y.register_hook(lambda gradient: gradient.clamp(max=0.1))
        return y.relu()


def test_modules_in_a_row_have_hooks_of_their_own():
    check(nn.Sequential(*[Clamped() for _ in range(4)]), torch.randn(2, 4), breaks=0)


OF_VALUES_USED_BEFORE = {
    "a hook": "y.register_hook(log.append)",
    "a hook that changes the gradient": "y.register_hook(lambda g: g * 10)",
    "a retained gradient": "y.retain_grad()\nlog.append(y)",
    "a hook behind a break": "torch._dynamo.graph_break()\ny.register_hook(log.append)",
    "hooks in a loop": "ys = [y, z]; z = z * 2\nfor one in ys: one.register_hook(log.append)",
    "a gradient given to it": "z.sum().backward(inputs=[y], retain_graph=True)\nlog.append(y.grad)",
}


@pytest.mark.parametrize("backend", ["eager", "aot_eager"])
@pytest.mark.parametrize("name", OF_VALUES_USED_BEFORE)
def test_a_value_used_before_has_its_whole_gradient(name, backend):
    check_source(program(f"z = y.sin()\n{OF_VALUES_USED_BEFORE[name]}\nreturn z * y"), backend=backend)
