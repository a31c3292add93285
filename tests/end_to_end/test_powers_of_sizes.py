"""Powers whose base or exponent is a number that changes, differentiated by a backend that replaces operations."""

import operator

import pytest
import torch

from framesmith import frontend

FORMS = {
    "operator": lambda x, n: x**n,
    "base": lambda x, n: (n + 2) ** x,
    "function": lambda x, n: torch.pow(x, n),
    "named": lambda x, n: torch.pow(x, exponent=n),
    "function of a base": lambda x, n: torch.pow(n + 2, x),
    "method": lambda x, n: x.pow(n),
    "in place": lambda x, n: x.clone().pow_(n),
    "assigned": lambda x, n: operator.ipow(x.clone(), n),
    "of a size": lambda x, n: x ** x.shape[0] + x.shape[0] ** x,
}


@pytest.mark.parametrize("backend", ["eager", "aot_eager"])
@pytest.mark.parametrize("name", FORMS)
def test_a_power_and_its_gradient(name, backend):
    function = FORMS[name]
    compiled = frontend.compile(function, backend=backend)
    for number in (2, 3, 0, 4, 5, 3):
        x = torch.linspace(1.5, 2.5, number + 2, requires_grad=True)
        y = x.detach().clone().requires_grad_()
        expected, found = function(x, number), compiled(y, number)
        expected.sum().backward()
        found.sum().backward()
        assert torch.equal(found, expected) and torch.equal(y.grad, x.grad)


def test_an_exponent_stays_symbolic_where_nothing_is_differentiated():
    compiled = frontend.compile(lambda x, n: x**n, backend="aot_eager")
    for number in (2, 3, 4, 5, 6):
        assert torch.equal(compiled(torch.ones(2) * 3, number), (torch.ones(2) * 3) ** number)
    assert len(frontend.explain(compiled)().graphs) <= 2


@pytest.mark.inductor
def test_powers_of_integers_are_compiled_by_inductor():
    def power(x, n):
        return x.long() ** n, torch.pow(x.int(), n), n ** x.long()

    compiled = frontend.compile(power, backend="inductor")
    for number in (1, 2, 3, 2):
        found = compiled(torch.arange(3.0), number)
        assert all(map(torch.equal, found, power(torch.arange(3.0), number)))
