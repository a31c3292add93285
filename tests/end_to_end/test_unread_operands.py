"""An int that changes and may not become symbolic (`dynamic=False`): what needs it breaks the graph for that reason, not for its type."""

import pytest
import torch

from framesmith import frontend

NEEDS = {
    "an operator": lambda x, n: x * n,
    "a reflected operator": lambda x, n: n - x,
    "a comparison with a tensor": lambda x, n: x == n,
    "an operator in place": lambda x, n: x.clone().add_(n),
    "a method": lambda x, n: x.repeat(n),
    "a size": lambda x, n: torch.zeros(n) + x.sum(),
    "a function": lambda x, n: torch.add(x, n),
    "a keyword": lambda x, n: torch.add(x, x, alpha=n),
    "a stored item": lambda x, n: x.clone().index_fill(0, torch.tensor([0]), n),
    "a slice": lambda x, n: x[:n],
    "an index": lambda x, n: x[n - 3],
    "a new tensor": lambda x, n: torch.tensor([n]) + x.sum(),
    "a power": lambda x, n: x**n,
    "a branch": lambda x, n: x + 1 if n > 5 else x,
    "a repeated list": lambda x, n: torch.cat([x] * n),
    "a range": lambda x, n: [x + i for i in range(n)],
    "a float": lambda x, n: x * float(n),
    "a method of ints": lambda x, n: x + n.bit_length(),
}


@pytest.mark.parametrize("name", NEEDS)
def test_what_needs_it_breaks_because_it_changes(name):
    function = NEEDS[name]
    compiled, x = frontend.compile(function, backend="eager", dynamic=False), torch.arange(9.0)
    for n in range(3, 9):
        found, expected = compiled(x, n), function(x, n)
        pairs = zip(found, expected) if isinstance(found, list) else [(found, expected)]
        assert all(torch.equal(*pair) for pair in pairs)
    kinds = {one.kind for one in frontend.explain(compiled)().breaks}
    assert kinds == {"changing-value"}
