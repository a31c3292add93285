"""Numbers that change, for backends that replace operations, where a tensor or 64 bits would not do what eager does with the number."""

import math
from itertools import pairwise

import pytest
import torch
from tests.end_to_end.support import check

np = pytest.importorskip("numpy")


def run(expression, values, x=None, *, backend="aot_eager"):
    """Compare over these values of `v`, one after the other, with the exceptions and gradients."""
    names = {"torch": torch, "math": math, "np": np}
    function = eval(f"lambda x, box: (lambda v: ({expression}))(box['v'])", names)
    steps = dict(enumerate(pairwise(values)))

    def advance(x, box):
        box["at"] += 1
        box["v"] = values[box["at"] % len(values)]

    assert steps
    x = torch.tensor([0.5, -1.25, 3.0]) if x is None else x
    return check(function, x, {"v": values[0], "at": 0}, calls=len(values), change=advance, backend=backend)


NEAR = [1.5, 2.5, 0.9999999999, 2.0000000001, 2.0, 1e-46, 16777217.0]


@pytest.mark.parametrize("kind", ["float32", "float64", "int64", "bfloat16"])
@pytest.mark.parametrize(
    "expression", ["x ** v", "x.pow(v)", "x.clone().double().pow_(v)", "torch._foreach_pow([x], v)"]
)
def test_an_exponent_is_read_in_double_precision(expression, kind):
    run(expression, NEAR, torch.tensor([0.5, -1.25, 3.0]).to(getattr(torch, kind)))


@pytest.mark.parametrize(
    "expression",
    [
        "x ** v", "v ** x", "torch.lerp(x, x + 1, v)", "x.detach().addcdiv(x, x.detach().cos(), value=v)", "x.detach().addcmul(x, x.detach().cos(), value=v)",
        "torch.add(x, x.sin(), alpha=v)",
    ],
)  # fmt: skip
def test_gradients_are_those_beside_the_number(expression):
    run(
        f"(lambda y: torch.autograd.grad(y.sum(), x))({expression})", NEAR, torch.randn(7, requires_grad=True)
    )


WIDE = [1.0, 2.0, 1e300, 3.40282356e38, -math.inf, math.nan, 0.5]


@pytest.mark.parametrize("shape", [(), (3,)])
@pytest.mark.parametrize(
    "expression",
    [
        "x.clone().fill_(v)", "x.masked_fill(x > 0, v)", "torch.add(x, x, alpha=v)", "x.clone().sub_(x, alpha=v)",
        "torch._foreach_add([x], [x], alpha=v)", "torch.scalar_tensor(v) + x", "torch._foreach_lerp([x], [x + 1], v)",
        "torch.lerp(x, x + 1, v)", "x.addcmul(x, x, value=v)", "torch.where(x > 0, x, v)", "torch.where(x > 9, v, x)",
        "torch.full_like(x, v)", "x * v", "torch.tensor(v) + x",
    ],
)  # fmt: skip
def test_a_number_that_is_too_large_for_the_type(expression, shape):
    run(expression, WIDE, torch.ones(shape))


def test_numbers_within_the_range_share_a_graph():
    report = run("torch.add(x, x, alpha=v).fill_(v)", [0.5, 1.5, 2.5, -3.5, 4.5, math.inf])
    assert len(report.recompiles) == 1


@pytest.mark.parametrize(
    "expression",
    [
        "np.array([v, 1])", "np.asarray(v)", "np.asarray([[v], [v]])", "np.full((2,), v)", "np.array([v]) + 1", "np.array([v, 2.5])",
        "np.maximum(v, np.arange(3))", "np.where(x.numpy() > 0, v, 1)", "np.array([1, 2]) * v",
        "torch.tensor([v, 0], dtype=torch.bool)", "torch.tensor([v], dtype=torch.int32)", "torch.IntTensor([v])",
        "x.new_tensor([v], dtype=torch.int32)", "torch.as_tensor(v, dtype=torch.uint8)",
    ],
)  # fmt: skip
def test_ints_of_more_than_32_bits(expression):
    run(expression, [2, 3, 2**31, 2**32, 2**53 + 1, -(2**31), -(2**31) - 1, 5])


def test_ints_of_32_bits_are_sizes_as_before():
    report = run("np.zeros((v, 2)) + 1", [2, 3, 4, 5, 6])
    assert len(report.recompiles) == 1


@pytest.mark.parametrize(
    "expression",
    [
        "x * (v * 1.5)", "x * math.sin(v)", "math.sqrt(abs(v)) * x", "x + float(v)", "torch.add(x, x, alpha=v)", "x * v",
        "(v, x + 1)", "x.long() + v",
    ],
)  # fmt: skip
def test_ints_of_more_than_64_bits(expression):
    run(expression, [1, 2, 2**63 - 1, 2**63, -(2**63), 2**100, -(2**100), 3])


@pytest.mark.parametrize("backend", [None, "aot_eager"])
@pytest.mark.parametrize(
    "expression",
    [
        "torch.result_type(v, x)",
        "torch.arange(0, 3, v).sum()",
        "torch.histc(x, 4, -v, v)",
        "x.clone().__setitem__(0, v)",
    ],
)
def test_ints_of_more_than_64_bits_that_only_raise(expression, backend):
    run(f"({expression}, x + 1)", [1, 2, 2**100 + 1, 2**63, 3], backend=backend)
    run(f"({expression}, x + 1)", [2**100, 1, 2], backend=backend)


@pytest.mark.inductor
def test_ints_of_more_than_64_bits_with_inductor():
    run("torch.add(x, x, alpha=v)", [2, 3, 2**63], backend="inductor")
