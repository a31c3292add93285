"""End the entry at the operation that drops the last reference, if the program can observe the deallocation.

CPython frees a value when the last reference to it goes. If the entry did not end there, it would free the value at its
own end, after what comes next. The values that matter are those with `__del__`, and those that are weakly referenced in
a chain of entries in which a weak reference was made. After each operation it is checked whether the frames still lead
to them; as long as there are none, that costs one test of an empty table. The data are in `tracing.value_end_state`;
objects with `__del__`, in `tracing.finalizers`.
"""

import gc
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import partial
from typing import TypeVar

from framesmith.bytecode.meaning import Kind
from framesmith.frontend.generated.source_writer import EntryWriter
from framesmith.frontend.tracing.container_contents import parts_as_they_end, parts_of
from framesmith.frontend.tracing.finalizers import (
    end_entry_here,
    find_pending_generators,
    is_end_observable,
    is_held,
    is_observable,
    is_owned,
    is_plain_instance,
    may_be_weakly_referenced,
    may_end_observably,
    real_object,
    variables_of,
)
from framesmith.frontend.tracing.machine import Frame, Machine, SavedException
from framesmith.frontend.tracing.resume_points import ResumePoint
from framesmith.frontend.tracing.value_end_state import EndingValue
from framesmith.graph import GraphBreak
from framesmith.graph.breaks.break_kinds import VALUE_ENDS
from framesmith.guards.class_lookup import MISSING, is_heap_type, is_one_of, static_lookup
from framesmith.guards.finalized import ends_unseen, is_finalized
from framesmith.guards.kinds import NotWeaklyObserved, is_weakly_observed
from framesmith.guards.sources import Local
from framesmith.variables.callables.generators import GeneratorTracker, Returned, Yielded
from framesmith.variables.core import Lazy, Registry, Tracker
from framesmith.variables.core.builtin_type import CONTAINERS
from framesmith.variables.core.reach import reachable
from framesmith.variables.core.remains import REMAINS, remains_of


def observe_changes(machine: Machine) -> None:
    """Have the mutation log report what changes and what is weakly referenced to the machine."""
    log = machine.tx.changes
    log.on_change = partial(note_contents_before_change, machine)
    log.on_reference = partial(note_weak_reference, machine)


def take_ownership(machine: Machine, given: Sequence[Lazy], point: ResumePoint) -> None:
    """These values were handed over to a continuation and belong to its frames, the borrowed ones excepted.

    Those whose end is seen are noted; for those whose end may be seen in another call, it is guarded that it is not.
    """
    ends, watched, names = machine.value_ends, point.watched, point.names
    ends.owning, ends.watched = True, watched
    # once a weak reference was made in sight, no other holder of an instance is relied upon
    ends.borrowed |= {names[position] for position in point.borrowed if not watched}
    for name, value in zip(names, given, strict=True):
        if name in ends.borrowed:
            continue
        ends.given.append(value)
        real = value.peek
        cls = type(real)
        # of instances only what their class says: most lead to much that something else holds as well
        if static_lookup(cls, "__del__") is not MISSING or not (is_heap_type(cls) or ends_unseen(real)):
            ends.held[id(real)] = EndingValue(real, value)
        elif is_observable(cls) if watched else is_plain_instance(cls) and may_be_weakly_referenced(cls):
            if is_weakly_observed(real):
                ends.held[id(real)] = EndingValue(real, value)
            else:
                machine.tx.guard(value.source, NotWeaklyObserved(), "its end is not seen")


def note_weak_reference(machine: Machine, target: Tracker) -> None:
    """A weak reference to `target` is made: in the trace, or natively if the value is new."""
    ends, real = machine.value_ends, real_object(target)
    ends.references += 1
    if real is None:
        ends.watched = True
        return
    ends.referents[id(real)] = real
    if is_owned(machine, target):
        ends.watched = True
        ends.held[id(real)] = EndingValue(real, target)
    elif not is_plain_instance(type(real)):  # weak references to these count only once one was made in sight
        ends.watched = True


def note_contents_before_change(machine: Machine, tracker: Tracker) -> None:
    """An existing container is about to change for the first time: note the values in it whose end is seen.

    The change may let go of them, and of generators that the trace made.
    """
    if machine.generators and not isinstance(tracker, GeneratorTracker):
        machine.tx.changes.let_go += find_pending_generators(machine, tracker)
    if tracker.source is None or machine.tx.changes.is_changed(tracker):
        return
    machine.value_ends.changed.add(tracker.source)
    real = real_object(tracker)
    registry = machine.tx.registry
    if real is None or type(tracker) not in registry[REMAINS]:
        return
    parts = parts_of(real, registry[CONTAINERS])
    classes = {id(cls): cls for cls in map(type, parts)}  # by identity: a metaclass may define `__hash__`
    seen = {key for key, cls in classes.items() if may_end_observably(machine, cls)}
    for part in parts if seen else ():
        if (
            id(type(part)) in seen
            and id(part) not in machine.value_ends.held
            and is_end_observable(machine, part)
        ):
            machine.value_ends.held[id(part)] = EndingValue(part, tracker, is_inside=True)


def check_lost_values(machine: Machine) -> bool:
    """After an operation: end the entry if it let go of a value whose end is seen. Returns whether the entry ends."""
    ends = machine.value_ends
    if not ends.held:
        return ends.reason is not None
    direct = {id(value) for frame in machine.frames for value in (*frame.locals.values(), *frame.stack)}
    indirect = [one for one in ends.held.values() if one.is_inside or id(one.tracker) not in direct]
    lost = find_lost(machine, indirect) if indirect else []
    # those in one container end with the changes of that
    if len({id(one.tracker) if one.is_inside else id(one.real) for one in lost}) > 1:
        ends.is_order_unknown = True
    for ending in lost:
        del ends.held[id(ending.real)]
        end_entry_here(machine, ending)
    return ends.reason is not None


def is_making_function(machine: Machine) -> bool:
    """Whether the next operation gives a new function its closure or the like (3.13): none can be made without it."""
    frame = machine.frames[-1]
    return frame.reading.operations[frame.index].kind is Kind.SET_FUNCTION_ATTRIBUTE


def find_lost(machine: Machine, endings: Sequence[EndingValue]) -> list[EndingValue]:
    """Those of the values that the frames lead to no more, neither directly nor through others. One walk serves them all."""
    changed = {id(real_object(one)): one for one in machine.tx.changes.changed_trackers()}
    wanted = {id(one.real) for one in endings}
    for tracker in reachable(roots(machine)).values():
        wanted.difference_update(map(id, held_by(machine.tx.registry, tracker, changed)))
        if not wanted:
            break
    return [one for one in endings if id(one.real) in wanted]


def check_order_of_ends(machine: Machine, frame: Frame) -> None:
    """Raise GraphBreak if a frame that returns lets go of several values whose end is seen by the program: CPython lets go of them in an
    order that only a real frame and real containers have. Several generators that the trace made are left to `drop_references`."""
    ends, variables = machine.value_ends, variables_of(frame)
    instances = [one for one in variables if ends.owning and leads_to_end(machine, one)]
    generators = find_pending_generators(machine, *variables) if machine.generators else []
    if len(ends.held) + len(instances) + len(generators) < 2:
        return
    kept = frame.locals.copy(), frame.cells.copy()
    frame.locals.clear()
    frame.cells.clear()
    existing = len(find_lost(machine, [*ends.held.values()])) + sum(
        not is_held(machine, one) for one in instances
    )
    reached = reachable(roots(machine)) if generators else {}
    made = [one for one in generators if id(one) not in reached]
    # those in what existed before, and ends with the frame, are made as real ones
    is_mixed = existing > 0 or any(is_held(machine, one) for one in made)
    frame.locals.update(kept[0])
    frame.cells.update(kept[1])
    if is_mixed and existing + len(made) > 1:
        raise GraphBreak(VALUE_ENDS, f"the ends of {existing + len(made)} values are seen by the program")


def leads_to_end(machine: Machine, value: Tracker) -> bool:
    """Whether an existing instance that belongs to the frames holds something whose end is seen, and has no `__del__` itself."""
    real = real_object(value)
    if real is None or not is_plain_instance(type(real)) or machine.value_ends.notes(real):
        return False
    if not (is_observable(type(real)) and is_owned(machine, value)):
        return False
    return any(map(is_finalized, parts_of(real, machine.tx.registry[CONTAINERS])))


def held_by(registry: Registry, tracker: Tracker, changed: Mapping[int, Tracker]) -> Iterator[object]:
    """The existing value that a tracker represents, and what it still holds, in builtin containers as well. `changed`: the
    containers that the trace changed, by the identity of the real ones."""
    value = real_object(tracker)
    if value is None:
        return
    yield value
    if id(value) not in changed:
        yield from parts_of(value, registry[CONTAINERS])
        return
    for part in remains_of(registry, changed[id(value)]) or ():
        yield part
        if is_one_of(type(part), registry[CONTAINERS]):
            yield from gc.get_referents(part)


def roots(machine: Machine) -> Iterator[Tracker]:
    """What holds values in the present state of the machine.

    A changed object that was handed over to the frames is theirs: it counts only where a frame holds it.
    """
    owning = machine.value_ends.owning
    for changed in machine.tx.changes.changed_trackers():
        if not (owning and isinstance(changed.source, Local)):
            yield changed
    yield from skip_none((machine.handled,))
    for frame in machine.frames:
        for slot in frame.stack:
            yield from skip_none(
                (slot.current, slot.previous) if isinstance(slot, SavedException) else (slot,)
            )
        yield from (*frame.locals.values(), *frame.cells.values(), *frame.names.values())
        yield from skip_none((frame.function, frame.replacement, frame.otherwise, frame.generator))
    outcome = machine.outcome
    if outcome is not None:
        yield outcome.value if isinstance(outcome, Yielded | Returned) else outcome


T = TypeVar("T")


def skip_none(values: Iterable[T | None]) -> Iterator[T]:
    """Those that are not None."""
    return (value for value in values if value is not None)


def keep_until_replayed(machine: Machine, writer: EntryWriter) -> None:
    """Have the frame of the entry hold the values that end with it until all changes are replayed."""
    noted = set[int]()
    for ending in machine.value_ends.let_go:
        tracker = ending.tracker
        if tracker.source is None or (ending.is_inside and id(tracker) in noted):
            continue
        text = writer.value(tracker)
        # the container alone would not do: the changes take out of it what has to be kept
        if ending.is_inside:
            noted.add(id(tracker))
            parts = writer.constant(parts_as_they_end, "parts")
            containers = writer.constant(tuple(machine.tx.registry[CONTAINERS]), "containers")
            writer.statement(f"{writer.name('parts')} = {parts}({text}, {containers})")
