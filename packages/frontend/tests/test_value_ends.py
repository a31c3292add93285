"""How long values live: `finalizers`, `value_ends`, `value_end_state`, `container_contents`, `generators`,
`find_decomposed_generators`, `observed_values`."""

import weakref

import pytest
import torch
from stepping import frame_at, step, trace_of

from framesmith.frontend.tracing import value_ends
from framesmith.frontend.tracing.container_contents import parts_of
from framesmith.frontend.tracing.decomposed_generators import (
    depth_of_real_generator,
    find_decomposed_generators,
)
from framesmith.frontend.tracing.finalizers import has_observable_lifetime, has_pending_cleanup
from framesmith.frontend.tracing.generators import SymbolicGenerator, has_user_handler
from framesmith.frontend.tracing.observed_values import ObservedValues
from framesmith.frontend.tracing.unseen_ends import guard_unseen_ends
from framesmith.frontend.tracing.value_end_state import EndingValue, ValueEnds
from framesmith.frontend.tracing.value_ends import check_lost_values, find_lost, keep_until_replayed
from framesmith.guards.finalized import holds_finalized, is_finalized, leads_to_any
from framesmith.guards.kinds import EndsUnseen
from framesmith.guards.sources import Local
from framesmith.variables.core import Constant, Lazy
from framesmith.variables.core.reach import reachable
from framesmith.variables.core.remains import remains_of


class Finalized:
    def __del__(self) -> None:
        pass


def numbers():
    try:
        yield 1
        yield 2
    finally:
        print(end="")


def suspended(x):
    def numbers():
        try:
            yield x
            yield x
        finally:
            x.append(1)

    generator = numbers()
    next(generator)
    return generator


def test_what_runs_code_when_it_is_dropped_is_finalized() -> None:
    fresh, running = numbers(), numbers()
    next(running)
    assert [is_finalized(one) for one in (Finalized(), running, fresh, [], 3)] == [
        True,
        True,
        False,
        False,
        False,
    ]
    assert is_finalized(zip(running, [1], strict=False)) and not is_finalized(zip([1], [2], strict=False))


def test_a_container_is_searched_for_what_is_finalized() -> None:
    assert holds_finalized([(1, {"a": Finalized()})]) and not holds_finalized([[1], torch.ones(1)])


def test_a_search_that_is_too_long_means_yes() -> None:
    assert not leads_to_any([object() for _ in range(9)], lambda value: False)
    assert leads_to_any([object() for _ in range(2000)], lambda value: False)


def test_a_suspended_generator_has_pending_cleanup_and_is_kept() -> None:
    trace = frame_at(suspended, 10, x=[])
    (generator,) = trace.machine.generators
    assert isinstance(generator.frame, SymbolicGenerator) and generator.frame.started
    assert (
        has_pending_cleanup(generator)
        and has_user_handler(generator.frame.frame)
        and has_observable_lifetime(generator)
    )
    assert not generator.frame.is_handling and not has_observable_lifetime(Constant(1))


def test_a_generator_that_only_slots_hold_is_decomposed() -> None:
    trace = frame_at(suspended, 10, x=[])
    machine = trace.machine
    (generator,) = machine.generators
    assert list(find_decomposed_generators(machine, ())) == [id(generator)]
    assert find_decomposed_generators(machine, [generator]) == {}  # needed as an object
    assert depth_of_real_generator(machine) is None


def test_a_generator_held_by_a_list_is_a_real_one() -> None:
    def listed(x):
        def numbers():
            yield x

        box = [numbers()]
        return box

    machine = frame_at(listed, 5, x=1).machine
    assert len(machine.generators) == 1 and find_decomposed_generators(machine, ()) == {}


def test_the_state_of_ends_forgets_its_values() -> None:
    real = Finalized()
    ends = ValueEnds()
    ends.held[id(real)] = EndingValue(real, Constant(1))
    assert ends.notes(real) and not ends.notes(None)
    ends.release()
    assert not ends.notes(real)


def test_one_walk_looks_for_all_values(monkeypatch) -> None:
    def holding(x):
        box = [x]
        return box

    reals = [Finalized() for _ in range(5)]
    machine = frame_at(holding, 1, x=reals).machine
    walks: list[object] = []
    monkeypatch.setattr(value_ends, "reachable", lambda roots: walks.append(roots) or reachable(roots))
    for real in [*reals, Finalized()]:
        machine.value_ends.held[id(real)] = EndingValue(real, machine.frame.locals["x"], is_inside=True)
    endings = list(machine.value_ends.held.values())
    assert find_lost(machine, endings) == endings[-1:] and len(walks) == 1


def test_the_trace_ends_where_a_value_is_let_go_of() -> None:
    def dropping(x):
        x = None
        return x

    real = Finalized()
    trace = trace_of(dropping.__code__, x=real)
    machine = trace.machine
    ending = EndingValue(real, machine.frame.locals["x"])
    machine.value_ends.held[id(real)] = ending
    assert not find_lost(machine, [ending]) and not check_lost_values(machine)
    step(machine, 3)
    assert find_lost(machine, [ending]) == [ending] and check_lost_values(machine)
    assert ending in machine.value_ends.let_go and machine.value_ends.reason is not None
    keep_until_replayed(machine, trace.writer)
    assert [source.text() for source in trace.writer.loads] == ["x"]


def test_a_changed_container_still_holds_what_was_not_taken_out() -> None:
    def storing(x):
        x["a"] = 1
        return x

    kept = [2]
    trace = frame_at(storing, 2, x={"a": Finalized(), "b": kept})
    tracker = trace.machine.frame.locals["x"].realize()
    registry = trace.tx.registry
    assert remains_of(registry, Constant(1)) is None
    assert [one for one in remains_of(registry, tracker) if one is kept] == [kept]
    assert not any(isinstance(one, Finalized) for one in remains_of(registry, tracker))


def test_the_parts_of_a_value_are_what_it_and_its_containers_hold() -> None:
    inner = Finalized()
    assert inner in parts_of([[inner]], (list,))


def test_what_a_frame_holds_at_an_operation_that_may_fail_becomes_an_output() -> None:
    def indexed(x, at):
        y = x + 1
        x.add_(1)
        z = x.index_select(0, at)
        return z, y

    trace = trace_of(indexed.__code__, x=torch.ones(3), at=torch.tensor([5]))
    observed = trace.recorder.fallible = ObservedValues(trace.machine)
    with trace.recorder:
        end = trace.interpreter.run()
    assert end is not None
    assert [node.target.__name__ for node in observed.find_freed([])] == ["add"]


@pytest.mark.parametrize("maker", [weakref.ref, weakref.proxy])
def test_a_weak_reference_that_the_trace_makes_is_noted(maker) -> None:
    def referring(x, make):
        make(x)
        return x

    trace = trace_of(referring.__code__, x=Finalized(), make=maker)
    trace.interpreter.run()
    assert trace.machine.value_ends.references or trace.machine.frames


def test_what_is_let_go_of_is_guarded_and_what_is_handed_on_is_not() -> None:
    trace = frame_at(suspended, 0, x=[])
    machine = trace.machine
    given = [
        Lazy(value, Local(name), None) for name, value in (("kept", 1), ("lost", 2), ("seen", Finalized()))
    ]
    machine.value_ends.given += given
    known = len(trace.tx.guards.items)
    guard_unseen_ends(machine, [[given[0]]], [])
    assert [guard.claim for guard in trace.tx.guards.added_since(known)] == [EndsUnseen()]
