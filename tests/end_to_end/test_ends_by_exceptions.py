"""A StopIteration of a function that an iterator in C calls is the end of that iterator, and its value is kept for `next`."""

import pytest
from tests.end_to_end.support import check_source

PROGRAM = """
import itertools, torch

def stops(item):
    if item == 2:
        raise StopIteration(5)
    return item

class Stops:
    def __init__(self):
        self.count = 0
    def __call__(self):
        self.count += 1
        if self.count == 3:
            raise StopIteration(self.count)
        return self.count

def delegate(iterator):
    return (yield from iterator)

def unpack(iterator):
    first, *rest = iterator
    return first, rest

def loop(iterator):
    return [item for item in iterator]

def end(iterator):
    next(iterator)
    try:
        return next(iterator)
    except StopIteration as error:
        return error.args

def attempt(function):
    try:
        return function()
    except Exception as error:
        return type(error), error.args

def f(x):
    taken = [
        attempt(lambda: list({made})), attempt(lambda: loop({made})), attempt(lambda: list(delegate({made}))),
        attempt(lambda: unpack({made})), attempt(lambda: end(iter({made}))), attempt(lambda: 7 in {made}),
        attempt(lambda: max({made})), attempt(lambda: list(itertools.chain({made}, [9]))),
        attempt(lambda: list(zip({made}, [7, 8, 9]))),
    ]
    iterator = iter({made})
    return x + 1, taken, [attempt(lambda: next(iterator, "end")) for _ in range(2)]

def args():
    return (torch.ones(2),)
"""
ITERATORS = (
    "itertools.starmap(stops, [(1,), (2,), (3,)])",
    "filter(stops, [1, 2, 3])",
    "itertools.filterfalse(lambda item: not stops(item), [1, 2, 3])",
    "map(stops, [1, 2, 3])",
    "map(next, [iter([1]), iter([]), iter([3])])",
    "itertools.takewhile(stops, [1, 2, 3])",
    "itertools.dropwhile(lambda item: stops(item + 1), [0, 2, 3])",
    "itertools.accumulate([1, 2, 3], lambda total, item: stops(item))",
    "iter(Stops(), 9)",
    "iter(iter([1, 2]).__next__, 9)",
)


@pytest.mark.parametrize("made", ITERATORS)
def test_a_function_ends_its_iterator(made):
    check_source(PROGRAM.replace("{made}", made))


REENTERED = """
import itertools, torch

class Reader:
    count = 0
    def __iter__(self):
        return self
    def __next__(self):
        self.count += 1
        if self.count in (2, 4):
            taken.append(attempt(lambda: next(iterator)))
        if self.count > 7:
            raise StopIteration
        return [self.count]

def attempt(function):
    try:
        return function()
    except Exception as error:
        return type(error), str(error)

def f(x):
    global taken, iterator
    taken, iterator = [], {made}
    for _ in range(2):
        taken.append(attempt(lambda: next(iterator)))
    taken.append(attempt(lambda: list(itertools.islice(iterator, 9))))
    return x + 1, taken

def args():
    return (torch.ones(2),)
"""
READERS = (
    "itertools.pairwise(Reader())",
    "itertools.islice(Reader(), 1, 5, 2)",
    "itertools.islice(Reader(), 3)",
    "itertools.chain(Reader(), [8])",
    "itertools.cycle(Reader())",
    "itertools.zip_longest(Reader(), [1, 2, 3])",
    "itertools.tee(Reader())[0]",
    "itertools.accumulate(Reader())",
    "iter(Reader().__next__, [4])",
    "enumerate(Reader())",
    "zip(Reader(), [1, 2, 3, 4])",
    "filter(None, Reader())",
    "itertools.groupby(Reader())",
)


@pytest.mark.parametrize("made", READERS)
def test_an_iterator_that_its_own_items_read(made):
    check_source(REENTERED.replace("{made}", made))


@pytest.mark.parametrize("initial", ["", ", initial=None"])
def test_an_accumulation_whose_total_is_none(initial):
    check_source(
        f"""
import itertools, torch

def f(x):
    totals = itertools.accumulate([None, None, 3], lambda *pair: pair{initial})
    next(totals)
    print(end="")
    return x + 1, list(totals)

def args():
    return (torch.ones(2),)
"""
    )


def test_delegating_to_a_coroutine():
    check_source(
        """
import torch

async def wait():
    return 1

def delegate(coroutine):
    yield from coroutine

def f(x):
    coroutine = wait()
    try:
        list(delegate(coroutine))
    except TypeError as error:
        coroutine.close()
        return x + 1, str(error)

def args():
    return (torch.ones(2),)
"""
    )
