"""A new value in a reference cycle is one object after the call, whichever member of the cycle is handed out first."""

import collections
import functools
import types

import pytest

from framesmith import frontend


class Holder:
    def method(self):
        return self


class OwnPartial(functools.partial):
    pass


class OwnTuple(tuple):
    pass


class OwnFrozenset(frozenset):
    pass


class OwnList(list):
    pass


class OwnError(Exception):
    pass


def generator(holder):
    yield holder


def started(holder):
    result = generator(holder)
    next(result)
    return result


VALUES = {
    "closure": lambda holder: lambda: holder,
    "function with a default": lambda holder: lambda held=holder: held,
    "partial": lambda holder: functools.partial(len, holder),
    "partial with a keyword": lambda holder: functools.partial(len, key=holder),
    "partial of a subclass": lambda holder: OwnPartial(len, holder),
    "method": lambda holder: holder.method,
    "exception": OwnError,
    "builtin exception": KeyError,
    "generator": generator,
    "suspended generator": started,
    "slice": lambda holder: slice(holder),
    "tuple": lambda holder: ((holder,),),
    "frozenset": lambda holder: frozenset([holder]),
    "tuple of a subclass": lambda holder: OwnTuple([holder]),
    "frozenset of a subclass": lambda holder: OwnFrozenset([holder]),
    "list of a subclass": lambda holder: OwnList([holder]),
    "deque": lambda holder: collections.deque([holder]),
    "dict": lambda holder: {1: holder},
    "iterator": lambda holder: iter([holder]),
    "namespace": lambda holder: types.SimpleNamespace(held=holder),
    "proxy": lambda holder: types.MappingProxyType({1: holder}),
}


@pytest.mark.parametrize("name", VALUES)
def test_a_value_that_is_an_attribute_of_what_it_holds(name):
    make = VALUES[name]

    def value_first():
        holder = Holder()
        holder.value = made = make(holder)
        return made, holder

    def holder_first():
        holder = Holder()
        holder.value = made = make(holder)
        return holder, made

    def stored(found):
        holder = Holder()
        holder.value = made = make(holder)
        found.append(made)
        found.append(holder)

    made, holder = frontend.compile(value_first, backend="eager")()
    assert holder.value is made
    holder, made = frontend.compile(holder_first, backend="eager")()
    assert holder.value is made
    found = []
    frontend.compile(stored, backend="eager")(found)
    assert found[1].value is found[0]


def test_a_started_generator_is_advanced_once():
    def numbers(holder):
        yield from ()
        for number in range(3):
            yield number, holder

    def make():
        holder = Holder()
        holder.numbers = numbers(holder)
        return holder.numbers, holder, next(holder.numbers)[0]

    found, holder, first = frontend.compile(make, backend="eager")()
    assert first == 0
    assert found is holder.numbers
    assert [number for number, _ in found] == [1, 2]
