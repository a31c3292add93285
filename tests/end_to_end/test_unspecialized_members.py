"""Enum members that differ in each round, compared by `is`, where their classes say that they are equal."""

from enum import Enum

import pytest
import torch
from tests.end_to_end.support import check

from framesmith import frontend


class Alike(tuple, Enum):
    """Members that are equal tuples."""

    def __new__(cls, value):
        member = tuple.__new__(cls, (1,))
        member._value_ = value
        return member

    A, B, C, D, E, F, G, H = range(8)


class Equal(Enum):
    """Members that say they are equal."""

    A, B, C, D, E, F, G, H = range(8)

    def __eq__(self, other):
        return True

    def __hash__(self):
        return 1


@pytest.mark.parametrize("cls", [Alike, Equal])
def test_a_member_is_only_itself(cls) -> None:
    def f(x, members):
        found = 0
        for member in members:
            frontend.graph_break()
            x = x + 1
            found = found * 2 + (member is cls.C)
        return x, found

    check(f, torch.ones(2), [*cls, *cls])
