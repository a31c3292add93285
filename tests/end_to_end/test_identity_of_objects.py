"""Two existing objects that a trace told apart may be one object in a later call: `is`, `id` and keys by identity say so."""

import collections
import functools
import types

import numpy as np
import pytest
import torch

from framesmith import frontend
from framesmith.frontend import api


class Plain:
    """Compared and hashed by identity."""


def named() -> int:
    """A function that is copied."""
    return 1


KINDS = {
    "list": lambda: [1],
    "dict": lambda: {1: 2},
    "set": lambda: {1},
    "tuple": lambda: (int("3000"),),
    "frozenset": lambda: frozenset([1, 2]),
    "size": lambda: torch.Size([2, 3]),
    "range": lambda: range(3, int("9")),
    "slice": lambda: slice(1, int("9")),
    "deque": collections.deque,
    "ordered": collections.OrderedDict,
    "default": lambda: collections.defaultdict(int),
    "function": lambda: types.FunctionType(named.__code__, {}),
    "method": lambda: types.MethodType(named, 1),
    "partial": lambda: functools.partial(named),
    "iterator": lambda: iter([1]),
    "instance": Plain,
    "exception": lambda: ValueError(1),
    "module": lambda: torch.nn.Linear(1, 1),
    "tensor": lambda: torch.ones(2),
    "array": lambda: np.ones(2),
    "cell": lambda: types.CellType(1),
}
QUESTIONS = {
    "is": lambda x, a, b: (a is b, x + 1),
    "is not": lambda x, a, b: (a is not b, x + 1),
    "id": lambda x, a, b: (id(a) == id(b), x + 1),
    "id as a key": lambda x, a, b: ({id(a): 1}.get(id(b)), x + 1),
    "ids in a set": lambda x, a, b: (len({id(a), id(b)}), x + 1),
    "in a set": lambda x, a, b: (len({a, b}), x + 1),
    "in a list": lambda x, a, b: (a in [b], x + 1),
    "lists": lambda x, a, b: ([a] == [b], x + 1),
    "index": lambda x, a, b: ((b, a).index(a), x + 1),
}
BY_DATA = {"in a list", "lists", "index"}


def answer(function, x, pair):
    try:
        return function(x, *pair)[0]
    except TypeError as error:
        return str(error)


@pytest.mark.parametrize("question", QUESTIONS)
@pytest.mark.parametrize("kind", KINDS)
def test_two_objects_may_be_one_in_a_later_call(kind: str, question: str) -> None:
    if kind in ("tensor", "array") and question in BY_DATA:
        pytest.skip("compares data")
    function = QUESTIONS[question]
    compiled = frontend.compile(function, backend="eager")
    one, other, x = KINDS[kind](), KINDS[kind](), torch.ones(1)
    for pair in [(one, other), (one, one), (other, one), (other, other)]:
        assert answer(compiled, x, pair) == answer(function, x, pair), pair


def test_keys_by_identity_are_told_apart_by_one_guard() -> None:
    def f(x, items):
        return x + 1, len({id(item) for item in items}), len(set(items))

    compiled = frontend.compile(f, backend="eager")
    first, second = [Plain() for _ in range(20)], [Plain() for _ in range(20)]
    for items in (first, second, [*first[:19], first[0]], first[:10] * 2):
        assert compiled(torch.ones(1), items)[1:] == f(torch.ones(1), items)[1:]
    guards = api.session_of(compiled).history.entries[0].guards
    assert sum("are distinct objects" in guard for guard in guards) == 1
