"""Data that are replaced between a call and its backward pass, where what was written to carries the gradient, or where the call
begins without gradients: the pass reads what eager's reads, or an error says that it comes too late."""

import pytest
import torch

from framesmith import frontend


def product(h, p, q, x):
    h.sub_(q @ p)


def sine_of_product(h, p, q, x):
    h.add_((q * p).sin())


def sine_of_product_returned(h, p, q, x):
    return h.add_((q * p).sin())


def clamped(h, p, q, x):
    x.add_(q.clamp(0, 1))


def item(h, p, q, x):
    x[None] = (q * q)[0]
    return x


def plain_product(h, p, q, x):
    h.add_(q * p)


def new_data_behind_no_grad(h, p, q, x):
    with torch.no_grad():
        y = torch.where(x > 0, p, q)
        print(end="")
    q.data = y.detach().clone()
    return q * q


def new_data_written_behind_no_grad(h, p, q, x):
    with torch.no_grad():
        y = torch.where(x > 0, p, q)
        print(end="")
    q.data = y.detach().clone()
    y[None] = (q * q)[0]
    return y


RIGHT = [item, plain_product, new_data_behind_no_grad, new_data_written_behind_no_grad]
"""Eager's gradients; the others are refused, since eager's backward pass reads old and new data."""


@pytest.mark.parametrize("backend", ["eager", "aot_eager"])
@pytest.mark.parametrize("program", [product, sine_of_product, sine_of_product_returned, clamped, *RIGHT])
def test_no_pass_mixes_old_and_new_data(program, backend):
    def run(call):
        torch.manual_seed(0)
        start, p, q = (torch.randn(2, 2, requires_grad=True) for _ in range(3))
        found = []
        for _ in range(3):
            h, x = start * 1, torch.randn(2, 2)
            result = call(h, p, q, x)
            q.data = torch.full((2, 2), 7.0)
            ends = [one.sum() for one in (h, result, x) if one is not None and one.requires_grad]
            sum(ends).backward()
            found += [None if one.grad is None else one.grad.clone() for one in (p, q)]
        return found

    expected = run(program)
    compiled = frontend.compile(program, backend=backend)
    if backend == "eager" or program in RIGHT:
        for one, other in zip(run(compiled), expected, strict=True):
            assert (one is None) == (other is None)
            assert one is None or torch.allclose(one, other)
    else:
        with pytest.raises(RuntimeError, match="was replaced between a compiled function"):
            run(compiled)
