"""`==` and hashes of weak references are those of what they lead to, also in the containers of `weakref`."""

import weakref

import pytest
import torch
from tests.end_to_end.support import check

X, Y = torch.arange(3.0), torch.arange(3.0)


class Same:
    def __init__(self, value):
        self.value = value

    def __eq__(self, other):
        return isinstance(other, Same) and self.value == other.value

    def __hash__(self):
        return hash(self.value)


class Odd:
    __hash__ = object.__hash__

    def __eq__(self, other):
        print("asked")
        return 7


class Plain:
    pass


SAME, SAME_AGAIN, OTHER, ODD, PLAIN = Same(1), Same(1), Same(2), Odd(), Plain()
OUTSIDE = torch.ones(3)
WITH_CALLBACK = weakref.ref(OUTSIDE, lambda _: None)
TABLE = {WITH_CALLBACK: 1}
SET = weakref.WeakSet([OUTSIDE])
KEYS = weakref.WeakKeyDictionary({OUTSIDE: 3})


def two_references(x, y):
    return weakref.ref(x) == weakref.ref(y), weakref.ref(x) != weakref.ref(y)


def one_tensor_twice(x, y):
    return weakref.ref(x) == weakref.ref(x), weakref.ref(x) is weakref.ref(x)


def with_a_callback(x, y):
    return weakref.ref(x) == weakref.ref(x, lambda _: None)


def in_a_list(x, y):
    return weakref.ref(x) in [weakref.ref(x)], weakref.ref(x) in [weakref.ref(x, lambda _: None)]


def in_a_set(x, y):
    return len({weakref.ref(x), weakref.ref(x), weakref.ref(y)}), weakref.ref(y) in {weakref.ref(x)}


def with_and_without_a_callback_in_a_set(x, y):
    return len({WITH_CALLBACK, weakref.ref(OUTSIDE)})


def in_a_table(x, y):
    return TABLE[WITH_CALLBACK], TABLE.get(weakref.ref(x))


def found_by_another_reference(x, y):
    return TABLE[weakref.ref(OUTSIDE)]


def a_reference_and_itself(x, y):
    return WITH_CALLBACK == WITH_CALLBACK


def set_of_tensors(x, y):
    return x in weakref.WeakSet([x])


def set_of_new_tensors(x, y):
    one, two = x + 1, x + 1
    return len(weakref.WeakSet([one, two]))


def keys_that_are_tensors(x, y):
    table = weakref.WeakKeyDictionary()
    table[x] = 1
    table[y] = 2
    return len(table), table[x]


def existing_set(x, y):
    return x in SET, OUTSIDE in SET


def existing_keys(x, y):
    return x in KEYS, KEYS[OUTSIDE]


def values_that_are_tensors(x, y):
    table = weakref.WeakValueDictionary({1: x, 2: y})
    return table[1] is x, len(table)


def with_their_own_equality(x, y):
    found = weakref.WeakSet([SAME])
    return x + 1, weakref.ref(SAME) == weakref.ref(SAME_AGAIN), SAME_AGAIN in found, OTHER in found


def that_is_not_true(x, y):
    return x + 1, weakref.ref(ODD) == weakref.ref(ODD), weakref.ref(ODD) != weakref.ref(ODD)


def with_plain_equality(x, y):
    found = weakref.WeakSet([PLAIN])
    return x + 1, PLAIN in found, weakref.ref(PLAIN) == weakref.ref(PLAIN, lambda _: None)


PROGRAMS = (
    two_references, one_tensor_twice, with_a_callback, in_a_list, in_a_set, with_and_without_a_callback_in_a_set, in_a_table,
    found_by_another_reference, a_reference_and_itself, set_of_tensors, set_of_new_tensors, keys_that_are_tensors, existing_set,
    existing_keys, values_that_are_tensors, with_their_own_equality, that_is_not_true, with_plain_equality,
)  # fmt: skip


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda program: program.__name__)
def test_references_compare_what_they_lead_to(program):
    check(program, X, Y)


def test_two_references_to_tensors_are_compared_in_the_graph():
    check(two_references, X, Y, graphs=1, breaks=0)
