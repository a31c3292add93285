"""Operations that cannot be differentiated, on what requires gradients: only a backward pass that reaches them raises."""

import pytest
import torch

from framesmith import frontend

PROGRAMS = {
    "a floor division": lambda x: (x // 1).sum() + x.sum(),
    "returned beside a loss": lambda x: (x.sum(), x // 2),
    "heaviside": lambda x: torch.heaviside(x, x),
    "outside of the gradient": lambda x: (x.sum(), (x.detach() // 2)),
}


@pytest.mark.parametrize("backend", ["eager", "aot_eager"])
@pytest.mark.parametrize("name", PROGRAMS)
def test_a_derivative_that_does_not_exist(name, backend):
    def run(function):
        x = torch.linspace(0.5, 3, 4).requires_grad_()
        found = function(x)
        results = found if isinstance(found, tuple) else (found,)
        seen = [(one.tolist(), one.requires_grad) for one in results]
        try:
            results[0].sum().backward()
        except RuntimeError as error:
            return seen, str(error)
        return seen, x.grad.tolist()

    compiled = frontend.compile(PROGRAMS[name], backend=backend)
    for _ in range(2):
        assert run(compiled) == run(PROGRAMS[name])
