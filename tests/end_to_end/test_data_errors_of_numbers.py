"""Numbers that change and views, in a call whose graph raises: what is known of the failed run is not mixed with what is not."""

import pytest
import torch
from tests.end_to_end.worlds import load

from framesmith import frontend

HEAD = """
import torch
import torch.nn.functional as F
counter, log = 0, []
"""
NUMBERS = (0, 1, 0, 1, 9, 0, 9, 1)
PROGRAMS = {
    "a counter, a draw and arithmetic": """
def f(x, m):
    global counter
    counter += 1
    for x in [torch.rand(x.shape[0]), x]:
        log.append(x.dim() // max(m, 1))
        F.one_hot(torch.tensor([m]), 2)
""",
    "arithmetic between two draws": """
def f(x, m):
    global counter
    counter += m
    first = torch.rand(2)
    log.append((m * 3, first))
    second = torch.rand(m % 2 + 1)
    log.append((m * 5, second, counter))
    x[torch.tensor([m])]
    log.append(m * 7)
    return x, first
""",
    "a number of the loop": """
def f(x, m):
    y = x.clone()
    for i in range(3):
        y.add_(i * m)
        log.append((i * m, m - i))
        y = y + y[torch.tensor([m])]
    return y
""",
    "a view and its base": """
def f(x, m):
    y = x * 2
    try:
        h = y.detach()
        y = x[torch.tensor([m])]
    except IndexError:
        return y, h
    return y, h
""",
    "a view of what nobody reads again": """
def f(x, m):
    y = x * 2
    h, k = y[:1], y.view(-1)
    try:
        z = x[torch.tensor([m])]
    except IndexError:
        return h, k
    return z
""",
    "arithmetic behind a write": """
def f(x, m):
    global counter
    y = torch.rand(3)
    m += 1
    k = m * 2
    y[...] = 2.0
    x.mul_(1)
    counter = k
    try:
        z = x.index_select(0, torch.arange(hash(m)))
    except (IndexError, RuntimeError):
        log.append(m)
        return y, y[:1]
    return z, z[:1]
""",
    "a view behind a write": """
def f(x, m):
    y = x * 2
    h = y.detach()
    h.add_(1)
    try:
        y = y[torch.tensor([m])]
    except IndexError:
        return y, h
    return y
""",
}


def outcome(names: dict[str, object], function: object, number: int) -> object:
    torch.manual_seed(number)
    try:
        result = function(torch.ones(2), number)
    except Exception as error:
        result = str(error)
    shared = (
        isinstance(result, tuple)
        and result[0].untyped_storage().data_ptr() == result[1].untyped_storage().data_ptr()
    )
    return repr(result), shared, names["counter"], repr(names["log"])


@pytest.mark.parametrize("program", PROGRAMS)
def test_it_goes_on_as_eagerly(program: str) -> None:
    eager, compiled = (load(HEAD + PROGRAMS[program], "numbers") for _ in range(2))
    function = frontend.compile(compiled["f"], backend="eager")
    for number in NUMBERS:
        assert outcome(compiled, function, number) == outcome(eager, eager["f"], number)
