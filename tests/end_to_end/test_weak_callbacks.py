"""Callbacks of weak references, finalizers and weak containers see the end of a value when it comes."""

import weakref

import pytest
import torch
from tests.end_to_end.support import check

X = torch.arange(3.0)


class O:
    pass


class A:
    pass


def callback(x):
    log = []
    o = O()
    r = weakref.ref(o, lambda _: log.append("cb"))
    log.append("a")
    del o
    log.append("b")
    return list(log), x + 1


def finalizer(x):
    log = []
    o = O()
    weakref.finalize(o, log.append, "f")
    log.append("a")
    del o
    log.append("b")
    return list(log), x + 1


def finalizer_that_prints(x):
    o = O()
    weakref.finalize(o, print, "f")
    print("a")
    o = None
    print("b")
    return x + 1


def tensor_in_a_weak_set(x):
    y = x + 1
    s = weakref.WeakSet()
    s.add(y)
    print("b")
    print("c")
    return len(s), x + 1


def tensor_in_a_weak_value_dictionary(x):
    y = x + 1
    s = weakref.WeakValueDictionary()
    s["k"] = y
    print("b")
    print("c")
    n = len(s)
    return n, x + 1


def tensor_in_a_weak_value_dictionary_deleted(x):
    y = x + 1
    s = weakref.WeakValueDictionary()
    s["k"] = y
    print("b")
    del y
    n = len(s)
    return n, x + 1


def key_of_a_weak_key_dictionary(x):
    w = weakref.WeakKeyDictionary()
    o = O()
    w[o] = 1
    a = len(w)
    del o
    b = len(w)
    return a, b, x + 1


def callback_of_an_unread_reference(x):
    l = [O()]
    r = weakref.ref(l[0], lambda _: print("cb"))
    print("1")
    l.clear()
    print("2")
    return x + 1


def finalizer_of_an_attribute(x):
    log = []
    a = A()
    a.o = O()
    weakref.finalize(a.o, log.append, "f")
    log.append(1)
    a.o = None
    log.append(2)
    return log, x + 1


def finalizer_in_an_inlined_callee(x):
    log = []

    def g():
        o = O()
        weakref.finalize(o, log.append, "f")
        log.append("in")

    g()
    log.append("out")
    return log, x + 1


def object_in_a_weak_set(x):
    s = weakref.WeakSet()
    o = O()
    s.add(o)
    a = len(s)
    o = None
    b = len(s)
    return a, b, x + 1


def object_in_a_weak_value_dictionary(x):
    s = weakref.WeakValueDictionary()
    o = O()
    s[1] = o
    a = len(s)
    del o
    b = len(s)
    c = 1 in s
    return a, b, c, x + 1


def tensor_in_a_weak_set_rebound(x):
    s = weakref.WeakSet()
    o = x + 1
    s.add(o)
    a = len(s)
    print("b")
    b = len(s)
    o = None
    c = len(s)
    return a, b, c, x + 1


def callback_of_a_deleted_reference(x):
    log = []
    o = O()
    r = weakref.ref(o, lambda _: log.append("cb"))
    print("b")
    del r
    log.append(1)
    del o
    log.append(2)
    return log, x + 1


def callback_of_a_rebound_reference(x):
    log = []
    o = O()
    r = weakref.ref(o, lambda _: log.append("cb"))
    log.append(1)
    r = None
    log.append(2)
    o = None
    log.append(3)
    return log, x + 1


def callback_after_two_breaks(x):
    log = []
    o = O()
    r = weakref.ref(o, lambda _: log.append("cb"))
    print("b")
    print("c")
    log.append(1)
    o = None
    log.append(2)
    return log, x + 1


def callback_of_a_proxy(x):
    log = []
    o = O()
    r = weakref.proxy(o, lambda _: log.append("cb"))
    print("b")
    print("c")
    log.append(1)
    o = None
    log.append(2)
    return log, x + 1


CALLING = [
    callback, finalizer, finalizer_that_prints, tensor_in_a_weak_set, tensor_in_a_weak_value_dictionary,
    tensor_in_a_weak_value_dictionary_deleted, key_of_a_weak_key_dictionary, callback_of_an_unread_reference,
    finalizer_of_an_attribute, finalizer_in_an_inlined_callee, object_in_a_weak_set,
    object_in_a_weak_value_dictionary, tensor_in_a_weak_set_rebound, callback_of_a_deleted_reference,
    callback_of_a_rebound_reference, callback_after_two_breaks, callback_of_a_proxy,
]  # fmt: skip


@pytest.mark.parametrize("calling", CALLING, ids=lambda calling: calling.__name__)
def test_a_callback_comes_between_what_was_before_and_what_is_after(calling):
    check(calling, X)
