"""Entries of classes that are not what their name suggests: descriptors without `__get__`, methods of C under other names."""

import collections
import enum
import typing

import pytest
from tests.end_to_end.support import check


class Storing:
    """A data descriptor without `__get__`."""

    def __set__(self, instance, value):
        instance.__dict__["field"] = value


class Deleting:
    """As `Storing`, by the other half of the slot."""

    def __delete__(self, instance):
        del instance.__dict__["field"]


def _holder(kind):
    return type("Holder", (), {"field": kind()})()


@pytest.mark.parametrize("kind", [Storing, Deleting])
def test_an_attribute_hides_a_descriptor_that_cannot_be_read(kind) -> None:
    def f(holder):
        found = [type(holder.field).__name__]
        holder.__dict__["field"] = 3
        return [*found, holder.field]

    check(f, _holder(kind), change=lambda holder: holder.__dict__.clear())


class Backwards(list):
    """A list that runs backwards and is compared by identity."""

    __iter__ = list.__reversed__
    __eq__ = object.__eq__
    __hash__ = object.__hash__


class Wrong(int):
    """A slot of a type from which it does not derive."""

    __add__ = str.__add__


def test_a_list_that_runs_backwards() -> None:
    check(
        lambda a, b: (list(a), a == b, a == a, len({a, b}), a[0]), Backwards([1, 2, 3]), Backwards([1, 2, 3])
    )


def test_a_slot_of_another_type_is_refused() -> None:
    check(lambda a: a + a, Wrong(1))


class Text(str):
    """A text with attributes."""


class Shown(str):
    """A text that is written in its own way."""

    def __str__(self):
        return "shown"

    def __repr__(self):
        return "Shown!"


def test_methods_that_give_the_text_itself() -> None:
    def f(text):
        found = (*text.partition("z"), *text.rpartition("z"), text.format(), text % (), text.strip(), text[:])
        return [type(one) for one in found], text.format() is text, text.partition("z")[0] is text

    check(f, Text("abc"))


def test_formatting_asks_the_class() -> None:
    check(lambda text: ("%s %r" % (text, text), "%s" % text, "%r" % text, "%5s" % text), Shown("q"))


class Whole(int):
    """An integer whose in-place method has a name that begins like others."""

    def __repr__(self):
        return "whole"


def test_a_conversion_gives_a_plain_number() -> None:
    def f(n):
        number = Whole(n)
        return [type(one) for one in (int(number), number.__int__(), number.__index__())]

    check(f, 3)


class Target:
    """What a proxy stands for."""


class Proxy:
    """An object that says it is of another class."""

    def __init__(self, target):
        object.__setattr__(self, "target", target)

    def __getattribute__(self, name):
        return getattr(object.__getattribute__(self, "target"), name)


def test_isinstance_asks_a_proxy() -> None:
    def f():
        proxy = Proxy(Target())
        return isinstance(proxy, Target), isinstance(proxy, Proxy), isinstance(proxy, int)

    check(f)


class Point:
    """A class with positional sub-patterns."""

    __match_args__ = ("x",)

    def __init__(self):
        self.x = 1


def test_patterns_that_ask_twice() -> None:
    def by_class(point):
        match point:
            case Point(1, x=1):
                return "matched"
        return "not matched"

    def by_key(mapping):
        key = Keys
        match mapping:
            case {key.a: 1, key.b: 1}:
                return "matched"
        return "not matched"

    check(by_class, Point())
    check(by_key, {"a": 1})


class Keys:
    """Two names of one key."""

    a = "a"
    b = "a"


class Getting(dict):
    """A dict whose `get` is its own; patterns call it."""

    def get(self, key, default=None):
        print("asked", key)
        return dict.get(self, key, default)


def test_patterns_call_get() -> None:
    def f(mapping):
        match mapping:
            case {"a": found}:
                return found
        return None

    check(f, Getting(a=1))


class Pair(tuple, enum.Enum):
    """Members that are tuples."""

    FIRST = (1, 2)
    SECOND = (3, "x")


def test_members_that_are_tuples() -> None:
    check(lambda n: (Pair.FIRST == (1, 2), (1, n) == Pair.FIRST, Pair.FIRST != (1, 2), Pair.FIRST < (3,)), 2)


def test_functions_that_take_the_module_of_their_caller() -> None:
    def f():
        found = collections.namedtuple("NewObject", "a b").__module__
        return found, typing.NamedTuple("Other", [("a", int)]).__module__

    check(f)


def test_aliases_that_cannot_be_called() -> None:
    check(lambda: typing.List())  # noqa: UP006
    check(lambda: (typing.Union[typing.Any] is typing.Any, typing.DefaultDict(list)))  # noqa: UP006, UP007
