"""`islice` lets go of its iterator as soon as it has given its last item: a generator that nothing else holds is closed then."""

import collections
from itertools import chain, islice

import pytest
import torch

from framesmith import frontend

events = []


def items(x):
    try:
        yield x
        yield x + 1
        yield x + 2
    finally:
        events.append("closed")


def to_a_list(x):
    found = list(islice(items(x), 1))
    events.append("after")
    return found


def asked_again(x):
    part = islice(items(x), 1)
    found = list(part)
    events.append("after")
    return found + list(part)


def in_a_loop(x):
    for item in islice(items(x), 2):
        events.append("item")
        x = x + item
    events.append("after")
    return x


def of_a_variable(x):
    generator = items(x)
    found = list(islice(generator, 2))
    events.append("after")
    found.append(next(generator))
    del generator
    events.append("end")
    return found


def in_a_comprehension(x):
    found = [item * 2 for item in islice(items(x), 2)]
    events.append("after")
    return found


def in_a_chain(x):
    found = list(chain(islice(items(x), 2), islice(items(x), 1)))
    events.append("after")
    return found


def by_next(x):
    part = islice(items(x), 1)
    next(part)
    events.append("first")
    found = next(part, None)
    events.append("after")
    del part
    return x, found


def dropped_before(x):
    part = islice(items(x), 0, None, 2)
    found = next(part)
    part = None
    events.append("after")
    return found


def to_a_deque(x):
    collections.deque(islice(items(x), 2), maxlen=0)
    events.append("after")
    return x


@pytest.mark.parametrize(
    "function",
    [to_a_list, asked_again, in_a_loop, of_a_variable, in_a_comprehension, in_a_chain, by_next, dropped_before,
     to_a_deque],
)  # fmt: skip
def test_when_generators_are_closed(function):
    def observe(called):
        events.clear()
        return repr(called(torch.ones(2))), events.copy()

    compiled = frontend.compile(function, backend="eager")
    for _ in range(3):
        assert observe(compiled) == observe(function)
