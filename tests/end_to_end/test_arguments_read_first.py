"""Which argument C code reads first decides what an error leaves in an iterator; and names of arguments are any texts."""

import itertools
import operator

import pytest
from tests.end_to_end.support import check

from framesmith import frontend


@pytest.mark.parametrize("size", ["x", -1, 1 << 70, 2])
@pytest.mark.parametrize(
    "choose",
    [
        itertools.combinations,
        itertools.combinations_with_replacement,
        itertools.permutations,
        itertools.islice,
    ],
)
def test_a_wrong_size_leaves_what_it_leaves_in_c(choose, size) -> None:
    def f(items):
        given = iter(items)
        try:
            found = list(choose(given, size))
        except (TypeError, ValueError, OverflowError) as error:
            found = type(error).__name__
        return found, list(given)

    check(f, [1, 2, 3])


def test_a_number_of_repetitions_has_to_fit() -> None:
    def f():
        try:
            return itertools.repeat(1, 1 << 70)
        except OverflowError:
            return None

    check(f)


class Target:
    def method(self, *args, **named):
        return args, named


@pytest.mark.parametrize("name", ["class", "a b", "it's", "{x}", "plain"])
def test_a_methodcaller_is_built_with_any_names(name: str) -> None:
    def f(target):
        call = operator.methodcaller("method", 1, **{name: 2})
        frontend.graph_break()
        return call(target)

    check(f, Target())
