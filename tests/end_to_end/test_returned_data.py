"""`p.data` that is used behind a break: it has a version counter of its own, and so have its views, which share it."""

import pytest
import torch

from framesmith import frontend


def scaled(p):
    z = p * p.sin()
    d = p.data
    print(end="")
    d.mul_(2)
    return z, d._version


def normalized(p):
    z = p.exp() * p.sin()
    d = p.data
    n = d.norm().item()
    d.div_(n / n)
    return z, d._version


def written_before(p):
    z = (p * 1).exp()
    d = p.data
    d.mul_(1)
    print(end="")
    d.mul_(1)
    return z, d._version


def view(p):
    z = p * p.sin()
    v = p.data.view(-1)
    print(end="")
    v.mul_(1)
    return z, v._version


def data_and_view(p):
    z = p * p.sin()
    d = p.data
    v = d.t()
    print(end="")
    v.mul_(1)
    return z, d._version, v._version


def of_a_result(p):
    z = p.exp()
    d = z.data
    print(end="")
    d.mul_(1)
    return z, d._version


def twice(p):
    z = p.exp() * p
    d, e = p.data, p.data
    print(end="")
    d.mul_(1)
    return z, d._version, e._version


@pytest.mark.parametrize("backend", ["eager", "aot_eager"])
@pytest.mark.parametrize(
    "program", [scaled, normalized, written_before, view, data_and_view, of_a_result, twice]
)
def test_a_write_to_data_is_none_to_the_tensor(program, backend):
    def run(call):
        found = []
        p = torch.tensor([[1.0, 2.0], [3.0, 4.0]], requires_grad=True)
        for _ in range(3):
            z, *versions = call(p)
            found += [z.detach(), *versions, p._version]
            z.sum().backward()
            found += [p.grad.clone(), p.detach().clone()]
        return found

    for one, other in zip(run(frontend.compile(program, backend=backend)), run(program), strict=True):
        assert torch.equal(one, other) if isinstance(one, torch.Tensor) else one == other
