"""Loops that compute nothing in a graph run natively in every second phase of calls."""

import gc

import pytest
import torch

from framesmith import frontend
from framesmith.frontend.cache.idle_loops import EntryEnd, IdleLoops
from framesmith.frontend.cache.unit import Continuations
from framesmith.frontend.generated.alternation import PHASE, AlternatingRuns


def test_phases_alternate():
    runs = AlternatingRuns(lambda value: value + 1, None)
    found = [runs(1) for _ in range(4 * PHASE)]
    assert found[: PHASE - 1] == [2] * (PHASE - 1)
    assert found.count(2) == 2 * PHASE and found.count(None) == 2 * PHASE


class Point:
    def __init__(self, name, raises=False):
        self.name, self.raises = name, raises

    @property
    def point(self):
        return self


LOOP, AFTER, RAISED = Point("loop"), Point("after"), Point("raised", raises=True)


class Unit:
    def __init__(self):
        self.ends, self.is_native = [], False

    def prefer_native(self, prefers):
        self.is_native = prefers


def ends(*targets, computes=False):
    return EntryEnd(computes, targets)


@pytest.mark.parametrize(
    ("known", "idle"),
    [
        ({LOOP: [ends(LOOP), ends()]}, {LOOP}),
        ({LOOP: [ends(LOOP, RAISED), ends()], RAISED: []}, {LOOP}),
        ({LOOP: [ends(LOOP), ends(AFTER)], AFTER: [ends()]}, {LOOP}),
        ({LOOP: [ends(LOOP), ends(AFTER)], AFTER: []}, set()),
        ({LOOP: [ends(LOOP), ends(AFTER)], AFTER: [ends(computes=True)]}, set()),
        ({LOOP: [ends(LOOP)]}, set()),
        ({LOOP: [ends()]}, set()),
        ({LOOP: [ends(LOOP, computes=True), ends()]}, set()),
        ({LOOP: [ends(AFTER), ends()], AFTER: [ends(LOOP)]}, {LOOP, AFTER}),
        ({}, set()),
    ],
)
@pytest.mark.parametrize("is_reversed", [False, True])
def test_what_is_idle(known, idle, is_reversed):
    """In whichever order the entries are made."""
    units = {target: (Unit(), None) for target in known}
    loops = IdleLoops(units)
    made = [(target, end) for target, found in known.items() for end in found]
    for target, end in reversed(made) if is_reversed else made:
        units[target][0].ends.append(end)
        loops.update(end)
    assert {target for target, (unit, _) in units.items() if unit.is_native} == idle


def natives(function):
    """How many continuations of all compiled functions prefer their native run."""
    found = [one for one in gc.get_objects() if type(one) is Continuations]
    return sum(unit.dispatcher.has_preferred for one in found for unit in one.units())


def items(tensors):
    return [tensor.item() for tensor in tensors]


def items_then_sum(tensors, is_summed):
    found = [tensor.item() for tensor in tensors]
    return (found, sum(tensor * 2 for tensor in tensors)) if is_summed else (found, None)


def rounds(tensors, is_computed):
    found = []
    for tensor in tensors:
        number = tensor.item()
        found.append(tensor * 2 if is_computed else number)
    return found


TENSORS = [torch.tensor(float(number)) for number in range(5)]


def test_an_idle_loop_runs_natively_and_gives_the_same():
    compiled = frontend.compile(items, backend="eager")
    assert compiled(TENSORS) == items(TENSORS)
    assert natives(compiled) == 1
    for count in range(3 * PHASE):
        given = TENSORS[: count % 6]
        assert compiled(given) == items(given)


@pytest.mark.parametrize("function", [items_then_sum, rounds])
def test_another_path_with_operators_is_compiled_before_long(function):
    frontend.reset()
    compiled = frontend.compile(function, backend="eager")
    assert compiled(TENSORS, False) == function(TENSORS, False)
    assert natives(compiled) == 1
    before = frontend.counters["stats"]["operators"]
    for _ in range(2 * PHASE):
        assert compiled(TENSORS, True) == function(TENSORS, True)
    assert frontend.counters["stats"]["operators"] > before
    assert natives(compiled) == 0


def test_a_loop_before_operators_is_not_idle():
    frontend.reset()
    compiled = frontend.compile(items_then_sum, backend="eager")
    compiled(TENSORS, True)
    assert natives(compiled) == 0


def test_what_was_forgotten_is_not_preferred():
    frontend.reset()
    compiled = frontend.compile(items, backend="eager")
    compiled(TENSORS)
    frontend.reset()
    assert natives(compiled) == 0
    assert compiled(TENSORS) == items(TENSORS)
