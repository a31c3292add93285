"""The side effects that `export` refuses are named as the program names what it changed."""

import re

import pytest
import torch

from framesmith import frontend

COUNT = 0


class Slotted:
    __slots__ = ("__dict__", "a")


HELD = Slotted()


class Counting(torch.nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.seen = 0
        self.inner = torch.nn.Linear(3, 3)

    def forward(self, x):
        self.seen += 1
        self.inner.last = 3
        return self.inner(x)


def count_globally(x):
    global COUNT
    COUNT += 1
    return x


def store_in_a_slot(x):
    HELD.a = 4
    HELD.other = 5
    return x


def count_in_a_variable():
    count = 0

    def counted(x):
        nonlocal count
        count += 1
        return x

    return counted


@pytest.mark.parametrize(
    ("function", "said"),
    [
        (Counting(), ["self.seen is changed at", "self.inner.last is changed at"]),
        (count_globally, [f"the global COUNT of {__name__} is changed at"]),
        (store_in_a_slot, ["HELD.a is changed at", "HELD.other is changed at"]),
        (count_in_a_variable(), ["the variable count is changed at"]),
    ],
    ids=["attributes", "global", "slot", "variable"],
)
def test_what_is_changed_has_its_name(function, said) -> None:
    with pytest.raises(frontend.ExportError) as caught:
        frontend.export(function)(torch.ones(3))
    for text in said:
        assert re.search(re.escape(text), str(caught.value)), str(caught.value)
