"""Tensors that are views to torch and were given another memory, as `module.double()` does with gradients: `gradient.data = ...`."""

from collections.abc import Callable

import pytest
import torch
from tests.end_to_end.support import check_source

GRADIENTS = {
    "of a backward pass": "None",
    "in a flat buffer": "torch.ones(2, 6)[:, :3] if p.dim() == 2 else torch.ones(8)[6:]",
    "transposed": "torch.ones(p.shape[::-1]).permute(*range(p.dim())[::-1])",
    "a slice": "torch.ones(7, *p.shape)[2]",
    "with gaps": "torch.ones(*p.shape, 2)[..., 0]",
    "a view of bytes": "torch.zeros(4 * p.numel(), dtype=torch.uint8).view(torch.float32).view(p.shape)",
}
CHANGES = {
    "double": "m.double()",
    "half": "m.half()",
    "half and back": "m.half().float()",
    "bfloat16": "m.to(torch.bfloat16)",
    "assigned": "m.load_state_dict({k: v.double() for k, v in m.state_dict().items()}, assign=True)",
    "other memory": "[setattr(p.grad, 'data', p.grad.data * 1) for p in m.parameters() if p.grad is not None]",
    "other strides": "[setattr(p.grad, 'data', torch.stack([p.grad] * 2, -1)[..., 0]) for p in m.parameters() if p.grad is not None]",
}
STEPS = {
    "kept": "    y = m(x.to(m.weight.dtype)).sum()\n",
    "zeroed": "    m.zero_grad(set_to_none=False)\n    y = m(x.to(m.weight.dtype)).sum()\n",
}


HEAD = """
import torch
torch.manual_seed(0)
m, k, turns = torch.nn.Linear(3, 2), [0], [0]
def args(): return [torch.ones(4, 3), turn]
"""


def turn(x: torch.Tensor, change: Callable[[], None]) -> None:
    """Between two calls: the program's own change, which it makes at the third time."""
    change()


WAYS = [
    *((change, "kept", None) for change in CHANGES),
    ("double", "zeroed", None),
    ("double", "kept", "aot_eager"),
]


@pytest.mark.parametrize(("change", "step", "backend"), WAYS)
@pytest.mark.parametrize("gradient", GRADIENTS)
def test_gradients_of_a_module_that_is_changed(
    gradient: str, change: str, step: str, backend: str | None
) -> None:
    check_source(
        f"{HEAD}for p in m.parameters():\n    p.grad = {GRADIENTS[gradient]}\n"
        f"def turn():\n    turns[0] += 1\n    if turns[0] == 3:\n        {CHANGES[change]}\n"
        f"def f(x, turn):\n    k[0] += 1\n{STEPS[step]}    y.backward()\n"
        "    return y.detach(), [p.grad for p in m.parameters()]\n",
        calls=5,
        change=turn,
        breaks=0,
        backend=backend,
    )


INPUTS = {
    "of another dtype": "x.data = x.data.double()",
    "of other sizes": "x.data = torch.ones(5, 7)",
    "of other strides": "x.data = torch.ones(3, 4).T",
    "of the memory of another input": "x.data = y[1:4]",
}
USES = {"read": "return x * 2 + x.sum()", "written to": "x.add_(1)\n    return x * 2, y + 1"}


# AOTAutograd leaves a mark on results of varying sizes
@pytest.mark.parametrize(("backend", "dynamic"), [(None, None), (None, True), ("aot_eager", None)])
@pytest.mark.parametrize("use", USES)
@pytest.mark.parametrize("change", INPUTS)
def test_an_argument_that_was_a_view(
    change: str, use: str, backend: str | None, dynamic: bool | None
) -> None:
    check_source(
        "import torch\nbase, y = torch.ones(4, 3), torch.ones(5, 2)\nx = base[1]\n"
        f"{INPUTS[change]}\ndef args(): return [x, y]\n"
        f"def f(x, y):\n    {USES[use]}\n",
        breaks=0,
        backend=backend,
        options={"dynamic": dynamic},
    )
