"""`__len__` and `__length_hint__` of the user's classes: C code that takes all items asks them first."""

import itertools
import operator

import pytest
import torch
from tests.end_to_end.support import check


class Sized:
    """Iterable with a length; tells what is asked of it."""

    def __init__(self, error=None):
        self.asked = []
        self.error = error

    def __len__(self):
        self.asked.append("len")
        if self.error is not None:
            raise self.error("no length")
        return 2

    def __iter__(self):
        self.asked.append("iter")
        return iter([1, 2])


class Indexed(Sized):
    __iter__ = None

    def __getitem__(self, index):
        self.asked.append(index)
        if index > 1:
            raise IndexError
        return index


class Subscripted:
    """By the sequence protocol, with a length that tells."""

    def __init__(self, error=None):
        self.asked = []
        self.error = error

    __len__ = Sized.__len__
    __getitem__ = Indexed.__getitem__


class Hinted:
    """An iterator with a hint."""

    def __init__(self, hint):
        self.asked = []
        self.hint = hint
        self.left = 2

    def __length_hint__(self):
        self.asked.append("hint")
        if isinstance(self.hint, type):
            raise self.hint("no hint")
        return self.hint

    def __iter__(self):
        return self

    def __next__(self):
        if not self.left:
            raise StopIteration
        self.left -= 1
        return self.left


def take_rest(items):
    first, *rest = items
    return first, rest


READERS = [
    list,
    tuple,
    sorted,
    set,
    sum,
    lambda items: [*items],
    lambda items: [0].extend(items),
    lambda items: [0].__iadd__(items),
    lambda items: [0].__setitem__(slice(0, 1), items),
    lambda items: (lambda *args: args)(*items),
    lambda items: (lambda *args: args)(0, *items),
    lambda items: "".join(map(str, items)),
    lambda items: "".join(items),
    lambda items: [0, 1].__setitem__(slice(0, 2, 2), items),
    lambda items: list(itertools.permutations(items)),
    lambda items: list(iter(items)),
    lambda items: list(zip(items, items, strict=False)),
    lambda items: list(reversed(items)),
    take_rest,
    operator.length_hint,
    lambda items: operator.length_hint(items, 7),
    lambda items: operator.length_hint(iter(items)),
]


@pytest.mark.parametrize("make", [Sized, Subscripted, Indexed, Hinted])
@pytest.mark.parametrize("place", range(len(READERS)))
def test_what_is_asked(place, make):
    """In the order of eager, with the same errors."""
    read = READERS[place]
    states = (
        (3, -1, "text", NotImplemented, TypeError, ValueError)
        if make is Hinted
        else (None, TypeError, ValueError)
    )

    def function(x):
        results = []
        for state in states:
            items = make(state)
            try:
                results.append((read(items), items.asked))
            except Exception as error:
                results.append((type(error), str(error), items.asked))
        return results, x + 1

    check(function, torch.ones(2))


def test_a_function_that_exhausts_its_own_iterator():
    """The iterator has ended when the function returns; StopIteration of the function ends it for good."""

    def function(x):
        found, numbers = [], []

        def count():
            numbers.append(len(numbers))
            if len(numbers) == 2:
                found.extend(iterator)
            if len(numbers) == 6:
                raise StopIteration
            return len(numbers) if len(numbers) < 4 else 9

        iterator = iter(count, 9)
        first = [*iterator, "end", *iterator]

        def stop():
            numbers.append("stop")
            raise StopIteration

        ended = iter(stop, 0)
        return first, found, [*ended, *ended], numbers, x + 1

    try:
        function(torch.ones(2))
    except SystemError:
        pytest.skip("the iterator of this CPython fails by itself (3.11.2 does)")
    check(function, torch.ones(2))
