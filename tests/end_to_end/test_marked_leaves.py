"""`requires_grad_()` on values that the compiled function makes: leaves of its own, in the graph under every backend."""

import pytest
from tests.end_to_end.support import check_source

BACKENDS = pytest.mark.parametrize("backend", ["eager", "aot_eager"])


def program(*lines):
    body = "\n".join(f"    {line}" for line in ("y = x * 2", *lines))
    return f"""
import torch
K = torch.tensor([[0.3, 0.4]])
def args(): return torch.tensor([[0.5, -2.0]]).requires_grad_(), []
def f(x, log, k=K):
{body}
"""


ONE_GRAPH = {
    "intermediates": ["a=x.detach()*2", "a.requires_grad_()", "b=(a*x).sum()", "return b"],
    "backward": ["a=x.detach()*2", "a.requires_grad_()", "(a*x).sum().backward()", "return a.grad"],
    "returned": ["a=x.detach()*2", "a.requires_grad_()", "return a, (a*x).sum()"],
    "grad": ["a=x.detach()*2", "a.requires_grad_()", "return torch.autograd.grad((a*a*x).sum(), a)[0]"],
    "of ones": ["a=torch.ones(2).requires_grad_()", "(a*x).sum().backward()", "return a.grad"],
    "attr": [
        "a=x.detach().clone()",
        "a.requires_grad = True",
        "return torch.autograd.grad((a*a).sum(), a)[0]",
    ],
    "not used": ["a=x.detach()*2", "a.requires_grad_()", "return (x*2).sum()"],
    "without inputs: grad": [
        "a=k*2",
        "a.requires_grad_()",
        "return torch.autograd.grad((a*a*k).sum(), a)[0]",
    ],
    "without inputs: backward": [
        "a=k*2",
        "a.requires_grad_()",
        "(a*a*k).sum().backward()",
        "return a.grad+1",
    ],
    "without inputs: result": ["a=k*2", "a.requires_grad_()", "return (a*a*k).sum()"],
    "without inputs: result detached": ["a=k*2", "a.requires_grad_()", "return (a*a*k).sum().detach()"],
    "steps of signs": [
        "d=torch.zeros_like(k).requires_grad_()",
        "for i in range(3):",
        "  l=((k+d)*x).sin().sum()",
        "  g,=torch.autograd.grad(l,d)",
        "  d=(d+0.1*g.sign()).detach().requires_grad_()",
        "return (k+d).detach()",
    ],
    "steps of signs, returned": [
        "d=torch.zeros_like(k).requires_grad_()",
        "for i in range(3):",
        "  l=((k+d)*x).sin().sum()",
        "  g,=torch.autograd.grad(l,d)",
        "  d=(d+0.1*g.sign()).detach().requires_grad_()",
        "return k+d",
    ],
    "steps of signs, in place": [
        "d=torch.zeros_like(k)",
        "d.requires_grad_()",
        "for i in range(3):",
        "  l=((k+d)*x).sin().sum()",
        "  l.backward()",
        "  with torch.no_grad():",
        "    d.add_(d.grad.sign()*0.1)",
        "  d.grad=None",
        "return d.detach()*2",
    ],
    "a penalty": [
        "a=(k*0.3).requires_grad_()",
        "o=(a*x).sin().sum()",
        "g,=torch.autograd.grad(o,a,create_graph=True)",
        "return ((g.norm()-1)**2)",
    ],
    "a penalty, differentiated": [
        "a=(k*0.3).requires_grad_(True)",
        "o=(a*x).sin().sum()",
        "g,=torch.autograd.grad(o,a,create_graph=True)",
        "((g.norm()-1)**2).backward()",
        "return a.grad is None",
    ],
    "is_leaf": ["a=(k*0.3).requires_grad_(True)", "return a.is_leaf, a.requires_grad, (a*x).requires_grad"],
    "view": ["a=x.detach()", "a.requires_grad_()", "return torch.autograd.grad((a*a).sum(), a)[0]"],
    "in list": ["a=(k*0.3).requires_grad_(True)", "log.append(a)", "return (a*x).sum()"],
    "input written": ["a=(k*0.3).requires_grad_(True)", "b=torch.ones(1,2)", "b.mul_(a)", "return b*x"],
    "hook": [
        "a=(k*0.3).requires_grad_(True)",
        "a.register_hook(lambda g: g*2)",
        "(a*x).sum().backward()",
        "return a.grad",
    ],
    "hook returned": ["a=(k*0.3).requires_grad_(True)", "a.register_hook(lambda g: g*2)", "return a, a*x"],
    "retain": [
        "a=(k*0.3).requires_grad_(True)",
        "a.retain_grad()",
        "(a*x).sum().backward()",
        "return a.grad",
    ],
    "grad stored": [
        "a=(k*0.3).requires_grad_(True)",
        "a.grad=torch.ones(1,2)",
        "(a*x).sum().backward()",
        "return a.grad, a",
    ],
    "grad stored new": ["a=(k*0.3)", "a.grad=torch.ones(1,2)", "return a.grad, a"],
    "its gradient dropped": [
        "a=(k*0.3).requires_grad_(True)",
        "(a*x).sum().backward()",
        "a.grad=None",
        "return a*2",
    ],
    "its gradient dropped, and read": [
        "a=(k*0.3).requires_grad_(True)",
        "(a*x).sum().backward()",
        "a.grad=None",
        "log.append(a)",
        "return a.grad",
    ],
    "grad zero": [
        "a=(k*0.3).requires_grad_(True)",
        "(a*x).sum().backward()",
        "a.grad.zero_()",
        "(a*x).sum().backward()",
        "return a.grad",
    ],
    "hook2": [
        "a=(k*0.3).requires_grad_(True)",
        "a.register_hook(lambda g: g*2)",
        "return torch.autograd.grad((a*x).sum(),a)[0]",
    ],
}


@BACKENDS
@pytest.mark.parametrize("name", ONE_GRAPH)
def test_a_value_becomes_a_leaf_in_the_graph(name, backend):
    check_source(program(*ONE_GRAPH[name]), backend=backend, breaks=0, tolerance=1e-6)


AS_IN_EAGER = {
    "rg false": ["a=torch.ones(2, requires_grad=True)", "a.requires_grad_(False)", "return a*x"],
    "int": [
        "try: torch.ones(2,dtype=torch.int64).requires_grad_()",
        "except RuntimeError as e: return str(e)",
    ],
    "relu inplace": [
        "a=(k*0.3).requires_grad_(True)",
        "try: a.mul_(2)",
        "except RuntimeError as e: return str(e)",
    ],
    "hook effect": ["a=(k*0.3).requires_grad_(True)", "a.register_hook(log.append)", "return a, a*x"],
    "hook effect in": [
        "a=(k*0.3).requires_grad_(True)",
        "a.register_hook(log.append)",
        "(a*x).sum().backward()",
        "return a.grad",
    ],
    "grad read": ["a=(k*0.3).requires_grad_(True)", "(a*x).sum().backward()", "print(1)", "return a.grad"],
    "escapes by break": [
        "a=(k*0.3).requires_grad_(True)",
        "print(1)",
        "(a*x).sum().backward()",
        "return a.grad",
    ],
    "inference": [
        "with torch.no_grad():",
        "  a=(k*0.3).requires_grad_(True)",
        "  b=a*2",
        "return b+x, a.detach()",
    ],
}


@BACKENDS
@pytest.mark.parametrize("name", AS_IN_EAGER)
def test_any_other_leaf_is_that_of_eager(name, backend):
    check_source(program(*AS_IN_EAGER[name]), backend=backend, tolerance=1e-6)
