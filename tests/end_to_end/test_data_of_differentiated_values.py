"""`w.data = v` where `v` requires gradients, as where adapters are merged into a weight: nothing is differentiated through the store."""

import pytest
import torch
from torch import nn

from framesmith import frontend


def merged(w, a, x):
    w.data += a @ a
    return x @ w


def averaged(w, a, x):
    w.data = w.data * 0.5 + a * 0.5
    return x @ w


def unmerged(w, a, x):
    y = x @ w
    w.data -= a * a
    return x @ a + y.detach()


def replaced(w, a, x):
    w.data = a * 2
    return (x @ w) * a


def replaced_and_returned(w, a, x):
    v = a * 2
    w.data = v
    return v * x, x @ w


def own_data_with_a_history(w, a, x):
    d = w.data
    d += a
    w.data = d
    return d * x, w * x


def twice(w, a, x):
    v = a.exp()
    w.data = v
    v = v * 2
    w.data = v
    return v * w


PROGRAMS = [merged, averaged, unmerged, replaced, replaced_and_returned, own_data_with_a_history, twice]


@pytest.mark.parametrize(("backend", "fullgraph"), [("eager", True), ("aot_eager", False)])
@pytest.mark.parametrize("is_trained", [False, True])
@pytest.mark.parametrize("program", PROGRAMS)
def test_the_store_is_that_of_eager(program, is_trained, backend, fullgraph):
    def run(call):
        torch.manual_seed(0)
        w = nn.Parameter(torch.ones(2, 2), requires_grad=is_trained)
        a, x = nn.Parameter(torch.full((2, 2), 0.5)), torch.tensor([[1.0, 2.0], [0.0, 1.0]])
        found = []
        for _ in range(3):
            results = call(w, a, x)
            results = results if isinstance(results, tuple) else (results,)
            ends = [one.sum() for one in results if one.requires_grad]
            if ends:
                sum(ends).backward()
            found += [one.detach().clone() for one in (*results, w)]
            found += [None if one.grad is None else one.grad.clone() for one in (w, a)]
            found += [w._version, w.requires_grad, w.is_leaf, *(one.requires_grad for one in results)]
        return found

    compiled = frontend.compile(program, backend=backend, fullgraph=fullgraph)
    for one, other in zip(run(compiled), run(program), strict=True):
        assert type(one) is type(other)
        assert torch.allclose(one, other) if isinstance(one, torch.Tensor) else one == other
