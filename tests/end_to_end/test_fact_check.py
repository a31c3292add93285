"""The check of our own entries: a guard that is left out is found by the facts that the trace noted."""

import pytest
from tests.end_to_end.worlds import load

from framesmith import frontend
from framesmith.frontend.tracing.fact_check import UnguardedRead
from framesmith.guards import GuardSet
from framesmith.guards.kinds import (
    ClassAttribute,
    ClassStructure,
    HasInstanceAttribute,
    HasKey,
    KeysAre,
    LengthIs,
    Present,
    TypeIs,
)

PROGRAMS = {
    "global": (Present, "G = 1\ndef f():\n    try: G\n    except NameError: return 1\n    return 2"),
    "instance": (Present, "class A: z = 1\na = A()\na.y = 2\ndef f(): return hasattr(a, 'y')"),
    "slot": (Present, "class A: __slots__ = ('y',)\na = A()\na.y = 2\ndef f(): return hasattr(a, 'y')"),
    "cell": (
        Present,
        "def make():\n    c = 1\n    def f():\n        try: c\n        except NameError: return 1\n        return 2\n    return f\nf = make()",
    ),
    "absent global": (HasKey, "def f():\n    try: G\n    except NameError: return 1"),
    "absent key": (HasKey, "d = {}\ndef f(): return 'z' in d"),
    "absent attribute": (HasInstanceAttribute, "class A: pass\na = A()\ndef f(): return hasattr(a, 'y')"),
    "function attribute": (HasInstanceAttribute, "def g(): pass\ndef f(): return hasattr(g, 'y')"),
    "class attribute": (ClassAttribute, "class A:\n    def m(s): pass\na = A()\ndef f(): a.m()"),
    "special method": (ClassStructure, "class A: pass\na = A()\ndef f(): return bool(a)"),
    "keys": (KeysAre, "d = dict(a=1)\ndef f(): return list(d)"),
    "length": (LengthIs, "d = dict(a=1)\ndef f(): return len(d)"),
    "type": (TypeIs, "class A: z = 1\na = A()\ndef f(): return a.z"),
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_a_guard_that_is_left_out_is_found(name, monkeypatch):
    kind, source = PROGRAMS[name]
    complete = GuardSet.add
    frontend.compile(load(source, "facts")["f"], backend="eager")()

    def leave_out(self, guard):
        if not isinstance(guard.claim, kind):
            complete(self, guard)

    monkeypatch.setattr(GuardSet, "add", leave_out)
    # or another set is taken over as it is
    monkeypatch.setattr(GuardSet, "_update_at_once", lambda self, other: False)
    with pytest.raises(UnguardedRead, match="no guard covers what the trace read"):
        frontend.compile(load(source, "facts")["f"], backend="eager")()
