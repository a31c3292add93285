"""Containers that code of the user changes while C code compares or searches them: the outcome is CPython's."""

from collections import deque

import pytest
import torch
from tests.end_to_end.support import check


class Acting:
    """An item whose comparison does something to the container that holds it, then answers."""

    def __init__(self, act, answer):
        self.act, self.answer = act, answer

    def __eq__(self, other):
        self.act()
        return self.answer

    def __lt__(self, other):
        return True

    def __repr__(self):
        return "Acting"


ACTS = {
    "clear": lambda items: items.clear(),
    "pop": lambda items: items.pop() if items else None,
    "append": lambda items: items.append(2) if len(items) < 30 else None,
    "nothing": lambda items: None,
}
OPERATIONS = {
    "==": lambda one, other: one == other,
    "!=": lambda one, other: one != other,
    "<": lambda one, other: one < other,
    ">=": lambda one, other: one >= other,
    "== reflected": lambda one, other: other == one,
    "in": lambda one, other: 7 in one,
    "count": lambda one, other: one.count(2),
    "index": lambda one, other: one.index(5),
    "index between": lambda one, other: one.index(3, -4, 4),
    "remove": lambda one, other: one.remove(5),
    "remove the first": lambda one, other: one.remove(1),
}


@pytest.mark.parametrize("kind", [list, deque])
@pytest.mark.parametrize("act", ACTS)
@pytest.mark.parametrize("name", OPERATIONS)
def test_a_sequence(kind, act, name):
    """A list is asked for its length anew; a deque raises RuntimeError."""
    run, change = OPERATIONS[name], ACTS[act]

    def function():
        results = []
        for answer in (NotImplemented, True):
            one = kind()
            one.extend([1, Acting(lambda one=one: change(one), answer), 3, 4, 5])
            other = kind([1, 2, 3, 2, 5])
            try:
                results.append(run(one, other))
            except (RuntimeError, IndexError, ValueError, TypeError) as error:
                results.append(repr(error))
            results.append(len(one))
        return results

    check(function)


def both_cleared():
    mine, other = {}, {}
    mine.update({1: Acting(mine.clear, True), 2: 3})
    other.update({2: 3, 1: 5})
    return mine == other, len(mine), len(other)


def other_cleared():
    mine, other = {}, {}
    mine.update({1: 4, 2: 3})
    other.update({2: 3, 1: Acting(other.clear, True)})
    return mine == other, other == mine, len(mine), len(other)


def list_that_both_shorten():
    class Shortens:
        def __init__(self, other):
            self.other = other

        def __eq__(self, other):
            self.other.clear()
            return NotImplemented

    one, other = [], []
    one.append(Shortens(other))
    other.append(Shortens(one))
    return one == other


@pytest.mark.parametrize("function", [both_cleared, other_cleared, list_that_both_shorten])
def test_both_sides(function):
    check(function)


def nested_frozensets():
    nest = [frozenset()]
    for _ in range(40):
        nest.append(frozenset(nest))
    return len(nest[-1]), len(set(nest)), nest[-1] == nest[-2], {nest[-1]: 1}[nest[-1]]


def nested_frozensets_of_tensors(x):
    nest = [frozenset([x])]
    for _ in range(40):
        nest.append(frozenset(nest))
    return len(nest[-1]), len(set(nest)), nest[-1] == nest[-2], {nest[-1]: 1}[nest[-1]]


def test_a_nest_of_frozensets_is_visited_once_for_each_set():
    """40 frozensets, each of which holds all before it: 2**40 visits where a part is visited anew each time."""
    check(nested_frozensets)
    check(nested_frozensets_of_tensors, torch.ones(2))
