"""A weak reference gives None as soon as the last other reference is gone: neither earlier nor later."""

import contextlib
import weakref

import pytest
import torch
from tests.end_to_end.children import in_child
from tests.end_to_end.support import check

X = torch.arange(3.0)


class O:
    pass


class A:
    pass


class S:
    __slots__ = ("__weakref__", "o")


class WithMethod:
    def m(self):
        return 1


def inner(x):
    o = O()
    return weakref.ref(o)


def gen(x):
    o = O()
    r = weakref.ref(o)
    yield r() is None
    del o
    yield r() is None


def keep(x):
    o = O()
    r = weakref.ref(o)
    return o, r


def deleted(x):
    o = O()
    r = weakref.ref(o)
    del o
    return r() is None, x + 1


def rebound(x):
    o = O()
    r = weakref.ref(o)
    o = None
    return r() is None, x + 1


def tensor_deleted(x):
    o = x + 1
    r = weakref.ref(o)
    del o
    return r() is None, x + 1


def tensor_rebound(x):
    o = x + 1
    r = weakref.ref(o)
    o = None
    return r() is None, x + 1


def popped_from_a_list(x):
    l = [O()]
    r = weakref.ref(l[0])
    l.pop()
    return r() is None, x + 1


def list_cleared(x):
    l = [O()]
    r = weakref.ref(l[0])
    l.clear()
    return r() is None, x + 1


def item_replaced(x):
    l = [O()]
    r = weakref.ref(l[0])
    l[0] = 1
    return r() is None, x + 1


def item_deleted(x):
    l = [O()]
    r = weakref.ref(l[0])
    del l[0]
    return r() is None, x + 1


def key_deleted(x):
    d = {"k": O()}
    r = weakref.ref(d["k"])
    del d["k"]
    return r() is None, x + 1


def value_replaced(x):
    d = {"k": O()}
    r = weakref.ref(d["k"])
    d["k"] = 1
    return r() is None, x + 1


def attribute_deleted(x):
    a = A()
    a.x = O()
    r = weakref.ref(a.x)
    del a.x
    return r() is None, x + 1


def attribute_replaced(x):
    a = A()
    a.x = O()
    r = weakref.ref(a.x)
    a.x = None
    return r() is None, x + 1


def left_with_an_inlined_callee(x):
    r = inner(x)
    return r() is None, x + 1


def loop_variable_rebound(x):
    rs = []
    for i in range(3):
        o = O()
        rs.append(weakref.ref(o))
    return [r() is None for r in rs], x + 1


def rebound_in_a_try(x):
    try:
        o = O()
        r = weakref.ref(o)
        o = None
        dead = r() is None
    finally:
        x = x + 1
    return dead, x


def deleted_in_a_generator(x):
    return list(gen(x)), x + 1


def unpacked_and_rebound(x):
    o, r = keep(x)
    o = None
    return r() is None, x + 1


def cell_variable_rebound(x):
    o = O()
    r = weakref.ref(o)

    def g():
        return o

    o = None
    return r() is None, x + 1


def held_by_a_list_until_it_is_cleared(x):
    o = O()
    h = [o]
    r = weakref.ref(o)
    del o
    a = r() is None
    h.clear()
    b = r() is None
    return a, b, x + 1


def nested_function_deleted(x):
    def g():
        return 1

    r = weakref.ref(g)
    del g
    return r() is None, x + 1


def seen_by_a_proxy(x):
    o = O()
    o.v = 1
    p = weakref.proxy(o)
    a = p.v
    del o
    try:
        p.v
        b = "alive"
    except ReferenceError:
        b = "dead"
    return a, b, x + 1


def set_cleared(x):
    o = O()
    s = {o}
    r = weakref.ref(o)
    del o
    s.clear()
    return r() is None, x + 1


def nested_list_replaced(x):
    l = [[O()]]
    r = weakref.ref(l[0][0])
    l[0] = None
    return r() is None, x + 1


def held_by_a_tuple(x):
    o = O()
    r = weakref.ref(o)
    o = (o,)
    a = r() is None
    o = 1
    return a, r() is None, x + 1


def weakly_referenced_by_a_callee_from_a_dict(x):
    first, second, found = O(), O(), []

    def refer(given):
        for key, value in given.items():
            found.append((weakref.ref(key, lambda ref: None), value))

    refer({first: 1, second: 2})
    alive = [key() is None for key, value in found]
    del first
    return alive, [key() is None for key, value in found], x + 1


def keys_of_a_weak_dictionary(x):
    first, second = O(), O()
    held = weakref.WeakKeyDictionary({first: 1, second: 2})
    number = len(held)
    del first
    return number, list(held.values()), x + 1


def members_of_a_weak_set(x):
    first, second = O(), O()
    held = weakref.WeakSet([first, second])
    number = len(held)
    del second
    return number, len(held), x + 1


def values_of_a_weak_dictionary(x):
    first, second = O(), O()
    held = weakref.WeakValueDictionary(first=first, second=second)
    number = len(held)
    del second
    return number, list(held), x + 1


ENDING = [
    deleted, rebound, tensor_deleted, tensor_rebound, popped_from_a_list, list_cleared, item_replaced,
    item_deleted, key_deleted, value_replaced, attribute_deleted, attribute_replaced,
    left_with_an_inlined_callee, loop_variable_rebound, rebound_in_a_try, deleted_in_a_generator,
    unpacked_and_rebound, cell_variable_rebound, held_by_a_list_until_it_is_cleared, nested_function_deleted,
    seen_by_a_proxy, set_cleared, nested_list_replaced, held_by_a_tuple,
    weakly_referenced_by_a_callee_from_a_dict, keys_of_a_weak_dictionary, members_of_a_weak_set,
    values_of_a_weak_dictionary,
]  # fmt: skip


@pytest.mark.parametrize("ending", ENDING, ids=lambda ending: ending.__name__)
def test_a_reference_is_dead_exactly_when_it_is_in_eager(ending):
    check(ending, X)


def with_a_hook_in_the_interpreter():
    with contextlib.suppress(Exception):  # torch leaves its hook when a branch is refused
        torch.cond(X.sum() > 0, lambda x: x, lambda x: x - 1, (X,))
    check(deleted, X)
    check(rebound_in_a_try, X)


def test_something_else_sees_the_frames_of_the_interpreter():
    """The interpreter holds the arguments of a call until it returns, then."""
    in_child(with_a_hook_in_the_interpreter)
