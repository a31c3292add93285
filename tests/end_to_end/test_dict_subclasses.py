"""Subclasses of `OrderedDict` and `defaultdict`: what their C methods make is of the class, and they call its methods."""

from collections import OrderedDict, defaultdict

import pytest
import torch
from tests.end_to_end.support import check


class Ordered(OrderedDict):
    pass


class Slotted(OrderedDict):
    __slots__ = ("seen",)


class Stored(OrderedDict):
    """Tells of the stores and reads of its items."""

    def __setitem__(self, key, value):
        print("set", key)
        super().__setitem__(key, value)

    def __getitem__(self, key):
        print("get", key)
        return super().__getitem__(key)


class Default(defaultdict):
    pass


class NewObject(defaultdict):
    """Has an `__init__` of its own, and one of `__setitem__`."""

    def __init__(self, factory=None, *items):
        super().__init__(factory, *items)
        self.given = len(items)

    def __setitem__(self, key, value):
        super().__setitem__(key, (value, "stored"))


OPERATIONS = {
    "copy": lambda one: one.copy(),
    "or": lambda one: one | {"b": 2},
    "reflected or": lambda one: {"b": 2} | one,
    "or of its kind": lambda one: one | type(one)(one),
    "or of the base": lambda one: one | OrderedDict(c=3),
    "base first": lambda one: OrderedDict(c=3) | one,
    "in-place or": lambda one: one.__ior__([("d", 4)]),
    "update": lambda one: (one.update({"e": 5}, f=6), one)[1],
    "setdefault": lambda one: (one.setdefault("g", 7), one)[1],
    "missing": lambda one: (one.setdefault("h"), one["h"], one)[2],
    "super": lambda one: super(type(one), one).copy(),
}


def look(value):
    return type(value), list(value.items()), getattr(value, "default_factory", None)


@pytest.mark.parametrize("operation", OPERATIONS)
@pytest.mark.parametrize("existing", [True, False])
@pytest.mark.parametrize("kind", [Ordered, Slotted, Stored, Default, NewObject])
def test_results_are_of_the_class(kind, existing, operation):
    """Of an instance that was there before, and of one made in the trace."""
    run = OPERATIONS[operation]

    def make():
        new = kind(int) if issubclass(kind, defaultdict) else kind()
        new["a"] = 1
        return new

    def function(x, given):
        one = given if existing else make()
        result = run(one)
        return look(result), look(one), result is one, getattr(result, "given", None), x + 1

    check(function, torch.ones(2), make())


@pytest.mark.parametrize("factory", [1, {}, "text", [], None, int, len])
def test_a_factory_can_be_called(factory):
    """The constructor and `__init__` refuse others; a new factory of an existing dict is seen."""

    def function(x, given):
        results = []
        for attempt in (
            lambda: defaultdict(factory),
            lambda: Default(factory),
            lambda: (defaultdict.__init__(given, factory, {1: 2}), given)[1],
        ):
            try:
                made = attempt()
                results.append((made, made.default_factory))
            except TypeError as error:
                results.append(str(error))
        return results, x + 1

    check(function, torch.ones(2), defaultdict(list))


def test_keys_that_are_equal_ranges_with_other_ends_are_told_apart():
    def function(x, names):
        return x * sum(key.stop for key in names)

    def change(x, names):
        names.clear()
        names[range(0, 12, 3)] = 1

    check(function, torch.ones(2), {range(0, 10, 3): 1}, change=change)
