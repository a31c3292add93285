"""Hooks on gradients that only compute are part of the graph, whatever the backend; others do what they do in eager."""

import pytest
import torch
from tests.end_to_end.support import check, check_source
from tests.end_to_end.worlds import load

from framesmith import frontend
from framesmith.graph.backends.backend import aot_eager

BACKENDS = pytest.mark.parametrize("backend", ["eager", "aot_eager"])
SETUP = """
class Scaled:
    def __init__(self, factor): self.factor = factor
    def hook(self, g): return g * self.factor
given = Scaled(2)
limit = 0.1
def clip(g): return g.clamp(-0.1, 0.1)
def of_history(y):
    print('a break')
    y.register_hook(lambda g: g * 3)
    return y.sin()
"""


def program(*lines):
    body = "\n".join(f"    {line}" for line in ("y = x * 2", *lines))
    return f"import torch, functools\n{SETUP}\ndef args(): return torch.tensor([[0.5, -2.0]]).requires_grad_(), []\ndef f(x, log):\n{body}\n"


ONE_GRAPH = {
    "scales": ["y.register_hook(lambda g: g * 2)", "return y.sin()"],
    "of a value used before": ["z = y.exp()", "y.register_hook(lambda g: g + 1)", "return y.sin() * z"],
    "two in order": ["y.register_hook(lambda g: g * 2)", "y.register_hook(lambda g: g + 1)", "return y.sin()"],
    "gives nothing": ["y.register_hook(lambda g: None)", "return y.sin()"],
    "a function": ["y.register_hook(clip)", "return y.sin()"],
    "a method": ["y.register_hook(Scaled(3).hook)", "return y.sin()"],
    "a partial": ["y.register_hook(functools.partial(torch.mul, 3))", "return y.sin()"],
    "a norm": ["y.register_hook(lambda g: g / (g.norm() + 1e-6))", "return y.sin()"],
    "removed": ["h = y.register_hook(lambda g: g * 3)", "h.remove()", "h.remove()", "return y.sin()"],
    "of a result": ["y.register_hook(lambda g: g * 2)", "return y, y.sin()"],
    "of a value that does not lead to all results": ["y.register_hook(lambda g: g + 1)", "return y.sin(), x.exp()"],
    "uses a computed tensor": ["w = x.detach().exp()", "y.register_hook(lambda g: g * w)", "return y.sin()"],
    "uses one that is changed": ["w = x.detach() * 2", "y.register_hook(lambda g: g * w)", "w.add_(1)", "return y.sin()"],
    "uses one that is returned": ["w = x.detach() * 2", "y.register_hook(lambda g: g * w)", "return y.sin(), w"],
    "uses an argument": ["y.register_hook(lambda g: g * x.detach())", "return y.sin()"],
    "before a change in place": ["y.register_hook(lambda g: g * 10)", "y.mul_(3)", "return y.sin()"],
    "of a view": ["z = y[0]", "z.register_hook(lambda g: g * 10)", "y.mul_(2)", "return z.sin() * y.sum()"],
    "registered without gradients": ["with torch.no_grad(): y.register_hook(lambda g: g * 3)", "return y.sin()"],
    "in a loop": ["for i in range(3):", "    y = y.sin()", "    y.register_hook(lambda g, i=i: g * (i + 2))", "return y * 2"],
    "of an argument": ["x.register_hook(lambda g: g * 3)", "return y.sin()"],
    "of an argument, with an effect": ["x.register_hook(log.append)", "return y.sin()"],
    "of an argument, removed": ["h = x.register_hook(lambda g: g * 3)", "h.remove()", "return y.sin()"],
    "of an argument that is written to": [
        "x.register_hook(lambda g: g * 3)", "z = y.sin()", "with torch.no_grad(): x.add_(1)", "return z",
    ],
    "and a backward pass": ["y.register_hook(lambda g: g * 3)", "y.sin().sum().backward()", "return x.grad * 2"],
    "and gradients": ["y.register_hook(lambda g: g * 3)", "return torch.autograd.grad(y.sin().sum(), x)[0]"],
    "and its gradient": ["y.register_hook(lambda g: g * 3)", "return torch.autograd.grad(y.sin().sum(), y)[0]"],
    "between two backward passes": [
        "z = y.sin()", "z.sum().backward(retain_graph=True)", "y.register_hook(lambda g: g * 3)", "z.sum().backward()",
    ],
    "removed between two": [
        "h = y.register_hook(lambda g: g * 3)", "z = y.sin()", "z.sum().backward(retain_graph=True)",
        "h.remove()", "z.sum().backward()",
    ],
    "of an argument and a backward pass": [
        "h, k = x.register_hook(lambda g: g * 3), x.register_hook(lambda g: g + 1)",
        "y.sin().sum().backward()", "h.remove(), k.remove()", "return x.grad * 2",
    ],
}  # fmt: skip


@BACKENDS
@pytest.mark.parametrize("name", ONE_GRAPH)
def test_a_hook_that_computes_is_part_of_the_graph(name, backend):
    check_source(program(*ONE_GRAPH[name]), backend=backend, breaks=0, tolerance=1e-6)


AS_IN_EAGER = {
    "with an effect": ["y.register_hook(log.append)", "return y.sin()"],
    "with an effect, in a backward pass": ["y.register_hook(log.append)", "y.sin().sum().backward()", "return x.grad * 2"],
    "of an argument, with an effect, in a backward pass": [
        "h = x.register_hook(log.append)", "y.sin().sum().backward()", "h.remove()", "return x.grad * 2",
    ],
    "reads what changes": ["y.register_hook(lambda g: g * log[0] if log else g)", "log.append(5)", "return y.sin()"],
    "reads a variable that changes": ["s = 2", "y.register_hook(lambda g: g * s)", "s = 5", "return y.sin()"],
    "reads one that changes after a backward pass": [
        "s = 2", "y.register_hook(lambda g: g * s)", "y.sin().sum().backward(retain_graph=True)", "s = 5", "return y.sin()",
    ],
    "reads a global variable": ["y.register_hook(lambda g: g.clamp(-limit, limit))", "return y.sin()"],
    "reads an attribute": ["y.register_hook(given.hook)", "return y.sin()"],
    "asks for strides": ["y.register_hook(lambda g: g * 2 if g.is_contiguous() else g * 3)", "return y.sum()"],
    "asks for the mode": ["y.register_hook(lambda g: g * 2 if torch.is_grad_enabled() else g * 3)", "return y.sum()"],
    "reads a number": ["y.register_hook(lambda g: g * g.norm().item())", "return y.sin()"],
    "changes its gradient": ["y.register_hook(lambda g: g.mul_(2))", "return y.sin()"],
    "of one of several results": ["a, b = y.t().split(1)", "a.register_hook(lambda g: g * 2)", "return a.sin() + b"],
    "whose handle is returned": ["h = y.register_hook(lambda g: g * 10)", "return y.sin(), type(h).__name__"],
    "removed behind a break": ["h = y.register_hook(lambda g: g * 10)", "print(1)", "h.remove()", "return y.sin()"],
    "removed before a break": [
        "h = y.register_hook(lambda g: g * 10)", "z = y.sin()", "h.remove()", "print(1)", "return z * 2",
    ],
    "before a break": ["y.register_hook(lambda g: g * 10)", "print(1)", "return y.sin()"],
    "of a value with an older history": ["return of_history(y)"],
    "of an argument, and gradients": [
        "x.register_hook(lambda g: g * 3)", "return torch.autograd.grad(y.sin().sum(), x)[0]",
    ],
    "of an argument, asked for": ["x.register_hook(lambda g: g * 3)", "return y.sin(), len(x._backward_hooks)"],
    "of another size": [
        "y.register_hook(lambda g: g.sum())", "try: y.sin().sum().backward()", "except RuntimeError as e: return str(e)",
    ],
    "that raises": [
        "y.register_hook(lambda g: 1 / 0)", "try: y.sin().sum().backward()", "except ZeroDivisionError as e: return str(e)",
    ],
}  # fmt: skip


@BACKENDS
@pytest.mark.parametrize("name", AS_IN_EAGER)
def test_any_other_hook_does_what_it_does_in_eager(name, backend):
    check_source(program(*AS_IN_EAGER[name]), backend=backend, tolerance=1e-6)


@BACKENDS
def test_a_hook_with_a_size_serves_all_sizes(backend):
    def scaled(given):
        y = given[0] * 2
        y.register_hook(lambda g: g * g.shape[0])
        return y.sin().sum()

    def longer(given):
        given[0] = torch.ones(len(given[0]) + 1, requires_grad=True)

    leaf = [torch.ones(3, requires_grad=True)]
    report = check(scaled, leaf, calls=4, change=longer, backend=backend, breaks=0, tolerance=1e-6)
    assert len(report.recompiles) == 1


@pytest.mark.parametrize(("name", "graphs"), [("scales", 1), ("of a result", 0)])
def test_the_backend_is_given_what_it_runs_as_eager_does(name, graphs):
    taken = []

    def noting(module, examples):
        taken.append(module)
        return aot_eager(module, examples)

    namespace = load(program(*ONE_GRAPH[name]), "test")
    frontend.compile(namespace["f"], backend=noting, fullgraph=True)(*namespace["args"]())
    # The first graph shows that this backend differentiates what it is given.
    assert len(taken[1:]) == graphs


@pytest.mark.parametrize("backend", ["eager", "aot_eager"])
def test_a_hook_that_reads_what_holds_its_handle(backend):
    source = """
import torch

class Holder:
    factor = 1

def make():
    holder, weight = Holder(), torch.ones(3, requires_grad=True)

    def f(x):
        holder.factor += 1
        weight.register_hook(lambda gradient: gradient + 1)
        holder.handle = weight.register_hook(lambda gradient: gradient * holder.factor)
        return x * weight

    return f, weight, holder
"""
    found = []
    for compiles in (False, True):
        function, weight, holder = load(source, "program")["make"]()
        called = frontend.compile(function, backend=backend) if compiles else function
        seen = []
        for number in range(3):
            called(torch.ones(3) * (number + 1)).sum().backward()
            seen.append((weight.grad.tolist(), holder.factor, len(weight._backward_hooks)))
            if number:
                holder.handle.remove()
        found.append(seen)
    assert found[0] == found[1]
