"""Iterators over containers that have changed since: what comes next, behind a break and where an operation raises, is what eager gives."""

from collections import OrderedDict, deque

import pytest
import torch

from framesmith import frontend

CASES = {
    "an existing set": "it = iter(s); next(it); s.add(9)",
    "a new set": "s = {1, 2}; it = iter(s); next(it); s.add(9)",
    "a set, at the start": "it = iter(s); s.add(9)",
    "members exchanged": "it = iter(s); s.remove(1); s.add(9)",
    "an emptied set": "it = map(str, s); next(it); s.clear()",
    "a set in zip": "it = zip(s, s); s.add(8)",
    "a generator": "it = (k for k in s); next(it); s.add(8)",
    "a set, at the end": "it = iter(s); list(it); s.add(8)",
    "a dict": "it = iter(d.items()); next(it); d['z'] = 7",
    "a dict backwards": "it = reversed(d); next(it); d['z'] = 7",
    "an ordered dict": "it = iter(o); next(it); o['z'] = 7",
    "a deque": "it = iter(q); next(it); q.append(7)",
    "a list": "it = iter(l); next(it); l.append(7)",
}
PROGRAM = """
def changed(x, s, d, o, q, l):
    {case}
    x = x + 1
    graph_break()
    try:
        found = list(it)
    except RuntimeError as error:
        found = str(error)
    return x * 2, found


def failing(x, s, d, o, q, l):
    x.add_(1)
    try:
        {case}
        torch.linalg.inv(x)
        list(it)
    except Exception as error:
        return str(error)[:40], len(s), len(d), len(o), len(q), len(l)
"""


def arguments():
    return torch.zeros(2, 2), {1, 2}, {"a": 1, "b": 2}, OrderedDict(a=1, b=2), deque([1, 2]), [1, 2]


@pytest.mark.parametrize("name", CASES)
@pytest.mark.parametrize("function", ["changed", "failing"])
def test_what_comes_next(name, function):
    names = {"torch": torch, "graph_break": frontend.graph_break}
    exec(PROGRAM.format(case=CASES[name]), names)
    compiled = frontend.compile(names[function], backend="eager")
    for _ in range(3):
        eager, ours = arguments(), arguments()
        assert repr(names[function](*eager)) == repr(compiled(*ours))
        assert repr(eager) == repr(ours)
