"""Partials, functools, modules, weak references, attribute functions."""

import functools
import math
import types
import weakref

import pytest
from support_objects import Trace, check

from framesmith.graph import GraphBreak

module = types.ModuleType("sample")
module.value = 3


class Thing:
    def __init__(self):
        self.a = 1


def add(a, b=10, *rest, c=0):
    return a + b + c + sum(rest)


@functools.lru_cache
def squared(n):
    return n * n


@functools.wraps(add)
def wrapped(*args, **kwargs):
    return add(*args, **kwargs) + 1


@functools.total_ordering
class Total:
    def __init__(self, n):
        self.n = n

    def __eq__(self, other):
        return self.n == other.n

    def __lt__(self, other):
        return self.n < other.n


def partials(p):
    q = functools.partial(add, 1, c=5)
    r = functools.partial(q, 2, c=6)
    return p(3), q(), r(), r.args, r.keywords, r.func is add, r


def reduces():
    return (
        functools.reduce(lambda a, b: a + b, [1, 2, 3]),
        functools.reduce(add, [1], 5),
        functools.reduce(add, [4]),
    )


def reduce_empty():
    return functools.reduce(add, [])


def keys():
    return sorted([3, 1, 2], key=functools.cmp_to_key(lambda a, b: b - a))


def cached():
    return squared(4) + 1


def wraps():
    return wrapped(1), wrapped.__name__, wrapped.__wrapped__ is add


def total():
    return Total(1) < Total(2), Total(1) >= Total(2), Total(3) > Total(2), Total(1) <= Total(1)


def modules():
    return math.pi, math.sqrt(4), module.value, hasattr(module, "nope"), module is module


def module_store():
    module.value += 1
    module.other = "o"
    answer = module.value, module.other
    del module.other
    module.value = 3
    return answer


def module_missing():
    return math.nothing


def weak(t):
    r = weakref.ref(t)
    return r() is t, r


def weak_existing(r, t):
    return r() is t


def by_name(t):
    setattr(t, "b", 2)
    delattr(t, "a")
    return getattr(t, "b"), getattr(t, "a", None), hasattr(t, "a"), vars(t)["b"]


def method_type(t):
    bound = types.MethodType(lambda self, x: self.a + x, t)
    return bound(4)


def bad_name(t):
    return getattr(t, 3)


def pair():
    t = Thing()
    return weakref.ref(t), t


@pytest.mark.parametrize(
    ("function", "make"),
    [
        (partials, lambda: (functools.partial(add, 2, c=1),)), (reduces, tuple), (reduce_empty, tuple), (keys, tuple), (cached, tuple),
        (wraps, tuple), (total, tuple), (modules, tuple), (module_store, tuple), (module_missing, tuple), (weak_existing, pair),
        (by_name, lambda: (Thing(),)), (method_type, lambda: (Thing(),)), (bad_name, lambda: (Thing(),)),
    ],
)  # fmt: skip
def test_these_behave_as_in_eager(function, make):
    check(function, make)


def test_a_weak_reference_to_an_existing_object_gives_it():
    thing = Thing()
    trace = Trace()
    outcome = trace.start(weak, {"t": thing})
    same, reference = trace.finish(outcome)
    assert same and reference() is thing


def test_a_weak_reference_to_a_new_object_breaks_the_graph():
    with pytest.raises(GraphBreak):
        Trace().start(lambda: weakref.ref(Thing()), {})


def test_a_cached_function_gives_the_object_that_it_keeps():
    make = functools.lru_cache(lambda: [])
    trace = Trace()
    outcome = trace.start(lambda f: (f(), f() is f()), {"f": make})
    kept, same = trace.finish(outcome)
    assert same and kept is make()


def test_a_cached_function_that_keeps_nothing_breaks_the_graph():
    with pytest.raises(GraphBreak):
        Trace().start(lambda f: f(), {"f": functools.lru_cache(maxsize=0)(lambda: 1)})


def test_a_cleared_cache_that_gives_another_value_is_noticed():
    state = [1]
    read = functools.lru_cache(lambda: state[0])
    trace = Trace()
    trace.start(lambda f: f(), {"f": read})
    state[0] = 2
    assert trace.failing_guards() == []
    read.cache_clear()
    assert trace.failing_guards() != []
