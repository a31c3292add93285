"""The strides of a tensor that was given as `out=`."""

import pytest
import torch
from tests.end_to_end.support import check

from framesmith import frontend


def transposed(x):
    y = torch.empty(3, 2).t()
    torch.add(x, 1, out=y)
    return y, y + 1


def of_a_transposed_operand(x):
    y = torch.empty(3, 2)
    torch.add(x.t(), 1, out=y)
    return y, y + 1


def with_a_size_of_one(x):
    return torch.add(x[:, :1], 1, out=torch.empty_strided((2, 1), (1, 7)))


def new(x):
    return torch.add(x, 1, out=torch.empty(0))


def several(x):
    return torch.max(x, 1, out=(torch.empty(4)[::2], torch.empty(2, dtype=torch.long)))


@pytest.mark.parametrize(
    "program",
    [transposed, of_a_transposed_operand, with_a_size_of_one, new, several],
    ids=lambda one: one.__name__,
)
@pytest.mark.parametrize("dynamic", [None, True])
def test_a_given_tensor_keeps_its_strides(program, dynamic):
    x = torch.arange(6.0).reshape(2, 3)
    check(program, x, backend="aot_eager", options={"dynamic": dynamic})
    found = frontend.compile(program, backend="aot_eager", dynamic=dynamic)(x)
    pairs = zip(
        torch.utils._pytree.tree_leaves(program(x)), torch.utils._pytree.tree_leaves(found), strict=True
    )
    assert all(one.stride() == other.stride() for one, other in pairs)


WIDER = {
    "take": lambda x, y: torch.take(x, torch.tensor([1, 1]), out=y),
    "softmax": lambda x, y: torch.softmax(x, 0, out=y),
    "clamp": lambda x, y: torch.clamp(x, 0, 1, out=y),
    "index_select": lambda x, y: torch.index_select(x, 0, torch.tensor([1, 1]), out=y),
    "isin": lambda x, y: torch.isin(x, x, out=y),
    "amax": lambda x, y: torch.amax(x, 0, out=y),
    "add, which converts": lambda x, y: torch.add(x, 1, out=y),
}


@pytest.mark.parametrize("name", WIDER)
@pytest.mark.parametrize("backend", ["eager", "aot_eager"])
def test_a_target_of_another_dtype(name, backend):
    def program(x, y):
        try:
            return WIDER[name](x, y) is y, y.tolist()
        except RuntimeError as error:
            return str(error), y.tolist()

    target = torch.zeros(() if name == "amax" else (2,), dtype=torch.float64)
    check(program, torch.tensor([0.0, 1.0]), target, backend=backend)
