"""Builtins that consume an iterable use an item before they take the next one."""

import math
import operator

import pytest
import torch
from tests.end_to_end.support import check, check_source

LOGGED = """
import operator
class Value:
    def __init__(self, number, log):
        self.number, self.log = number, log
    def note(self, *operands):
        self.log.append(self.number)
        return self.number > 1
    __gt__ = __lt__ = __eq__ = note
    def __add__(self, other):
        self.log.append(self.number)
        return self
    __radd__ = __add__
    def __hash__(self):
        self.log.append(self.number)
        return self.number
def items(log):
    for number in range(4):
        log.append(f"give {number}")
        yield Value(number, log)
def f():
    log = []
    given = map(lambda item: item, items(log)) if MAPPED else items(log)
    CALL
    return log, len(list(given))
"""
CALLS = [
    "sum(given)",
    "max(given)",
    "min(given)",
    "max(given, key=None)",
    "operator.countOf(given, 5)",
    "operator.indexOf(given, 5)",
    "{7: 7}.keys().isdisjoint(given)",
    "dict.fromkeys(given)",
    "set(given)",
    "set().update(given)",
    "set().difference_update(given)",
    "set().isdisjoint(given)",
    "set().issuperset(given)",
]


@pytest.mark.parametrize("call", CALLS)
@pytest.mark.parametrize("mapped", [True, False])
def test_code_of_items_runs_between_items(call: str, mapped: bool) -> None:
    check_source(LOGGED.replace("CALL", call).replace("MAPPED", str(mapped)))


def generate(items):
    yield from items


def _rest_after(call, items, make):
    given = make(items)
    try:
        found = call(given)
    except (TypeError, ValueError) as error:
        found = str(error)
    return found, list(given)


@pytest.mark.parametrize("make", [iter, generate])
@pytest.mark.parametrize(
    ("call", "items"),
    [
        (sum, [1, "a", 2]),
        (max, [1, "a", 2]),
        (min, [1j, 2, 3]),
        (lambda given: operator.indexOf(given, 1), [1, 2, 3]),
        (lambda given: operator.indexOf(given, 9), [1, 2, 3]),
        (set, [1, [], 2]),
        (dict, [(1, 2), 5, (3, 4)]),
        (dict.fromkeys, [1, [], 2]),
        (lambda given: {2: 2}.keys().isdisjoint(given), [1, 2, 3]),
        (lambda given: {2}.isdisjoint(given), [1, 2, []]),
        (lambda given: {2}.isdisjoint(given), [1, [], 2]),
        (lambda given: {2, 1}.issuperset(given), [1, 5, []]),
        (lambda given: frozenset({2, 1}).issuperset(given), [1, [], 3]),
        (lambda given: {2, 1}.issubset(given), [1, [], 2]),
        (lambda given: {2, 1}.issubset(given), [1, 2, 3]),
        (lambda given: {2, 1}.intersection(given), [1, 1, 2, []]),
        (lambda given: {2, 1}.intersection([1], given), [1, 1, 2, []]),
        (lambda given: {2, 1}.intersection_update(given), [5, 2, 1, []]),
        (lambda given: set().intersection(given), [5, 2]),
        (lambda given: {2, 1}.difference(given), [2, 1, 3]),
    ],
)
def test_an_end_or_an_error_leaves_the_rest(call, items, make) -> None:
    check(lambda items: _rest_after(call, items, make), items, change=lambda items: None)


def test_an_error_keeps_what_was_added_before() -> None:
    def f(items, found):
        try:
            found.update(items)
        except TypeError:
            return found
        return None

    check(f, [(1, 2), 5, (3, 4)], {}, change=lambda *args: None)


class Fraction:
    """No number; its sums are floats."""

    def __add__(self, other):
        return 0.1

    __radd__ = __add__


@pytest.mark.parametrize("make", [list, generate])
@pytest.mark.parametrize(
    "items",
    [
        [0.1] * 10,
        [1, 0.1, 0.1, Fraction(), *[0.1] * 9],
        [Fraction(), *[0.1] * 9],
        [1e16, 1.0, 1.0, -1e16],
        [math.nan, 1, 2],
        [True, 2, 2.0],
        [1j, 0.1, 0.1, 2],
        [torch.ones(2), 1, 0.1],
        [],
    ],
)
def test_sums_round_as_they_do_in_c(items, make) -> None:
    check(lambda items: repr(sum(make(items))), items, change=lambda items: None)


@pytest.mark.parametrize("make", [list, generate])
def test_sums_of_numbers_that_change_are_right(make) -> None:
    def f(x, n, m):
        return sum(make([n, x.shape[0], 2])), sum(make([n, m, 0.1, 0.1])), max(make([n, 3, x.shape[0]]))

    def change(x, n, m):
        x.resize_(x.shape[0] + 1).fill_(1)

    check(f, torch.ones(5), 7, 0.5, change=change)


UPDATES = """
def items(given, held):
    for item in given:
        if item == 3:
            raise ValueError(len(held))
        yield item
        given.append(len(held)) if len(given) < 6 else None
def f(held):
    try:
        held.METHOD(ITEMS)
    except (TypeError, ValueError) as error:
        return repr(error), [*held]
    return [*held]
def args():
    return (set(HELD),)
"""


@pytest.mark.parametrize(
    "method", ["update", "difference_update", "symmetric_difference_update", "intersection_update"]
)
@pytest.mark.parametrize(
    "items",
    [
        "items([1, 2], held)",
        "items([2, 7, 3, 8], held)",
        "[7, [], 2]",
        "(2, {1}, 7)",
        "iter([2, 8, [], 1])",
        "[9, 1], [2, []], [6]",
        "{7: 7, 2: 1}, items([1, 3], held)",
        "(item for item in (1, 9, 1, 9, 2) if item not in held)",
        "map(len, ['a', 'bc', 3])",
    ],
)
@pytest.mark.parametrize("held", [(1, 2, 5, 6), ()])
def test_a_set_is_updated_item_by_item(method, items, held) -> None:
    check_source(UPDATES.replace("METHOD", method).replace("ITEMS", items).replace("HELD", str(held)))


OWN_ITERATOR = """
import functools, operator, torch
class Items:
    def __init__(self, log):
        self.log, self.left = log, 3
    def __iter__(self):
        self.log.append("iter")
        return self
    def __next__(self):
        self.log.append("next")
        self.left -= 1
        if self.left < 0:
            raise StopIteration
        return GIVEN
    def __length_hint__(self):
        self.log.append("hint")
        return 3
def f(x):
    log = []
    result = CALL
    return log, result, x * 2
def args(): return (torch.ones(2),)
"""


@pytest.mark.parametrize("given", ["self.left", "[self.left]"])
@pytest.mark.parametrize(
    "call",
    [
        "max(Items(log))",
        "min(Items(log), key=lambda item: item)",
        "functools.reduce(lambda a, b: a + b, Items(log))",
        "functools.reduce(lambda a, b: a + b, Items(log), type(next(Items(log)))())",
        "sum(Items(log), type(next(Items(log)))())",
        "any(Items(log)), all(Items(log)), operator.countOf(Items(log), 1)",
        "list(Items(log)), tuple(Items(log)), sorted(Items(log), reverse=True)",
    ],
)
def test_an_iterator_is_asked_for_its_iterator_once(call, given) -> None:
    check_source(OWN_ITERATOR.replace("CALL", call).replace("GIVEN", given))
