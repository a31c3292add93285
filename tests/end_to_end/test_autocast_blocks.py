"""Blocks of autocast that change something, and blocks that change nothing, inside of others and alone."""

import pytest
import torch

from framesmith import frontend


def alone(x, w):
    with torch.autocast("cpu", enabled=False):
        y = x @ w
    return y, y @ w


def inside(x, w):
    with torch.autocast("cpu", dtype=torch.bfloat16):
        y = x @ w
        with torch.autocast("cpu", enabled=False):
            z = x @ w
        with torch.autocast("cpu", dtype=torch.float16, cache_enabled=False):
            z = z + (x @ w)
        u = x @ w
    return y, z, u, x @ w


def twice(x, w):
    results = []
    for enabled in (False, True, True, False):
        with torch.autocast("cpu", enabled=enabled):
            results.append(x @ w)
    return results


def leaves_by_an_exception(x, w):
    try:
        with torch.autocast("cpu"):
            y = x @ w
            raise ValueError
    except ValueError:
        return y, x @ w


@pytest.mark.parametrize("program", [alone, inside, twice, leaves_by_an_exception])
@pytest.mark.parametrize("outer", [None, True, False])
@pytest.mark.parametrize("backend", ["eager", "aot_eager"])
def test_blocks(program, outer, backend):
    compiled = frontend.compile(program, backend=backend)
    torch.manual_seed(0)
    x = torch.randn(3, 3)
    weight = torch.randn(3, 3).requires_grad_()

    def run(function):
        results = []
        for _ in range(3):
            if outer is None:
                results += function(x, weight)
            else:
                with torch.autocast("cpu", enabled=outer):
                    results += function(x, weight)
        sum(one.float().sum() for one in results).backward()
        gradient, weight.grad = weight.grad, None
        return [*results, gradient], torch.is_autocast_enabled("cpu"), torch.get_autocast_dtype("cpu")

    (found, *switches), (expected, *switches_of_eager) = run(compiled), run(program)
    assert switches == switches_of_eager
    for one, other in zip(found, expected, strict=True):
        assert one.dtype is other.dtype
        torch.testing.assert_close(one, other, rtol=1e-2, atol=1e-2)
