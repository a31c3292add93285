"""What ends inside of what a compiled function drops: attributes of attributes, items, and what the cells of functions hold."""

import pytest
from tests.end_to_end.support import check_source

HEAD = """
import torch, weakref
class P:
    pass
class D:
    def __init__(self, log, name="end"):
        self.log, self.name = log, name
    def __del__(self):
        self.log.append(self.name)
def args():
    o = P()
    o.deep = P()
    o.deep.a = P()
    o.deep.a.b = {"k": [P()]}
    return [o, [], torch.ones(2)]
def f(o, log, x):
"""
FINALIZED = {
    "attribute": "p = P(); p.q = P(); p.q.r = D(log); p.q = None",
    "whole": "p = P(); p.q = P(); p.q.r = D(log); p = None",
    "deleted": "p = P(); p.q = P(); p.q.r = D(log); del p.q",
    "after_an_exception": """
    try:
        p = P(); p.q = P(); p.q.r = D(log)
        raise ValueError
    except ValueError:
        log.append("handled")
    p.q = None""",
    "functions": """
    def make(name):
        d = D(log, name)
        return lambda: d
    made = [make("a"), make("b")]
    log.append("made")
    made.pop()
    log.append("one is left")
    made.clear()""",
    "closure": """
    def make():
        d = P()
        d.e = D(log)
        def inner():
            nonlocal d
            d = None
        return inner
    inner = make()
    log.append("made")
    inner()""",
}
REFERENCES = {
    "attribute": ("o.deep.a", "o.deep = None"),
    "item": ("o.deep.a.b['k'][0]", "o.deep.a = 1"),
    "held": ("o.deep.a.b['k'][0]", "v = o.deep.a; o.deep = None; log.append(r() is None); v = None"),
    "taken_out": ("o.deep.a.b['k'][0]", "o.deep.a.b['k'].pop()"),
    "swapped": ("o.deep.a", "o.deep, y = None, o.deep; log.append(r() is None); del y"),
    "dict": ("o.deep.a", "o.__dict__.update(deep=4)"),
    "not_dropped": ("o.deep.a", "o.other = None; log.append(r() is None); o.deep.other = 2"),
}
NEW = {
    "attribute": "p = P(); p.q = P(); p.q.l = [P()]; r = weakref.ref(p.q.l[0]); p.q = None",
    "whole": "p = P(); p.q = P(); p.q.l = [P()]; r = weakref.ref(p.q.l[0]); p = None",
    "list": "l = [P()]; r = weakref.ref(l[0]); print('break'); log.append(r() is None); l = None",
    "dropped_in_a_call": """
    def make():
        d = P()
        d.e = D(log)
        inner = lambda: d
        return weakref.ref(d)
    r = make()""",
    "closure": """
    def make():
        d = P()
        d.e = P()
        return (lambda: d.e), weakref.ref(d.e)
    held, r = make()
    log.append(r() is None)
    held = None""",
}


def check_ends(body: str) -> None:
    end = "\n    log.append('after')\n    return x + 1, list(log)\n"
    check_source(HEAD + "    " + body.strip() + end, calls=2)


@pytest.mark.parametrize("body", FINALIZED.values(), ids=FINALIZED)
def test_finalizers(body) -> None:
    check_ends(body)


@pytest.mark.parametrize(("target", "change"), REFERENCES.values(), ids=REFERENCES)
def test_weak_references_into_an_argument(target, change) -> None:
    check_source(
        HEAD + f"    r = weakref.ref({target})\n    {change}\n    return x + 1, r() is None, list(log)\n",
        calls=1,
    )


@pytest.mark.parametrize("body", NEW.values(), ids=NEW)
def test_weak_references_into_a_new_object(body) -> None:
    check_ends(body + "\n    log.append(r() is None)")


def test_a_callback_runs_before_what_follows() -> None:
    check_ends("r = weakref.ref(o.deep.a, lambda _: log.append('called')); o.deep = None")


def test_a_table_of_weak_values_is_left() -> None:
    check_ends(
        "t = weakref.WeakValueDictionary(); t['a'] = o.deep.a; o.deep = P(); o.deep.a = P(); log.append(len(t))"
    )
