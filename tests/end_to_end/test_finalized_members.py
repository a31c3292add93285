"""What a container held alone is finalized when it is taken out, before the next operation."""

import pytest
import torch
from tests.end_to_end.support import check, check_source

from framesmith import frontend

X = torch.arange(3.0)


class A:
    pass


class D:
    def __init__(self, log):
        self.log = log

    def __del__(self):
        self.log.append("del")


G = []


@frontend.disable
def native(*values):
    return None


def list_cleared(x):
    log = []
    l = [D(log)]
    l.clear()
    log.append("after")
    return list(log), x + 1


def deleted(x):
    log = []
    d = D(log)
    del d
    log.append("after")
    return list(log), x + 1


def attribute_replaced(x):
    log = []
    a = A()
    a.x = D(log)
    a.x = None
    log.append("after")
    return list(log), x + 1


def value_replaced(x):
    log = []
    a = {1: D(log)}
    a[1] = None
    log.append("after")
    return list(log), x + 1


def list_cleared_after_a_break(x):
    log = []
    l = [D(log)]
    print("b")
    log.append("x")
    l.clear()
    log.append("after")
    return list(log), x + 1


def value_replaced_after_a_break(x):
    log = []
    l = {1: D(log), 2: 3}
    print("b")
    l[2] = 4
    log.append("x")
    l[1] = 0
    log.append("after")
    return list(log), x + 1


def key_deleted_after_a_break(x):
    log = []
    l = {1: D(log), 2: 3}
    print("b")
    l[2] = 4
    log.append("x")
    del l[1]
    log.append("after")
    return list(log), x + 1


def dict_cleared_after_a_break(x):
    log = []
    l = {1: D(log), 2: 3}
    print("b")
    log.append("x")
    l.clear()
    log.append("after")
    return list(log), x + 1


def attribute_replaced_after_a_break(x):
    log = []
    a = A()
    a.x = D(log)
    a.y = 1
    print("b")
    a.y = 2
    log.append("x")
    a.x = 0
    log.append("after")
    return list(log), x + 1


def attribute_deleted_after_a_break(x):
    log = []
    a = A()
    a.x = D(log)
    a.y = 1
    print("b")
    a.y = 2
    log.append("x")
    del a.x
    log.append("after")
    return list(log), x + 1


def set_cleared_after_a_break(x):
    log = []
    a = {D(log)}
    print("b")
    a.add(2)
    log.append("x")
    a.clear()
    log.append("after")
    return list(log), x + 1


def slice_replaced_after_a_break(x):
    log = []
    a = [1, D(log), 2]
    print("b")
    log.append("x")
    a[1:2] = []
    log.append("after")
    a.append(1)
    return list(log), a, x + 1


def nested_list_replaced_after_a_break(x):
    log = []
    a = [[D(log)]]
    print("b")
    log.append("x")
    a[0] = 1
    log.append("after")
    return list(log), a, x + 1


def nested_list_popped_after_a_break(x):
    log = []
    a = [[D(log)]]
    print("b")
    log.append("x")
    a.pop()
    log.append("after")
    return list(log), a, x + 1


def list_rebound_after_a_break(x):
    log = []
    a = [D(log)]
    print("b")
    a.append(1)
    log.append("x")
    a = None
    log.append("after")
    return list(log), a, x + 1


def appended_to_a_list_that_is_rebound(x):
    log = []
    a = []
    d = D(log)
    print("b")
    a.append(d)
    del d
    log.append("x")
    a = None
    log.append("after")
    return list(log), a, x + 1


def stored_in_an_object_that_is_rebound(x):
    log = []
    a = A()
    d = D(log)
    print("b")
    a.d = d
    del d
    log.append("x")
    a = None
    log.append("after")
    return list(log), a, x + 1


def nonlocal_rebound(x):
    log = []
    d = D(log)

    def g():
        nonlocal d
        d = None

    log.append("x")
    g()
    log.append("after")
    return list(log), x + 1


def global_rebound(x):
    global GD
    log = []
    GD = D(log)
    log.append("x")
    GD = None
    log.append("after")
    return list(log), x + 1


def popped_from_a_global_list(x):
    log = []
    G.append(D(log))
    print("b")
    log.append("x")
    G.pop()
    log.append("after")
    return list(log), x + 1


def global_list_cleared(x):
    log = []
    G.append(D(log))
    print("b")
    log.append("x")
    G.clear()
    log.append("after")
    return list(log), x + 1


def rebound_after_a_native_call(x):
    log = []
    d = D(log)
    native(d)
    log.append(1)
    d = 2
    log.append(3)
    return log, x + 1


def left_with_an_inlined_callee(x):
    log = []

    def g():
        d = D(log)
        return x * 2

    y = g()
    log.append("after")
    return log, y


def argument_of_an_inlined_callee(x):
    log = []

    def g(d):
        d2 = d
        return x * 2

    y = g(D(log))
    log.append("after")
    return log, y


def variable_of_a_comprehension(x):
    log = []
    [1 for d in [D(log), D(log)]]
    log.append("after")
    return log, x + 1


LETTING_GO = [
    list_cleared, deleted, attribute_replaced, value_replaced, list_cleared_after_a_break,
    value_replaced_after_a_break, key_deleted_after_a_break, dict_cleared_after_a_break,
    attribute_replaced_after_a_break, attribute_deleted_after_a_break, set_cleared_after_a_break,
    slice_replaced_after_a_break, nested_list_replaced_after_a_break, nested_list_popped_after_a_break,
    list_rebound_after_a_break, appended_to_a_list_that_is_rebound, stored_in_an_object_that_is_rebound,
    nonlocal_rebound, global_rebound, popped_from_a_global_list, global_list_cleared,
    rebound_after_a_native_call, left_with_an_inlined_callee, argument_of_an_inlined_callee,
    variable_of_a_comprehension,
]  # fmt: skip


@pytest.mark.parametrize("letting_go", LETTING_GO, ids=lambda letting_go: letting_go.__name__)
def test_it_is_finalized_before_what_comes_next(letting_go):
    check(letting_go, X)


@pytest.mark.parametrize("held", ["[Watched()]", "wide(Watched())"])
def test_a_search_for_finalizers_that_is_too_long_is_taken_for_a_find(held):
    check_source(
        f"""
import torch
order = []

class Watched:
    def __del__(self):
        order.append("ended")

def wide(value):
    return [[number] for number in range(3000)] + [value]

def f(x, box):
    y = x + 1
    held = box.pop()
    held = None
    order.append("behind")
    return y * 2, list(order)

def args():
    return torch.ones(2), [{held} for _ in range(3)]
"""
    )


class FinalTuple(tuple):
    def __del__(self):
        SEEN.append("tuple")


class FinalInt(int):
    def __del__(self):
        SEEN.append(int(self))


class FinalProperty(property):
    def __del__(self):
        SEEN.append("property")


SEEN = []


def exhausted_iterator(x):
    SEEN.clear()
    it = iter(FinalTuple())
    try:
        next(it)
    except StopIteration:
        SEEN.append("end")
    SEEN.append("after")
    return list(SEEN), x + 1


def replaced_value(x):
    SEEN.clear()
    d = {i: FinalInt(i) for i in range(3)}
    d[2] = None
    SEEN.append("after")
    return list(SEEN), x + 1


def dropped_property(x):
    SEEN.clear()
    made = FinalProperty(len)
    del made
    SEEN.append("after")
    return list(SEEN), x + 1


@pytest.mark.parametrize("function", [exhausted_iterator, replaced_value, dropped_property])
def test_an_immutable_value_of_a_class_with_a_finalizer(function):
    check(function, X)
