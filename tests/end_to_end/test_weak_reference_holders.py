"""What holds a weakly referenced value: two names, containers, cells, generators, tracebacks, what a callable holds."""

import functools
import weakref
from collections import deque

import pytest
import torch
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


def take(o, r):
    return r() is None


def gen2(x, out):
    o = O()
    out.append(weakref.ref(o))
    yield x
    yield x + 1


def gen3(x, out):
    o = x + 1
    out.append(weakref.ref(o))
    yield x
    print("in")
    yield x + 1


def gen4(x, out):
    o = O()
    out.append(weakref.ref(o))
    yield x
    yield x + 1


def popped_after_a_break(x):
    l = [O()]
    r = weakref.ref(l[0])
    print("b")
    l.pop()
    a = r() is None
    return a, x + 1


def nonlocal_rebound(x):
    d = O()
    r = weakref.ref(d)

    def g():
        nonlocal d
        d = None

    g()
    return r() is None, x + 1


def global_rebound(x):
    global GD
    GD = O()
    r = weakref.ref(GD)
    GD = None
    return r() is None, x + 1


def passed_on_and_sliced_away(x):
    o = O()
    r = weakref.ref(o)
    a = take(o, r)
    l = [o]
    del o
    b = r() is None
    l = l[:0]
    c = r() is None
    return a, b, c, x + 1


def swapped(x):
    a, b = O(), O()
    ra, rb = weakref.ref(a), weakref.ref(b)
    a, b = b, None
    return ra() is None, rb() is None, x + 1


def popped_by_a_loop(x):
    rs = []
    os = [O(), O()]
    rs = [weakref.ref(o) for o in os]
    os.reverse()
    while os:
        o = os.pop()
        x = x + 1
    a = [r() is None for r in rs]
    return a, x


def made_and_rebound_in_a_loop(x):
    out = []
    for i in range(3):
        o = O()
        r = weakref.ref(o)
        x = x * 2
        o = None
        out.append(r() is None)
        x = x + 1
    return out, x


def kept_by_a_traceback(x):
    def g():
        o = O()
        r = weakref.ref(o)
        raise ValueError(r)

    try:
        g()
    except ValueError as e:
        r = e.args[0]
        a = r() is None
    b = r() is None
    return a, b, x + 1


def rebound_before_an_exception(x):
    o = O()
    r = weakref.ref(o)
    try:
        o = None
        a = r() is None
        raise ValueError
    except ValueError:
        b = r() is None
    return a, b, x + 1


def deleted_in_a_with(x):
    o = O()
    r = weakref.ref(o)
    with torch.no_grad():
        del o
        a = r() is None
        x = x + 1
    return a, x


def kept_by_a_generator_until_its_end(x):
    out = []
    s = []
    for y in gen2(x, out):
        s.append(out[0]() is None)
    s.append(out[0]() is None)
    return s, x + 1


def kept_by_a_generator_until_it_is_closed(x):
    out = []
    g = gen2(x, out)
    next(g)
    a = out[0]() is None
    g.close()
    b = out[0]() is None
    return a, b, x + 1


def kept_by_a_generator_until_it_is_deleted(x):
    out = []
    g = gen2(x, out)
    next(g)
    a = out[0]() is None
    del g
    b = out[0]() is None
    return a, b, x + 1


def kept_by_a_real_generator(x):
    out = []
    s = []
    h = [gen4(x, out)]
    next(h[0])
    print("b")
    s.append(out[0]() is None)
    h.pop()
    s.append(out[0]() is None)
    return s, x + 1


def tensor_kept_by_a_generator(x):
    out = []
    s = []
    for y in gen3(x, out):
        print("b")
        s.append(out[0]() is None)
    s.append(out[0]() is None)
    return s, x + 1


def weak_method_of_a_temporary(x):
    class_ = O()
    class_.f = lambda: 1
    r = weakref.WeakMethod(WithMethod().m)
    return r() is None, x + 1


def mapped(x):
    os = [O(), O()]
    rs = list(map(weakref.ref, os))
    os.pop()
    a = [r() is None for r in rs]
    del os
    b = [r() is None for r in rs]
    return a, b, x + 1


def two_variables(x):
    o = O()
    r = weakref.ref(o)
    p = o
    del o
    a = r() is None
    del p
    b = r() is None
    return a, b, x + 1


def refers_to_itself(x):
    o = O()
    o.me = o
    r = weakref.ref(o)
    del o
    return r() is None, x + 1


def held_by_a_partial(x):

    o = O()
    f = functools.partial(print, o)
    r = weakref.ref(o)
    del o
    a = r() is None
    del f
    b = r() is None
    return a, b, x + 1


def held_by_a_default(x):
    o = O()
    r = weakref.ref(o)

    def g(a=o):
        return a

    del o
    a = r() is None
    del g
    b = r() is None
    return a, b, x + 1


def held_by_a_sorted_list(x):
    os = [O(), O()]
    r = weakref.ref(os[0])

    def key(o):
        return 1

    os2 = sorted(os, key=key)
    os.clear()
    a = r() is None
    os2.clear()
    b = r() is None
    return a, b, x + 1


def temporary_subscripted(x):
    def mk():
        o = O()
        return (weakref.ref(o), o)

    r = mk()[0]
    return r() is None, x + 1


def temporary_unpacked(x):
    def mk():
        o = O()
        return (weakref.ref(o), o)

    r, _ = mk()
    a = r() is None
    _ = None
    return a, r() is None, x + 1


def popped_item(x):
    d = {1: O()}
    r = weakref.ref(d[1])
    k, v = d.popitem()
    a = r() is None
    v = None
    return a, r() is None, x + 1


def attribute_replaced_by_setattr(x):
    a = A()
    setattr(a, "o", O())
    r = weakref.ref(a.o)
    setattr(a, "o", 1)
    b = r() is None
    return b, x + 1


def attribute_deleted_by_delattr(x):
    a = A()
    setattr(a, "o", O())
    r = weakref.ref(a.o)
    delattr(a, "o")
    b = r() is None
    return b, x + 1


def holder_rebound(x):
    a = A()
    a.o = O()
    r = weakref.ref(a.o)
    a = None
    return r() is None, x + 1


def pushed_out_of_a_deque(x):

    q = deque([O()], maxlen=1)
    r = weakref.ref(q[0])
    q.append(1)
    return r() is None, x + 1


def taken_out_of_a_list_that_grew(x):
    hold = []
    o = O()
    r = weakref.ref(o)
    hold.append(o)
    del o
    a = r() is None
    x = x + 1
    hold.append(2)
    b = r() is None
    hold.pop(0)
    c = r() is None
    return a, b, c, x


def slot_replaced(x):
    s = S()
    s.o = O()
    r = weakref.ref(s.o)
    s.o = None
    a = r() is None
    s.o = O()
    r = weakref.ref(s.o)
    print("b")
    s.o = None
    return a, r() is None, x + 1


ENDING = [
    popped_after_a_break, nonlocal_rebound, global_rebound, passed_on_and_sliced_away, swapped,
    popped_by_a_loop, made_and_rebound_in_a_loop, kept_by_a_traceback, rebound_before_an_exception,
    deleted_in_a_with, kept_by_a_generator_until_its_end, kept_by_a_generator_until_it_is_closed,
    kept_by_a_generator_until_it_is_deleted, kept_by_a_real_generator, tensor_kept_by_a_generator,
    weak_method_of_a_temporary, mapped, two_variables, refers_to_itself, held_by_a_partial, held_by_a_default,
    held_by_a_sorted_list, temporary_subscripted, temporary_unpacked, popped_item,
    attribute_replaced_by_setattr, attribute_deleted_by_delattr, holder_rebound, pushed_out_of_a_deque,
    taken_out_of_a_list_that_grew, slot_replaced,
]  # fmt: skip


@pytest.mark.parametrize("ending", ENDING, ids=lambda ending: ending.__name__)
def test_a_reference_stays_alive_exactly_as_long_as_in_eager(ending):
    check(ending, X)


@pytest.mark.parametrize("callback", [None, print])
def test_references_without_a_callback_are_one_object(callback) -> None:
    def f(c, existing):
        new = weakref.ref(c), weakref.ref(c, None), weakref.ref(c, print)
        same = [one is other for one in new for other in (*new, existing)]
        return same, len({id(one) for one in (*new, existing)})

    held = A()
    check(f, held, weakref.ref(held, callback))
