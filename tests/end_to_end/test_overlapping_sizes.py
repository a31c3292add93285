"""Inputs that overlap and are written, with sizes that change, under backends that replace operations."""

import pytest
import torch

from framesmith import frontend


def line(n):
    base = torch.arange(float(n))
    return base, (base[:-1], base[1:])


def rows(n):
    base = torch.arange(float(3 * n)).reshape(n, 3)
    return base, (base[1:], base[:-1])


def columns(n):
    base = torch.arange(float(3 * n)).reshape(3, n)
    return base, (base[:, 1:], base[:, :-1])


def turned(n):
    base = torch.arange(float(4 * n)).reshape(n, 4)
    return base, (base.t(), base[:, 1:].t())


def stepped(n):
    base = torch.arange(float(2 * n))
    return base, (base[::2], base[1::2])


def same(n):
    base = torch.arange(float(n))
    return base, (base, base[1:])


def three(n):
    base = torch.arange(float(n))
    return base, (base[:-2], base[1:-1], base[2:])


def both(*views):
    views[0].add_(1)
    views[1].mul_(2)
    return sum(view.sum() for view in views), views[-1].shape[0]


def one_of_them(*views):
    views[1].mul_(3)
    return [view * 2 for view in views]


def with_a_break(*views):
    views[0].add_(1)
    total = views[1].sum()
    frontend.graph_break()
    views[1].mul_(2)
    return total + views[0].sum()


@pytest.mark.parametrize("dynamic", [None, True])
@pytest.mark.parametrize("function", [both, one_of_them, with_a_break])
@pytest.mark.parametrize("make", [line, rows, columns, turned, stepped, same, three])
def test_views_of_changing_sizes(make, function, dynamic):
    compiled = frontend.compile(function, backend="aot_eager", dynamic=dynamic)
    for size in (6, 8, 11, 6):
        (eager, views), (base, others) = make(size), make(size)
        expected, found = function(*views), compiled(*others)
        torch.testing.assert_close(found, expected, rtol=0, atol=0)
        assert torch.equal(base, eager)


def test_what_is_not_written_gets_no_more_inputs():
    graphs = []

    def backend(module, examples):
        graphs.append(len(examples))
        from torch._dynamo.backends.common import aot_autograd  # noqa: PLC0415

        return aot_autograd(fw_compiler=lambda inner, given: inner)(module, examples)

    compiled = frontend.compile(lambda a, b: a + b, backend=backend, dynamic=True)
    for size in (6, 8):
        base = torch.arange(float(size))
        assert torch.equal(compiled(base[:-1], base[1:]), base[:-1] + base[1:])
    assert graphs == [2]
