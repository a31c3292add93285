"""Floats that change from call to call, read by the functions of an operator: one entry serves them, in one graph."""

import functools

import pytest
import torch
from tests.end_to_end.compare import Comparison
from torch._dynamo.backends.registry import lookup_backend
from torch.utils import checkpoint

from framesmith import frontend


def both(function, arguments, backend, *, count=2):
    """Compare results and gradients of the calls; the compiled function is captured whole, in so many graphs at most."""
    graphs = []

    def counted(module, examples):
        graphs.append(module)
        if backend == "eager":
            return module.forward
        return lookup_backend("aot_eager")(module, examples)

    compiled = frontend.compile(function, backend=counted, fullgraph=True)
    for number in arguments:
        found = []
        for call in (function, compiled):
            x = torch.linspace(0, 1, 4).to(number[1]).requires_grad_()
            result = call(x, number[0])
            result.sum().backward()
            found.append((result.detach(), x.grad))
        Comparison().same(*found, f"{number}")
    assert len(graphs) <= count


def pair(function):
    """As `torch.cond`, which eager would compile by torch's own compiler."""

    def chosen(x, s):
        return torch.cond(x.sum() > 1, *function(s), (x,))

    return chosen


BRANCHES = {
    "read": lambda s: (lambda x: x * s, lambda x: x - s),
    "computed": lambda s: (lambda x: x * (s + 1), lambda x: (s / 2 - x) * s),
    "in one": lambda s: (lambda x: x.sin(), lambda x: x / s),
    "decided": lambda s: (lambda x: x * s, lambda x: x * 2 if s > 0 else x * 3),
    "sizes": lambda s: (lambda x: x * s + x.shape[0] / 2, lambda x: x - s * x.shape[0]),
}
NUMBERS = [0.5, 1.5, 2.5, 0.1, 1e30, 7.25, 0.0, float("inf"), 3.0, 1 / 3]


@pytest.mark.parametrize("backend", ["eager", "aot_eager"])
@pytest.mark.parametrize("name", BRANCHES)
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64, torch.float16])
def test_a_branch_of_cond_reads_a_float(name, backend, dtype):
    branches = BRANCHES[name]

    def plain(x, s):
        true, false = branches(s)
        return true(x) if x.sum() > 1 else false(x)

    function = pair(branches)
    compiled = frontend.compile(function, backend=backend, fullgraph=True)
    for number in NUMBERS:
        found = []
        for call in (plain, compiled):
            x = torch.linspace(0, 1, 4).to(dtype).requires_grad_()
            result = call(x, number)
            result.sum().backward()
            found.append((result.detach(), x.grad))
        Comparison(rtol=1e-6).same(*found, f"{name} {number}")


@pytest.mark.parametrize("backend", ["eager", "aot_eager"])
@pytest.mark.parametrize("is_nested", [False, True])
def test_floats_outside_and_inside_of_branches(backend, is_nested):
    def branch(x, s):
        return torch.cond(x.sum() > 9, lambda x: x * s, lambda x: x + s, (x,)) if is_nested else x + s

    compiled = frontend.compile(
        lambda x, s: torch.cond((x * s).sum() > 1, lambda x: branch(x, s), lambda x: x / s, (x * s,)) - s,
        backend=backend,
        fullgraph=True,
    )
    for s in NUMBERS[:6]:
        x = torch.linspace(0, 1, 4)
        y = x * s
        wanted = y / s if y.sum() <= 1 else y * s if is_nested and y.sum() > 9 else y + s
        assert torch.equal(compiled(x, s), wanted - s)


class Scaled(torch.autograd.Function):
    """A function with a float that both directions read."""

    @staticmethod
    def forward(ctx, x, s):
        ctx.s = s
        return x * s

    @staticmethod
    def backward(ctx, g):
        return g * ctx.s * 2, None


BODIES = {
    "checkpoint": lambda x, s: checkpoint.checkpoint(lambda x: (x * s).sin() + s, x, use_reentrant=False),
    "reentrant": lambda x, s: checkpoint.checkpoint(lambda x: (x * s).sin() + s, x, use_reentrant=True),
    "function": lambda x, s: Scaled.apply(x, s),
}


@pytest.mark.parametrize("name", BODIES)
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64, torch.bfloat16])
def test_a_body_reads_a_float(name, dtype):
    numbers = [(0.5, dtype), (1.5, dtype), (0.1, dtype), (7.25, dtype), (1 / 3, dtype)]
    for backend in ("eager", "aot_eager"):
        # The node of a function calls it, with the number.
        both(BODIES[name], numbers, backend, count=len(numbers) + 1 if name == "function" else 2)


def test_a_transform_of_a_branch_fixes_it():
    def inner(x, s):
        return torch.cond(x.sum() > 1, lambda x: x * s, lambda x: x + s, (x,))

    compiled = frontend.compile(
        lambda x, s: torch.func.vmap(functools.partial(inner, s=s))(x), backend="eager"
    )
    for s in (0.5, 1.5, 2.5):
        x = torch.arange(6.0).reshape(3, 2)
        assert torch.equal(compiled(x, s), torch.stack([one * s if one.sum() > 1 else one + s for one in x]))
