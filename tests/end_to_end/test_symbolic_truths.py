"""A comparison of sizes as the argument of an operator, most of which take no symbolic truth."""

import pytest
import torch
from tests.end_to_end.support import check

CALLS = {
    "keepdim": lambda x: x.sum(0, keepdim=x.shape[0] > 2),
    "is_causal": lambda x: torch.nn.functional.scaled_dot_product_attention(
        x[None], x[None], x[None], is_causal=x.shape[0] > 2
    ),
    "training": lambda x: torch.nn.functional.dropout(x, 0.5, x.shape[0] > 100),
    "by position": lambda x: torch.topk(x, 1, 0, x.shape[0] > 2, x.shape[0] == 2),
    "a new tensor": lambda x: torch.where(torch.tensor(x.shape[0] > 2), x, -x),
    "a new tensor of several": lambda x: torch.tensor([x.shape[0] > 2, x.shape[0] == 1]),
    "an operand": lambda x: x * (x.shape[0] > 2),
    "a size": lambda x: torch.full((2,), x.shape[0] > 2),
    "flip": lambda x: torch.cumsum(x, 0).flip(int(x.shape[0] > 2)),
    "a call that raises": lambda x: attempt(lambda: torch.sum(x, 5, keepdim=x.shape[0] > 2)),
}


NEXT = {4: 5, 5: 7, 7: 2, 2: 1, 1: 9, 9: 3}


def attempt(function):
    try:
        return function()
    except IndexError as error:
        return str(error)


@pytest.mark.parametrize("name", CALLS)
def test_a_truth_of_sizes_as_an_argument(name: str) -> None:
    def change(box):
        box[0] = torch.full((NEXT[len(box[0])], 4), 1.5)

    raises = name == "a call that raises"
    call = CALLS[name]
    check(lambda box: call(box[0]), [torch.ones(4, 4)], change=change, calls=6, breaks=None if raises else 0)
