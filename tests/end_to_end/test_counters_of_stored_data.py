"""Version counters where data are stored, and where lists of tensors are written to: as eager counts, so that a backward pass is refused
where eager refuses it."""

import pytest
import torch
from torch import nn

from framesmith import frontend


def written_through_an_alias(p, v):
    p.data = v * 2
    p.detach().add_(1)
    return p * 1


def an_input_stored_and_written(p, v):
    p.data = v.detach()
    p.detach().add_(1)


def an_alias_returned(p, v):
    p.data = v * 2
    return p.detach()


def a_list(p, v):
    with torch.no_grad():
        torch._foreach_mul_([p], 2.0)


def a_list_and_a_store(p, v):
    with torch.no_grad():
        torch._foreach_mul_([p, v], 2.0)
    p.data = p.data * 2
    return p * v


def lists(p, v):
    with torch.no_grad():
        torch._foreach_addcmul_([p], [v], [v])
        torch._foreach_add_([p, v], 1)
    print(end="")
    return p * v


def used_put_away_and_put_back(p, v):
    y = p * p * v
    old = p.data
    p.data = v.detach() * 0
    p.detach().add_(1)
    p.data = old
    return y


def a_step(p, v):
    y = (p * p * v).sum()
    torch.optim.SGD([p], lr=0.1, foreach=True).step()
    return y


PROGRAMS = [
    written_through_an_alias,
    an_input_stored_and_written,
    an_alias_returned,
    a_list,
    a_list_and_a_store,
    lists,
    used_put_away_and_put_back,
    a_step,
]


def observe(function):
    found = []
    p, v = nn.Parameter(torch.tensor([1.0, 2.0])), torch.ones(2)
    p.grad = torch.ones(2)
    for _ in range(3):
        earlier = (p * v * p).sum()
        y = function(p, v)
        if isinstance(y, torch.Tensor) and not y.requires_grad:
            y.add_(1)
        found += [p._version, v._version, p.tolist(), v.tolist()]
        for loss in (earlier, y):
            if isinstance(loss, torch.Tensor) and loss.requires_grad:
                try:
                    loss.sum().backward()
                except RuntimeError as error:
                    found.append(str(error)[:60])
        found.append(p.grad.tolist())
    return found


@pytest.mark.parametrize("backend", ["eager", "aot_eager"])
@pytest.mark.parametrize("program", PROGRAMS)
def test_as_eager_counts(program, backend):
    assert observe(frontend.compile(program, backend=backend)) == observe(program)


def a_number_used(p, x):
    b = x * 2
    y = p * b
    b.data = b.data * 3
    return y


def a_number_used_and_written(p, x):
    b = x + 0
    y = p * b
    b.data = torch.zeros(2)
    b.add_(1)
    return y


def a_number_transposed(p, x):
    b = (x * 2).view(2, 1)
    y = p * b
    b.data = b.data.t().contiguous().t() * 3
    return y


@pytest.mark.parametrize(
    "backend", ["eager", "aot_eager", pytest.param("inductor", marks=pytest.mark.inductor)]
)
@pytest.mark.parametrize("program", [a_number_used, a_number_used_and_written, a_number_transposed])
def test_what_saved_a_result_reads_its_new_data(program, backend):
    def gradients(function):
        found = []
        for number in range(3):
            p = nn.Parameter(torch.tensor([1.0, 2.0]))
            y = function(p, torch.ones(2) + number)
            try:
                y.sum().backward()
            except RuntimeError:
                found.append("refused")
            else:
                found.append(p.grad.tolist())
        return found

    assert gradients(frontend.compile(program, backend=backend)) == gradients(program)
