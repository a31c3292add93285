"""Optimizers that are told that they are compiled hand tensors to operations that take numbers: the sums are rounded as in eager."""

import pytest
from tests.end_to_end.support import check_source


@pytest.mark.parametrize("work", ["addcdiv", "addcdiv_"])  # the kernel of addcmul fuses
@pytest.mark.parametrize("size", [1, 2, 7])
def test_a_tensor_for_the_value_rounds_as_a_number(work, size):
    check_source(
        "import torch\nvalue = torch.tensor(-0.99999994)\n"
        f"def f(x, a, b): return x.clone().{work}(a, b, value=value)\n"
        f"def args():\n    torch.manual_seed(3)\n    return [torch.rand({size}) for _ in range(3)]\n",
        backward=False,
        breaks=0,
    )


@pytest.mark.parametrize("each", [True, False])
@pytest.mark.parametrize("kind", ["float32", "float64", "bfloat16"])
def test_a_number_that_nadam_multiplies_its_state_with_is_rounded_first(kind, each):
    report = check_source(
        "import torch\ntorch.manual_seed(1)\n"
        f"w = torch.randn(5, 3, dtype=torch.{kind}, requires_grad=True)\n"
        f"optimizer = torch.optim.NAdam([w], foreach={each})\n"
        "def f(x):\n    optimizer.zero_grad()\n    (x @ w).square().sum().backward()\n    optimizer.step()\n"
        "    return w.detach().clone(), optimizer.state[w]['mu_product'].clone()\n"
        f"def args(): return [torch.ones(2, 5, dtype=torch.{kind})]\n",
        calls=6,
        backward=False,
    )
    assert report.runs
