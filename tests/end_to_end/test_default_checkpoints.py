"""`checkpoint(f, x)` that does not say `use_reentrant`: torch warns, in a line of its own, and takes the reentrant form."""

import sys
import warnings

import pytest
import torch
from torch.utils.checkpoint import checkpoint

from framesmith import frontend
from framesmith.frontend import api


def block(x):
    return (x.sin() * 2).cos()


def once(x):
    return checkpoint(block, x) * 2


def said_none(x):
    return checkpoint(block, x, use_reentrant=None, preserve_rng_state=False)


def twice(x):
    return checkpoint(block, checkpoint(block, x)) * 2


def without_gradients(x):
    with torch.no_grad():
        return checkpoint(block, x)


def with_keywords(x):
    return checkpoint(lambda y, scale: y * scale, x, scale=2)


def of_a_view(x):
    return checkpoint(lambda y: y.view(3), x)


def run(function, filters, calls=3):
    found = []
    for module in [*sys.modules.values()]:
        registry = vars(module).get("__warningregistry__")
        if isinstance(registry, dict):
            registry.clear()
    with warnings.catch_warnings():
        warnings.simplefilter(filters)
        warnings.showwarning = lambda message, kind, file, line, *_: found.append(
            (str(message), kind, file, line)
        )
        for number in range(calls):
            x = (torch.linspace(-1, 1, 3) + number).requires_grad_()
            try:
                y = function(x)
                if y.requires_grad:
                    y.sum().backward()
                found.append((y.tolist(), x.grad if x.grad is None else x.grad.tolist()))
            except (UserWarning, ValueError) as error:
                found.append((type(error), str(error)))
    return found


@pytest.mark.parametrize("filters", ["default", "always", "once", "error", "ignore"])
@pytest.mark.parametrize("program", [once, said_none, twice, without_gradients, with_keywords, of_a_view])
def test_values_gradients_and_the_line_that_a_warning_names(program, filters) -> None:
    assert run(frontend.compile(program, backend="eager"), filters) == run(program, filters)


@pytest.mark.parametrize("backend", ["eager", "aot_eager"])
@pytest.mark.parametrize("program", [once, twice])
def test_it_is_captured_whole(program, backend) -> None:
    compiled = frontend.compile(program, backend=backend, fullgraph=True)
    values, gradients = zip(*run(compiled, "ignore"), strict=True)
    expected, wanted = zip(*run(program, "ignore"), strict=True)
    assert torch.allclose(torch.tensor(values), torch.tensor(expected))
    assert torch.allclose(torch.tensor(gradients), torch.tensor(wanted))
    assert len(api.session_of(compiled).history.entries) == 1
