"""Quotients with floats that are rounded down, of numbers that change: as Python rounds them, also in a graph."""

import pytest
import torch

from framesmith import frontend

FORMS = {
    "an int": lambda x, n: x * (n // 0.1),
    "the rest of an int": lambda x, n: x * (n % 2.5),
    "a negative float": lambda x, n: x * (-n // 0.7),
    "a size": lambda x, n: x * (x.shape[0] // 0.1),
    "a part of a size": lambda x, n: x * (x.shape[0] / 3 // 0.1),
    "divmod": lambda x, n: x * divmod(n, 0.1)[0] + divmod(n, 0.3)[1],
}


@pytest.mark.parametrize("backend", ["eager", "aot_eager"])
@pytest.mark.parametrize("name", FORMS)
def test_is_as_python_rounds_it(name, backend):
    function = FORMS[name]
    compiled = frontend.compile(function, backend=backend)
    for n in (3, 4, 7, 10, 23):
        x = torch.ones(n, dtype=torch.float64)
        assert torch.equal(compiled(x, n), function(x, n))


def test_a_nan_that_comes_later_is_another_object():
    nan = float("nan")

    def function(x, n):
        return x + 1, n in {nan}, {nan: 3}.get(n)

    compiled = frontend.compile(function, backend="eager")
    for n in (1.0, 2.0, nan, float("nan"), nan):
        assert compiled(torch.ones(1), n)[1:] == function(torch.ones(1), n)[1:]
