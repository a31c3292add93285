"""Bound methods as keys: two are equal if function and receiver are the same objects, whatever the receiver says."""

from dataclasses import dataclass
from enum import Enum
from types import MethodType

from tests.end_to_end.support import check


@dataclass(frozen=True)
class Point:
    x: int

    def method(self):
        return self.x


class Unhashable:
    __hash__ = None

    def __eq__(self, other):
        return True

    def method(self):
        return 1


class Color(Enum):
    RED = 1
    BLUE = 2

    def __eq__(self, other):
        return True

    def __hash__(self):
        return 1

    def method(self):
        return 1


def test_methods_of_equal_receivers_are_two_keys() -> None:
    check(lambda: len({Point(1).method: 1, Point(1).method: 2}))
    check(lambda one, other: len({one.method, other.method, one.method}), Point(1), Point(1))
    check(lambda: len({Color.RED.method, Color.BLUE.method, Color.RED.method}))


def test_a_receiver_needs_no_hash() -> None:
    check(lambda one: (len({one.method, Unhashable().method}), one.method in {one.method}), Unhashable())

    def f():
        receiver = [1]
        return len({MethodType(len, receiver), MethodType(len, receiver), MethodType(len, [1])})

    check(f)


def test_an_existing_method_is_found() -> None:
    def f(point, found):
        return found[point.method], Point(1).method in found

    point = Point(1)
    check(f, point, {point.method: 1})


def test_one_receiver_passed_twice_is_one_key() -> None:
    def change(pair):
        pair[1] = pair[0]

    check(lambda pair: len({pair[0].method, pair[1].method}), [Point(1), Point(1)], change=change)
