"""Builtins look special methods up on the type, never on the instance, and ask nothing else."""

import operator
from enum import Enum

import pytest
import torch
from tests.end_to_end.support import check


class Number:
    def __abs__(self):
        return 1

    def __round__(self, digits=None):
        return 1

    def __int__(self):
        return 1

    def __float__(self):
        return 1.0

    def __complex__(self):
        return 1j

    def __divmod__(self, other):
        return 1

    def __rdivmod__(self, other):
        return 1


def _misled():
    number = Number()
    for name in ("abs", "round", "int", "float", "complex", "divmod", "rdivmod"):
        setattr(number, f"__{name}__", lambda *operands: 2)
    return number


@pytest.mark.parametrize(
    "call",
    [
        abs,
        operator.abs,
        round,
        lambda value: round(value, 1),
        int,
        float,
        complex,
        lambda value: divmod(value, 1),
        lambda value: divmod(1, value),
    ],
)
def test_an_attribute_of_the_instance_is_no_special_method(call) -> None:
    check(lambda value: call(value), _misled())


class Missing(dict):
    def __missing__(self, key):
        return "class"


def test_a_missing_key_asks_the_class() -> None:
    found = Missing()
    found.__missing__ = lambda key: "instance"
    check(lambda found: found["a"], found)


class Color(Enum):
    RED = 1

    def __call__(self):
        return "class"

    def __abs__(self):
        return "class"


def test_an_attribute_of_a_member_is_no_special_method() -> None:
    Color.RED.__call__ = Color.RED.__abs__ = lambda: "member"
    check(lambda: (abs(Color.RED), Color.RED()))


class Halves:
    """A class with both parts of `divmod`, but not with that itself."""

    def __floordiv__(self, other):
        return 1

    __rfloordiv__ = __mod__ = __rmod__ = __floordiv__


class Declining:
    def __divmod__(self, other):
        return NotImplemented

    __rdivmod__ = __divmod__


class Reflected:
    def __rdivmod__(self, other):
        return "reflected"


class Integer(int):
    pass


class OwnInteger(int):
    def __rdivmod__(self, other):
        return "own"


@pytest.mark.parametrize(
    ("left", "right"),
    [
        (Halves(), 1),
        (1, Halves()),
        (torch.ones(2), 2),
        (2, torch.ones(2)),
        (Declining(), 1),
        (1, Declining()),
        (Declining(), Reflected()),
        (Reflected(), Reflected()),
        (1, Reflected()),
        ([1], 1),
        (7, OwnInteger(2)),
        (OwnInteger(7), OwnInteger(2)),
        (7.5, Integer(2)),
        (Integer(7), 2.5),
        (True, 2),
        (7.5, 2),
    ],
)
def test_divmod_asks_its_own_methods(left, right) -> None:
    def f(left, right):
        try:
            return divmod(left, right)
        except TypeError as error:
            return str(error)

    check(f, left, right, change=lambda *args: None)


def test_divmod_of_numbers_that_change_is_the_pair() -> None:
    def f(x, n, m):
        return divmod(n, 3), divmod(100.0, n), divmod(m, n), divmod(x.shape[0], 2)

    compiled_with = [(torch.ones(n), n, n + 0.5) for n in (5, 6, 9)]
    for args in compiled_with:
        check(f, *args, change=lambda *args: None)


@pytest.mark.parametrize("value", ["a", [], None])
def test_operator_abs_refuses_what_abs_refuses(value) -> None:
    def f(value):
        try:
            return operator.abs(value)
        except TypeError as error:
            return str(error)

    check(f, value)
