"""Classes whose special methods are C functions of another name or class: `__ne__ = object.__ne__`, `__add__ = list.extend`."""

import pytest
import torch
from tests.end_to_end.support import check


class UnequalDict(dict):
    """As a mapping that compares by order too: `!=` asks its own `==`."""

    def __eq__(self, other):
        return dict.__eq__(self, other) and list(self) == list(other)

    __ne__ = object.__ne__
    __hash__ = None


class ByIdentity:
    __eq__ = object.__eq__
    __ne__ = object.__ne__
    __hash__ = object.__hash__


class IdentityDict(ByIdentity, dict):
    pass


class IdentityInt(int):
    __eq__ = object.__eq__
    __hash__ = object.__hash__


class IdentityTuple(tuple):
    __eq__ = object.__eq__
    __hash__ = object.__hash__


class IdentitySet(ByIdentity, set):
    pass


class OddList(list):
    __lt__ = list.__gt__
    __contains__ = list.__eq__
    __bool__ = list.__len__
    __add__ = list.extend
    __or__ = list.__add__
    __neg__ = list.copy
    __invert__ = list.pop
    __call__ = list.append


class OddText(str):
    __add__ = str.split
    __mod__ = str.format
    __getitem__ = str.count
    __contains__ = str.startswith
    __len__ = str.find
    __neg__ = str.title


class OddFloat(float):
    __add__ = float.__sub__
    __lt__ = float.__gt__
    __bool__ = float.is_integer
    __neg__ = float.as_integer_ratio


EQUALITY = [
    lambda one, other: one == other,
    lambda one, other: one != other,
    lambda one, other: one == one,
    lambda one, other: other in [one],
    lambda one, other: [one, other].index(other),
    lambda one, other: len({one, other, one}),
    lambda one, other: {one: 1}.get(other),
    lambda one, other: hash(one) == object.__hash__(one),
]
OPERATORS = [
    lambda one: one < type(one)([0]) if isinstance(one, list) else one < 1,
    lambda one: [1, 2] in one if isinstance(one, list) else "a" in one,
    lambda one: bool(one),
    lambda one: one + (" " if isinstance(one, str) else [5] if isinstance(one, list) else 1),
    lambda one: one | [4],
    lambda one: -one,
    lambda one: ~one,
    lambda one: one(7),
    lambda one: one % 3,
    lambda one: one["a"],
    lambda one: len(one),
    lambda one: one,
]


def attempt(run, *args):
    try:
        return run(*args)
    except Exception as error:
        return type(error), str(error)


@pytest.mark.parametrize("existing", [True, False])
@pytest.mark.parametrize("kind", [UnequalDict, IdentityDict, IdentityInt, IdentityTuple, IdentitySet])
def test_equality_and_hash(kind, existing):
    """Of two values with the same content."""

    def make():
        return kind() if kind in (IdentityInt, IdentityTuple) else kind([(1, 2)])

    def function(x, one, other):
        if not existing:
            one, other = make(), make()
        return [attempt(run, one, other) for run in EQUALITY], x + 1

    check(function, torch.ones(2), make(), make())


@pytest.mark.parametrize("existing", [True, False])
@pytest.mark.parametrize("value", [OddList([1, 2]), OddText("a b{}"), OddFloat(1.5)], ids=repr)
def test_operators(value, existing):
    """Each operator does what the assigned function does."""
    kind = type(value)
    plain = list(value) if isinstance(value, list) else str(value) if isinstance(value, str) else 1.5

    def function(x, given):
        one = given if existing else kind(plain)
        return [attempt(run, one) for run in OPERATORS], x + 1

    check(function, torch.ones(2), value)


def test_a_mapping_that_compares_by_order():
    """`!=` is the opposite of its `==`, not that of a dict."""

    def function(x):
        one, other = UnequalDict(a=1, b=2), UnequalDict(b=2, a=1)
        return one == other, one != other, one != UnequalDict(one), x + 1

    check(function, torch.ones(2))
