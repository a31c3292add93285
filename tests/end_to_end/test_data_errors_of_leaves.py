"""An operation that fails on data behind one that has changed whether an argument requires gradients."""

import pytest
from tests.end_to_end.support import check_source

HEAD = """
import torch
log = []
turn = [0]
def matrix():
    turn[0] += 1
    return torch.eye(2) * ((turn[0] + 1) % 2)
"""

CHANGES = {
    "to true": "x.requires_grad_()",
    "to what it is or to false": "x.requires_grad_(False)",
    "an attribute": "x.requires_grad = True",
    "its result is kept": "log.append(x.requires_grad_())",
    "a view": "x.view(-1).requires_grad_()",
    "a view of what is new": "x.detach().view(-1).requires_grad_()",
    "twice": "x.requires_grad_(); x.requires_grad_(False)",
}


@pytest.mark.parametrize("grad", ["", ".requires_grad_()"])
@pytest.mark.parametrize("change", CHANGES)
def test_what_came_before_has_happened_as_the_program_saw_it(change, grad):
    check_source(
        HEAD
        + "def f(x):\n    log.append((x.requires_grad, x.is_leaf))\n    if not x.requires_grad: log.append('no')\n"
        f"    a = x[1:]\n    try: {CHANGES[change]}\n    except RuntimeError as error: log.append(str(error))\n"
        "    log.append(x.requires_grad)\n    b = x * 3\n    x.detach().add_(1)\n    log.append(b)\n"
        "    z = torch.linalg.inv(matrix())\n    log.append(a)\n    return a, b, z\n"
        f"def args(): return [torch.arange(6.0).view(2, 3){grad}]\n",
        calls=3,
        backward=False,
    )


def test_a_value_that_a_finally_uses_survives_a_write():
    check_source(
        "import torch\ndef args(): return [torch.arange(5.0), torch.arange(5.0)]\ndef f(x, y):\n    h = x\n"
        "    h.requires_grad_(True)\n    try:\n        h = x[1:]\n        y[...] = x[:1].detach() + 1\n"
        "        torch.linalg.inv(torch.zeros(2, 2) * 2)\n    finally:\n        y = torch.full((5,), 1.5)[h.relu() > 0]\n",
        calls=2,
    )
