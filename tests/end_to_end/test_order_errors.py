"""The TypeError of an order that does not exist reads as in eager, also where one operand is a number that changes."""

import operator
from collections.abc import Callable

import pytest

from framesmith import frontend

ORDERS = (operator.lt, operator.le, operator.gt, operator.ge)
OTHERS: tuple[object, ...] = ("a", b"a", 1j, None)


def said(function: Callable[..., object], *args: object) -> object:
    try:
        return function(*args)
    except TypeError as error:
        return str(error)


@pytest.mark.parametrize("order", ORDERS)
@pytest.mark.parametrize("other", OTHERS)
@pytest.mark.parametrize("numbers", [(1, 2, 3), (1.5, 2.5, 3.5)])
def test_a_number_that_changes_on_either_side(
    order: Callable[[object, object], bool], other: object, numbers: tuple[object, ...]
) -> None:
    def left(n: object) -> bool:
        return order(n, other)

    def right(n: object) -> bool:
        return order(other, n)

    for function in (left, right):
        frontend.reset()
        compiled = frontend.compile(function, backend="eager")
        for n in numbers:
            assert said(compiled, n) == said(function, n)


@pytest.mark.parametrize("function", [sorted, max, min])
def test_numbers_that_change_in_a_list(function: Callable[..., object]) -> None:
    def reduce(values: list[object]) -> object:
        return function(values)

    frontend.reset()
    compiled = frontend.compile(reduce, backend="eager")
    for values in ([3, 1, 2], [1, "a", 2], ["a", 4, 2]):
        assert said(compiled, list(values)) == said(reduce, list(values))


def test_equality_with_a_string_is_still_false() -> None:
    def same(n: object) -> tuple[bool, bool, bool, bool]:
        return n == "a", n != b"a", "a" == n, n == complex(3)  # noqa: SIM300

    frontend.reset()
    compiled = frontend.compile(same, backend="eager")
    for n in (1, 2, 3, 4, 1.5, 2.5, 3.0):
        assert compiled(n) == same(n)
