"""Operations on constants that warn, or mean another thing in some Pythons: at each call, with the line of the program."""

import operator
import warnings

import pytest

from framesmith import frontend


def return_when_closed():
    try:
        yield 1
    except GeneratorExit:
        return 7


def close(x):
    items = return_when_closed()
    next(items)
    return items.close(), items.close(), x


def close_early(x):
    return return_when_closed().close(), x


def close_inner(x):
    def outer():
        return (yield from return_when_closed())

    items = outer()
    next(items)
    return items.close(), x


def close_and_clean(x):
    log = []

    def cleaned():
        try:
            yield 1
        finally:
            log.append("cleaned")

    items = cleaned()
    next(items)
    return items.close(), log, x


def invert(x):
    return ~(x == 1), ~True, ~3


def invert_each(x):
    known = x == 1
    return [~value for value in (known, not known)]


def invert_by_name(x):
    return operator.inv(x == 1), operator.invert(3), (True).__invert__()


def truth(x):
    return bool(NotImplemented), x


def negated(x):
    return (not NotImplemented), x


def branched(x):
    if NotImplemented:
        return x
    return None


def any_of(x):
    return any([NotImplemented]), x


def outcome(function):
    with warnings.catch_warnings(record=True) as found:
        warnings.simplefilter("always")
        try:
            result = function(1)
        except Exception as error:
            result = repr(error)
    return result, [(str(one.message), one.category, one.filename, one.lineno) for one in found]


@pytest.mark.parametrize(
    "function",
    [close, close_early, close_inner, close_and_clean]
    + [invert, invert_each, invert_by_name, truth, negated, branched, any_of],
)
def test_as_eagerly(function):
    compiled = frontend.compile(function, backend="eager")
    for _ in range(3):
        assert outcome(compiled) == outcome(function)
