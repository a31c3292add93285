"""Values that are finalized when their last reference goes: suspended generators, and objects with `__del__`.

CPython lets go of a value when it is popped, overwritten or deleted, when its frame returns, and when an exception
unwinds the stack. The variables of a frame live on in the traceback of an exception that leaves the frame.
A generator born in the trace is closed symbolically at that point. For an object that existed before, the graph breaks:
the entry's frame ends, and with it the last reference. Objects with weak references are in `tracing.value_ends`.
"""

from collections.abc import Collection, Iterable, Sequence
from functools import partial
from operator import attrgetter
from types import GeneratorType, ModuleType
from typing import Final

import torch

from framesmith.frontend.tracing.machine import Frame, Machine
from framesmith.frontend.tracing.value_end_state import EndingValue
from framesmith.graph import GraphBreak
from framesmith.graph.breaks.break_kinds import CONTEXT_MANAGER, GENERATOR, VALUE_ENDS
from framesmith.guards import Source
from framesmith.guards.class_lookup import MISSING, is_heap_type, static_lookup, weak_offset
from framesmith.guards.finalized import (
    CHAINS,
    holds_finalized,
    is_finalized,
    leads_to_any,
    may_come_to_hold_finalized,
)
from framesmith.guards.kinds import TypeIs, is_weakly_observed
from framesmith.guards.sources import Global, Local, Pinned
from framesmith.variables.callables.generators import GeneratorTracker
from framesmith.variables.core import Constant, Lazy, ObservedException, Tracker
from framesmith.variables.core.reach import reachable

_HELD_ANYWAY: Final = (
    type,
    ModuleType,
    torch.nn.Module,
    torch.SymInt,
    torch.SymFloat,
    torch.SymBool,
)
"""What the process or a model holds, and what represents a plain number: weak references to these are ignored."""


_source_of: Final = attrgetter("source")


def has_pending_cleanup(generator: GeneratorTracker) -> bool:
    """Whether dropping the generator would run code of the user: it is suspended inside `try` or `with`."""
    return not generator.finished and not generator.running and generator.frame.has_cleanup


def real_object(value: Tracker) -> object:
    """The existing object that a tracker represents, or None if there is none or it is not known; no guard is added."""
    if isinstance(value, Lazy):
        return value.peek
    return None if value.source is None or isinstance(value, Constant) else getattr(value, "value", None)


def runs_finalizer(value: Tracker) -> bool:
    """Whether dropping this value in its present state runs code of the user."""
    if isinstance(value, GeneratorTracker):
        return has_pending_cleanup(value)
    real = real_object(value)
    return real is not None and is_finalized(real)


def has_observable_lifetime(value: Tracker) -> bool:
    """Whether it matters how long a variable that is not read again holds the value: it leads to something that is
    finalized, or to a generator that has not ended, which may be suspended later where dropping it is seen."""
    return any(
        runs_finalizer(found)
        or (isinstance(found, GeneratorTracker) and not found.finished)
        or may_come_to_hold_finalized(real_object(found))
        for found in reachable([value]).values()
    )


def find_finalizable(machine: Machine, values: Iterable[Tracker]) -> list[Tracker]:
    """The finalizable values among these, and the generators with pending cleanup and open blocks to which they lead.

    Whether something else holds them as well is not checked here.
    """
    values = list(values)
    # what has no source was made in the trace, as most values are: there is no existing object
    found = [
        value
        for value in values
        if value.source is not None
        and not isinstance(value, GeneratorTracker)
        and is_finalizable(machine, value)
    ]
    if machine.generators:
        # a loop may make any number: those that have ended are forgotten
        machine.generators[:] = [generator for generator in machine.generators if not generator.finished]
        found += find_pending_generators(machine, *values)
    if machine.tx.changes.ambient.open_blocks:
        reached = reachable(values)
        found += [block for block in machine.tx.changes.ambient.open_blocks if id(block) in reached]
    return found


def find_pending_generators(machine: Machine, *values: Tracker) -> list[GeneratorTracker]:
    """The generators with pending cleanup to which these values lead, in the order in which they were made."""
    waiting = [generator for generator in machine.generators if has_pending_cleanup(generator)]
    reached = reachable(values) if waiting else {}
    return [generator for generator in waiting if id(generator) in reached]


def is_finalizable(machine: Machine, value: Tracker) -> bool:
    """Whether the program may see the end of an existing value: dropping it finalizes it or what it holds.

    Once a weak reference was made in sight, also: a weak reference leads to it or to what it holds.
    """
    real = real_object(value)
    if real is None:
        return False
    guard_type_if_taken_out(machine, value)
    known = machine.finalized.get(id(real))
    if known is None:
        # the object is kept beside the answer, so that its id is not used for another
        known = machine.finalized[id(real)] = (real, is_finalized(real) or holds_finalized(real))
    if known[1]:
        return not is_kept(machine, value)
    if not machine.value_ends.watched or not is_owned(machine, value):
        return False
    return is_end_observable(machine, real) or leads_to_any(real, partial(is_end_observable, machine))


def is_kept(machine: Machine, value: Tracker) -> bool:
    """Whether an existing value is still held by what it was read from: a global, or an object that a frame still holds.

    A logger leads to the streams of all handlers, which are finalized; a frame that lets go of one ends nothing.
    """
    source = value.source
    if source is None or source.base is None or is_taken_out(machine, source):
        return False
    root = source
    while root.base is not None:
        root = root.base
    if isinstance(root, Local):
        return any(one.source == root for frame in machine.frames for one in held_by(frame))
    return isinstance(root, Pinned | Global)


def guard_type_if_taken_out(machine: Machine, value: Tracker) -> None:
    """Guard the type of a value that the trace took out of a container without reading it, and is about to drop.

    The type alone decides whether the program can see its end (a class with `__del__`), and the trace goes by it.
    """
    source = value.source
    unread = isinstance(value, Lazy) and not value.is_realized
    if unread and source is not None and is_taken_out(machine, source):
        machine.tx.guard(source, TypeIs(type(real_object(value))), "it is let go of")


def is_owned(machine: Machine, value: Tracker) -> bool:
    """Whether an existing value may end while the trace runs: it was handed over to the frames themselves, or was taken
    out of what the trace changed. Any other value is held by the object from which it was read."""
    source = value.source
    if isinstance(source, Local):
        return machine.value_ends.owning and source.name not in machine.value_ends.borrowed
    return source is not None and is_taken_out(machine, source)


def is_borrowed(machine: Machine, value: Tracker) -> bool:
    """Whether an instance that is handed over belongs to something else than the frames, as far as that is known."""
    real = real_object(value)
    return real is not None and is_plain_instance(type(real)) and not is_owned(machine, value)


def is_taken_out(machine: Machine, source: Source) -> bool:
    """Whether a value was read from what the trace changed."""
    changed = machine.value_ends.changed
    return bool(changed) and any(base in changed for base in source.ancestors())


def is_end_observable(machine: Machine, value: object) -> bool:
    """Whether the program sees the end of an existing value: code of the user runs then, or a weak reference leads to it.

    For what is no instance of a Python class, such as a tensor, weak references count once one was made in sight.
    """
    if is_finalized(value):
        return True
    ends, cls = machine.value_ends, type(value)
    if id(value) in ends.referents:
        return True
    return (ends.watched or is_plain_instance(cls)) and is_observable(cls) and is_weakly_observed(value)


def may_end_observably(machine: Machine, cls: type) -> bool:
    """Whether the program may see the end of instances of a type: False saves inspecting each of many."""
    if static_lookup(cls, "__del__") is not MISSING or cls is GeneratorType or issubclass(cls, CHAINS):
        return True
    return is_observable(cls) and (machine.value_ends.watched or is_plain_instance(cls))


def is_plain_instance(cls: type) -> bool:
    """Whether instances of a type are objects of a Python class, tensors excepted."""
    return is_heap_type(cls) and not issubclass(cls, torch.Tensor)


def is_observable(cls: type) -> bool:
    """Whether weak references to instances of a type matter: what the process or a model holds lives on anyway."""
    return not issubclass(cls, _HELD_ANYWAY)


def may_be_weakly_referenced(cls: type) -> bool:
    """Whether there may be weak references to instances of a type that matter."""
    return bool(weak_offset(cls)) and is_observable(cls)


def is_held(machine: Machine, wanted: Tracker, ended: Collection[int] = ()) -> bool:
    """Whether a frame, a generator, a changed object or the handled exception still leads to the value.

    `ended`: the generators, by `id`, that end as well, and hold nothing.
    """
    found = reachable(holders(machine, {id(wanted), *ended}))
    real = real_object(wanted)
    return id(wanted) in found or (
        real is not None and any(real_object(value) is real for value in found.values())
    )


def holders(machine: Machine, ended: Collection[int]) -> list[Tracker]:
    """What holds values: frames, changed objects, the handled exception, and what generators hold, but for the `ended`."""
    roots: list[Tracker] = list(machine.tx.changes.changed_trackers())
    if machine.handled is not None:
        roots.append(machine.handled)
    for frame in machine.frames:
        roots += [*held_by(frame), *frame.names.values()]
        others = (frame.function, frame.replacement, frame.otherwise, frame.generator)
        roots += [one for one in others if one is not None and id(one) not in ended]
    for generator in machine.generators:
        if not generator.finished and id(generator) not in ended:
            roots += generator.children()
    return roots


def find_ended_generators(machine: Machine, values: Iterable[Tracker]) -> set[int]:
    """The generators, by `id`, to which nothing but these values leads: they end with them."""
    # one that runs is held by its frame
    suspended = [one for one in machine.generators if not (one.finished or one.running)]
    if not suspended:
        return set()
    # what a frame holds besides need not be walked over
    held = {id(one) for frame in machine.frames for one in held_by(frame)}
    values = [value for value in values if not isinstance(value, Constant) and id(value) not in held]
    reached = reachable(values)
    asked = {id(one) for one in suspended if id(one) in reached}
    # a generator that ends does not hold another one
    return asked - reachable(holders(machine, asked)).keys() if asked else asked


def held_by(frame: Frame) -> list[Tracker]:
    """What a frame holds."""
    return [*frame.stack, *variables_of(frame)]


def variables_of(frame: Frame) -> list[Tracker]:
    """What a frame holds in variables."""
    return [*frame.locals.values(), *frame.cells.values()]


def drop_references(machine: Machine, values: Iterable[Tracker]) -> None:
    """The frames no longer hold these values: do what CPython does to those that nothing else holds.

    A generator is closed; for an existing object the entry ends here. Raises GraphBreak where closing raises, and where
    an entry cannot end here.
    """
    values = list(values)
    has_state = machine.generators or machine.tx.changes.ambient.open_blocks
    # nothing was there before the trace, as mostly
    if not has_state and not any(map(_source_of, values)):
        return
    found = find_finalizable(machine, values)
    if not found and not machine.generators:
        return
    ended = find_ended_generators(machine, values)
    lost = [value for value in found if not is_held(machine, value, ended)]
    generators = [value for value in lost if isinstance(value, GeneratorTracker)]
    # what an operation works on is on no stack while it runs frames in its midst
    if machine.value_ends.nested > machine.value_ends.closings:
        if generators:
            raise GraphBreak(GENERATOR, "it may end inside an operation, which may hold it")
        ended.clear()
    for generator in machine.generators:
        if id(generator) in ended and generator not in generators:  # nothing is to be closed in it
            machine.tx.changes.note(generator)
            generator.finished = True
            generator.frame.release()
    if len(lost) > 1 and generators:
        first = find_first(values, lost)
        if first is None:
            machine.value_ends.is_order_unknown = True
            raise GraphBreak(GENERATOR, f"{len(lost)} values end together, in an order that is not known")
        lost = [first]
    for value in lost:
        if value in machine.tx.changes.ambient.open_blocks:
            raise GraphBreak(CONTEXT_MANAGER, f"{value.describe()} is dropped while its block is open")
        if not isinstance(value, GeneratorTracker):
            end_entry_here(machine, EndingValue(real_object(value), value))
            continue
        machine.value_ends.closings += 1
        try:
            # CPython has no place for it either: it is written to stderr, which a trace cannot do
            value.attribute(machine.tx, "close").call(machine.tx, (), {})
        except ObservedException as error:
            raise GraphBreak(
                GENERATOR, f"{error.exception.describe()} is raised by a generator that is dropped"
            ) from None
        finally:
            machine.value_ends.closings -= 1


def find_first(values: Sequence[Tracker], lost: Sequence[Tracker]) -> Tracker | None:
    """Of several values that end together, the one that ends first, and the others with its frame.

    None where it is not known: it depends on the kind of each container, and frames let go of their variables in another order
    from 3.14 on.
    """
    inside = [reachable(one.known_children()) for one in lost]
    outer = [
        one
        for one in lost
        if not any(id(one) in found for other, found in zip(lost, inside, strict=True) if other is not one)
    ]
    # the others end when its frame does
    if len(outer) == 1 and isinstance(outer[0], GeneratorTracker):
        return outer[0]
    leading = [one for one in values if any(id(value) in reachable([one]) for value in lost)]
    first = leading[0].realize() if len({id(one.realize()) for one in leading}) == 1 else None
    if isinstance(first, GeneratorTracker) and any(first is value for value in lost):
        return first
    return None


def end_entry_here(machine: Machine, ending: EndingValue) -> None:
    """Have the entry end with the running operation, since the program sees the end of a value.

    A nested run cannot end in the middle: GraphBreak, and the operation that asked for it runs natively.
    """
    ends = machine.value_ends
    reason = GraphBreak(VALUE_ENDS, f"the end of {type(ending.real).__name__} is seen by the program")
    if ends.nested:
        raise reason
    ends.reason = reason
    ends.let_go.append(ending)


def check_left_variables(machine: Machine, values: Iterable[Tracker]) -> None:
    """Raise GraphBreak if variables of frames that an exception has left are finalizable: they live as long as the
    exception, and how long that is only CPython can know."""
    for value in find_finalizable(machine, values):
        if not is_held(machine, value):
            raise GraphBreak(GENERATOR, f"an exception leaves a frame that holds {value.describe()}")
