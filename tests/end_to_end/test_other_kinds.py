"""Arguments that are of another kind at the next call: finding out why no entry fits consumes no iterator, and runs no code of the user."""

import collections
import itertools

import pytest
import torch

from framesmith import frontend

LOG: list[str] = []


class Query:
    """Notes what is asked of it."""

    def __len__(self):
        LOG.append("len")
        raise OSError("not now")

    def __iter__(self):
        LOG.append("iter")
        return iter([5.0])

    def __getattr__(self, name):
        LOG.append(name)
        raise AttributeError(name)

    @property
    def __class__(self):
        LOG.append("class")
        return Query


class Number(int):
    pass


KINDS = {
    "dict": lambda: {1: 1, 2: 2},
    "iterator": lambda: iter([1, 2, 3]),
    "generator": lambda: (i for i in (1, 2)),
    "iterator of a dict": lambda: iter({1: 2}),
    "map": lambda: map(abs, [1, 2]),
    "set": lambda: {1, 2},
    "list": lambda: [1, 2],
    "tuple": lambda: (1, 2),
    "range": lambda: range(2),
    "ordered": lambda: collections.OrderedDict(a=1),
    "deque": lambda: collections.deque([1, 2]),
    "user": Query,
    "number": lambda: Number(3),
    "text": lambda: "ab",
    "tensor": lambda: torch.ones(2),
    "none": lambda: None,
}


def total(x, items, mode):
    try:
        for item in items:
            x = x + (item if type(item) in (int, float) else 1)
    except TypeError:
        x = x - 1
    return x * 2 if mode == "b" else x


def compare(x, items, mode):
    return x + (1 if items == items else 2) if mode != "b" else x


def outcome(function, kind, mode):
    """What a call gives or raises, and what the user's object was asked."""
    LOG.clear()
    try:
        result = function(torch.zeros(1), KINDS[kind](), mode).tolist()
    except Exception as error:
        result = repr(error)
    return result, list(LOG)


@pytest.mark.parametrize("function", [total, compare])
@pytest.mark.parametrize("first", KINDS)
def test_the_next_call_gets_another_kind(function, first):
    for other in KINDS:
        compiled = frontend.compile(function, backend="eager")
        for kind, mode in itertools.product((first, other), "ab"):
            assert outcome(compiled, kind, mode) == outcome(function, kind, mode), (first, other, kind, mode)
        for kind, mode in ((other, "c"), (first, "c"), (other, "d")):
            assert outcome(compiled, kind, mode) == outcome(function, kind, mode), (first, other, kind, mode)
