"""Loops that compute nothing in a graph run natively in every second phase of calls."""

import gc
import random
import sys
from dataclasses import replace

import pytest
import torch

from framesmith import frontend
from framesmith.frontend.cache import idle_loops, known_paths
from framesmith.frontend.cache.idle_loops import EntryEnd, IdleLoops
from framesmith.frontend.cache.unit import Continuations
from framesmith.frontend.exits.ending import ResumeTarget
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
        self.is_native = False

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
        loops.update(target, end)
    assert {target for target, (unit, _) in units.items() if unit.is_native} == idle


def is_idle(start, entries):
    """The definition: an entry leads back to it, one ends, and none computes or leads to what no call has reached."""
    seen, waiting = {start}, [start]
    while waiting:
        target = waiting.pop()
        if target not in entries and not target.raises:
            return False
        found = {one for end in entries.get(target, ()) for one in end.targets} - seen
        seen |= found
        waiting += found
    reached = [end for target in seen for end in entries.get(target, ())]
    return (
        not any(end.has_operators for end in reached)
        and any(start in end.targets for end in reached)
        and any(not end.targets for end in reached)
    )


@pytest.mark.parametrize("seed", range(300))
def test_decisions_are_those_of_the_definition_after_each_entry(seed):
    chance = random.Random(seed)
    points = [Point(str(number), raises=chance.random() < 0.2) for number in range(chance.randint(1, 9))]
    units = {point: (Unit(), None) for point in points}
    loops, entries = IdleLoops(units), {}
    computing = chance.choice([0, 0.02, 0.1])
    for _ in range(chance.randint(1, 40)):
        target = chance.choice(points)
        targets = chance.choices(points, k=chance.choice([0, 0, 1, 1, 1, 2, 3]))
        end = ends(*targets, computes=chance.random() < computing)
        entries.setdefault(target, []).append(end)
        loops.update(target, end)
        idle = {target for target, (unit, _) in units.items() if unit.is_native}
        assert idle == {target for target in points if is_idle(target, entries)}


def lines_run(work):
    """How many lines of `cache/idle_loops.py` and `cache/known_paths.py` run in `work`."""
    files, count = {idle_loops.__file__, known_paths.__file__}, 0

    def trace(frame, event, _):
        nonlocal count
        count += event == "line"
        return trace if frame.f_code.co_filename in files else None

    before = sys.gettrace()
    sys.settrace(trace)
    try:
        work()
    finally:
        sys.settrace(before)
    return count


def chain_in_a_loop(size):
    """Breaks one behind the other in a loop, the next round once more with other guards, then what comes after the loop."""
    points = [Point(str(number)) for number in range(2 * size)]
    made = [(points[number], points[(number + 1) % size]) for number in range(size)] * 2
    made += [(points[0], points[size]), *zip(points[size:], points[size + 1 :], strict=False)]
    return points, [*((target, ends(following)) for target, following in made), (points[-1], ends())]


def chain_that_computes(size):
    """The same, and each of the breaks has an entry that computes something in the end."""
    points, made = chain_in_a_loop(size)
    return points, [*made, *((point, ends(points[0], computes=True)) for point in points)]


@pytest.mark.parametrize("program", [chain_in_a_loop, chain_that_computes])
def test_the_work_grows_with_the_number_of_entries_not_their_square(program):
    counts = []
    for size in (100, 400):
        points, made = program(size)
        units = {point: (Unit(), None) for point in points}
        loops = IdleLoops(units)
        counts.append(lines_run(lambda: [loops.update(target, end) for target, end in made]))  # noqa: B023
        assert program is chain_that_computes or units[points[0]][0].is_native
    assert counts[0] > 1000 and counts[1] < 5 * counts[0]


class CountedPoint:
    """A part of a target that counts how often its hash is asked for."""

    raises, asked = False, 0

    def __hash__(self):
        self.asked += 1
        return 1


def test_the_hash_of_a_target_is_computed_once():
    point = CountedPoint()
    target = ResumeTarget(point, ())
    table = {target: 1}
    assert table[target] and table[ResumeTarget(point, ({},))] and point.asked == 2
    assert ResumeTarget(point, (), is_native=True) not in table
    assert hash(replace(target, is_native=True)) == hash(ResumeTarget(point, (), is_native=True))


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
