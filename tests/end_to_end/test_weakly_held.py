"""A weak reference shows how long a value lives: variables that nobody reads again live as long as the interpreter lets them."""

import weakref

import pytest
import torch
from tests.end_to_end.support import check

from framesmith import frontend

X = torch.arange(3.0)


class Plain:
    pass


class Finalized:
    def __init__(self, log):
        self.log = log

    def __del__(self):
        self.log.append("del")


def in_a_value_dictionary(x):
    d = weakref.WeakValueDictionary()
    o = Plain()
    d["k"] = o
    a = len(d)
    return x + a


def in_a_set(x):
    s = weakref.WeakSet()
    o = Plain()
    s.add(o)
    print("break")
    return x + len(s)


def across_two_breaks(x):
    o = Plain()
    r = weakref.ref(o)
    print("break")
    print("again")
    return r() is None, x + 1


def finalizer_of_an_unread_variable(x):
    log = []
    o = Plain()
    weakref.finalize(o, log.append, "finalized")
    print("break")
    log.append("after")
    return x + 1, list(log)


def of_a_tensor(x):
    y = x * 2
    r = weakref.ref(y)
    z = x + 1
    print("break")
    return r() is None, z


def of_an_element(x):
    items = [Plain()]
    r = weakref.ref(items[0])
    y = x + 1
    return r() is None, y


def of_a_function(x):
    def inner():
        return 1

    r = weakref.ref(inner)
    y = x + 1
    return r() is None, y


def reference_to(x, o):
    r = weakref.ref(o)
    print("break")
    return r


def made_in_an_inlined_function(x):
    o = Plain()
    r = reference_to(x, o)
    return r() is None, x + 1


LIVING = [
    in_a_value_dictionary, in_a_set, across_two_breaks, finalizer_of_an_unread_variable, of_a_tensor, of_an_element,
    of_a_function, made_in_an_inlined_function,
]  # fmt: skip


@pytest.mark.parametrize("living", LIVING, ids=lambda living: living.__name__)
def test_an_unread_variable_keeps_its_referent(living):
    check(living, X)


def test_an_unread_variable_keeps_an_object_from_a_native_call():
    def f(x, make):
        o = make()
        r = weakref.ref(o)
        y = x + 1
        return r() is None, y

    check(f, X, Plain)


def popped_from_a_list(x, held, log):
    y = x + 1
    held[0].pop()
    log.append("after")
    return y


def popped_from_a_dict(x, held, log):
    y = x + 1
    held[1].pop("a")
    log.append("after")
    return y


@pytest.mark.parametrize("popped", [popped_from_a_list, popped_from_a_dict], ids=lambda f: f.__name__)
def test_a_popped_element_is_finalized_before_what_comes_next(popped):
    compiled = None
    for _ in range(3):
        logs = []
        compiled = compiled or frontend.compile(popped, backend="eager")
        for function in (popped, compiled):
            log = []
            held = ([Finalized(log)], {"a": Finalized(log)})
            function(X, held, log)
            logs.append(list(log))
        assert logs[0] == logs[1] == ["del", "after"]
