"""`torch.autograd.functional`: its Python code is traced, with what it differentiates."""

import pytest
from tests.end_to_end.support import check_source

SETUP = """
import torch
from torch.autograd.functional import hessian, hvp, jacobian, jvp, vhp, vjp
w = torch.linspace(-1, 1, 4).requires_grad_()
def plain_args(): return torch.linspace(-1, 2, 4), torch.linspace(1, 3, 4)
def leaf_args(): return tuple(one.requires_grad_() for one in plain_args())
def cube(a): return (a**3 * w).sum()
def both(a, b): return a * b.exp(), a.sum() * b
"""
CALLS = {
    "jacobian": "jacobian(torch.exp, x)",
    "jacobian of two": "jacobian(both, (x, v))",
    "jacobian that is followed": "jacobian(torch.exp, x, create_graph=True)",
    "strict jacobian": "jacobian(lambda a: a * 2, x, strict=True)",
    "jacobian at once": "jacobian(torch.exp, x, vectorize=True)",
    "hessian": "hessian(cube, x)",
    "hessian of two": "hessian(lambda a, b: (a * b).pow(2).sum(), (x, v))",
    "hessian at once": "hessian(cube, x, vectorize=True)",
    "vjp": "vjp(torch.exp, x, v)",
    "vjp of a number": "vjp(cube, x)",
    "jvp": "jvp(torch.exp, x, v)",
    "vhp": "vhp(cube, x, v)",
    "hvp": "hvp(cube, x, v)",
    "something unused": "jacobian(lambda a, b: a * 2, (x, v))",
}
ERRORS = {
    "strict": "jacobian(lambda a: torch.ones(3), x, strict=True)",
    "no number": "hessian(torch.exp, x)",
    "another shape": "vjp(torch.exp, x, v[:2])",
    "forward mode": "jacobian(torch.exp, x, vectorize=True, strategy='forward-mode')",
}


def program(call: str, inputs: str) -> str:
    return f"{SETUP}\ndef f(x, v): return {call}\nargs = {inputs}\n"


@pytest.mark.parametrize("inputs", ["plain_args", "leaf_args"])
@pytest.mark.parametrize("name", CALLS)
def test_derivatives_are_in_one_graph(name, inputs):
    check_source(program(CALLS[name], inputs), breaks=0, graphs=1)


@pytest.mark.parametrize("backend", ["eager", "aot_eager"])
@pytest.mark.parametrize("name", [*CALLS, *ERRORS])
def test_derivatives_are_those_of_eager(name, backend):
    check_source(program({**CALLS, **ERRORS}[name], "leaf_args"), backend=backend)
