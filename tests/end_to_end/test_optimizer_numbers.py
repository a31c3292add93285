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
