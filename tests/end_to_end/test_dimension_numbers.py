"""A dimension that a tensor does not have is the program's mistake, also where only a kernel or a derivative looks at it."""

import pytest
from tests.end_to_end.support import check_source

CALLS = {
    "softmax": "torch.softmax(a, 1)",
    "a method": "a.softmax(dim=-2)",
    "a function of torch.nn": "torch.nn.functional.softmax(a, 1)",
    "a module": "torch.nn.Softmax(1)(a)",
    "softmin": "torch.nn.functional.softmin(a, dim=1)",
    "sort": "torch.sort(a, 1)",
    "a stable sort": "a.sort(stable=True, dim=1)[0]",
    "argsort": "a.argsort(1)",
    "select_scatter": "torch.select_scatter(a, a[0], 1, 0)",
    "slice_scatter": "a.slice_scatter(a, dim=1)",
    "one that is there": "a.softmax(-1), a.sort(0)[0]",
    "log_softmax": "torch.log_softmax(a, 1)",
}


@pytest.mark.parametrize("tensor", ["torch.ones(3, requires_grad=True)", "torch.ones(())", "torch.ones(0)"])
@pytest.mark.parametrize("backend", [None, "aot_eager"])
@pytest.mark.parametrize("call", CALLS)
def test_it_raises_as_eagerly(call: str, backend: str | None, tensor: str) -> None:
    check_source(
        f"import torch\ndef args(): return [torch.ones(3), {tensor}]\n"
        "def f(b, a):\n    with torch.no_grad():\n        b.mul_(2)\n"
        f"    try:\n        y = {CALLS[call]}\n    except IndexError as error:\n        y = str(error)\n"
        "    return y, b + 1\n",
        backend=backend,
        calls=2,
    )


def test_the_caller_gets_it() -> None:
    check_source(
        "import torch\ndef args(): return [torch.ones(3), torch.ones(3, requires_grad=True)]\n"
        "def f(b, a):\n    with torch.no_grad():\n        b.mul_(2)\n    return torch.softmax(a, 1)\n",
        backend="aot_eager",
    )
