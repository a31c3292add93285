"""Operations in place whose result has a type that the tensor cannot hold raise as in eager, and leave the tensor as it was."""

import pytest
import torch
from tests.end_to_end.support import check

STATEMENTS = [
    "y.mul_(1j)", "y.add_(1j)", "y.sub_(1j)", "y.div_(1j)", "y.mul_(x.to(torch.complex64))", "torch._foreach_mul_([y], 1j)", "y *= 1j",
    "y += 1j", "y -= 1j", "n.mul_(1.5)", "n.add_(1.5)", "n *= 1.5", "n -= 0.5", "n.mul_(torch.tensor(1.5))", "n.add_(x)", "b.mul_(2)",
    "b += 1", "b *= n", "torch._foreach_add_([n, y], 1.5)", "torch.mul(n, 1.5, out=n)", "y.__imul__(1j)", "n.sqrt_()", "n.clamp_(0.5)",
    "y.mul_(n)", "y.mul_(x.double())", "y.copy_(n)", "n.copy_(x)", "n.fill_(1.0)", "n[0] = 1.5", "b.logical_and_(n)", "n.lt_(1.5)",
    "b.cumsum_(0)", "n.masked_fill_(b, 2)", "y.add_(2).mul_(n)", "n.multiply_(1.5)", "n.bernoulli_(1.0)",
]  # fmt: skip


@pytest.mark.parametrize("backend", [None, "aot_eager"])
@pytest.mark.parametrize("statement", STATEMENTS)
def test_a_result_of_another_type(statement, backend):
    names: dict[str, object] = {"torch": torch}
    exec(f"def f(x, y, n, b):\n    y.add_(1)\n    {statement}\n    return y, n, b\n", names)
    x = torch.tensor([0.5, -1.25, 3.0])
    check(names["f"], x, x.clone(), x.long(), x > 0, backend=backend)


@pytest.mark.parametrize("backend", [None, "aot_eager"])
def test_a_number_that_becomes_complex(backend):
    def f(x, box):
        return x.clone().mul_(box["v"])

    def advance(x, box):
        box["v"] = 1j if box["v"] == 2.0 else 2.0

    check(f, torch.ones(3, requires_grad=True), {"v": 1.0}, calls=3, change=advance, backend=backend)
