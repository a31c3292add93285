"""Containers of the user that grow with each call, and are read behind: the calls stay compiled, whatever is read."""

from collections import OrderedDict, defaultdict, deque

import pytest
import torch
from tests.end_to_end.compare import Comparison

from framesmith import frontend
from framesmith.frontend.api import session_of
from framesmith.graph.breaks.break_kinds import CHANGING_VALUE
from framesmith.graph.breaks.breaks import GraphBreak

CALLS = 9


class Named(list):
    pass


class Meter:
    def __init__(self):
        self.values, self.total = [], 0.0

    def update(self, value):
        self.values.append(value)
        self.total += value

    @property
    def mean(self):
        return self.total / len(self.values)

    def __len__(self):
        return len(self.values)


def length(x, kept):
    y = x.sin()
    kept.append(y)
    return y.cos() * len(kept)


def last(x, kept):
    kept.append(x.sin())
    return kept[-1].cos()


def truth(x, kept):
    y = x.sin()
    kept.append(y)
    return y.cos() if kept else y


def stacked(x, kept):
    kept.append(x.sin())
    return torch.stack(list(kept)[-3:]).sum(0)


def extended(x, kept):
    y = x.sin()
    kept.extend([y, y + 1])
    return y.cos() * len(kept)


def iterated(x, kept):
    y = x.sin()
    kept.append(1.0)
    for value in list(kept)[-2:]:
        y = y + value
    return y.cos()


def popped(x, kept):
    y = x.sin()
    kept.append(y)
    if len(kept) > 5:
        del kept[0]
    return y.cos()


def grouped(x, kept):
    y = x.sin()
    kept["losses"].append(y)
    return y.cos() * len(kept["losses"])


def counted(x, kept):
    y = x.sin()
    kept[len(kept)] = y
    return y.cos() * len(kept)


def averaged(x, kept):
    y = x.sin()
    kept.update(2.0)
    return y.cos() * kept.mean


def measured(x, kept):
    y = x.sin()
    kept.update(2.0)
    return y.cos() * len(kept)


PROGRAMS = {
    f"{function.__name__}, {kind.__name__}": (function, kind)
    for function, kinds in {
        length: (list, deque, Named),
        last: (list, deque, Named),
        truth: (list, deque),
        stacked: (list, deque),
        extended: (list, deque, Named),
        iterated: (list, deque),
        popped: (list, deque),
        counted: (dict, OrderedDict),
        averaged: (Meter,),
        measured: (Meter,),
    }.items()
    for kind in kinds
}
PROGRAMS["grouped, defaultdict"] = grouped, lambda: defaultdict(list)


@pytest.mark.parametrize("name", PROGRAMS)
def test_each_call_runs_a_graph(name):
    function, kind = PROGRAMS[name]
    runs = 0

    def backend(module, inputs):
        def run(*values):
            nonlocal runs
            runs += 1
            return module(*values)

        return run

    comparison, kept, expected = Comparison(), kind(), kind()
    compiled = frontend.compile(function, backend=backend)
    for number in range(CALLS):
        x, before = torch.ones(3) + number, runs
        comparison.same(function(x, expected), compiled(x, kept), str(number))
        assert runs > before, f"call {number + 1} runs uncompiled"
    comparison.same(expected, kept, "kept")
    assert not any(entry.runs_natively for entry in session_of(compiled).history.entries)


def test_a_function_of_which_nothing_is_compiled_says_so(monkeypatch):
    def fail(*given):
        raise GraphBreak(CHANGING_VALUE, "a value")

    monkeypatch.setattr("framesmith.frontend.build_entry.write_ending", fail)
    explanation = frontend.explain(last)(torch.ones(2), [])
    assert explanation.breaks[0].is_whole
    assert "nothing of last" in str(explanation) and "runs uncompiled" in str(explanation)
