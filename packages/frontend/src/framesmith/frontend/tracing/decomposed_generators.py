"""Which suspended and running generators are handed over decomposed, as the values of their frames (ADR 0009).

**A generator that only slots of the frames hold is handed over decomposed**: not as an object but as its own live slots.
The continuation puts it together again, as a symbolic frame or as a real generator. One that anything else holds (a
list, an attribute, a cell) has to be a real generator, whose frame is not compiled. Their frames are run by
`tracing.generators`.
"""

from collections.abc import Sequence
from typing import TypeAlias

from framesmith.frontend.tracing.finalizers import has_pending_cleanup
from framesmith.frontend.tracing.generators import SymbolicGenerator
from framesmith.frontend.tracing.machine import Frame, Machine, SavedException
from framesmith.variables.callables.generators import GeneratorTracker
from framesmith.variables.core import Tracker
from framesmith.variables.core.reach import reachable

Decomposed: TypeAlias = dict[int, Frame]
"""The generators that are handed over decomposed: their frames by the identity of their trackers."""


def find_decomposed_generators(machine: Machine, others: Sequence[Tracker]) -> Decomposed:
    """The generators that only slots hold: slots of the machine's frames, or of other such generators' frames.

    `others`: values that are needed as objects; what they lead to is not decomposed.
    """
    if not machine.generators:
        return {}
    frames = frames_of_generators(machine)
    roots = [*others, *machine.tx.changes.changed_trackers()]
    if machine.handled is not None:
        roots.append(machine.handled)
    chain = [*machine.frames, *(frame for frame in frames.values() if frame not in machine.frames)]
    for frame in chain:
        slots = [*frame.stack, *frame.locals.values()]
        # a slot that holds a generator itself can refer to it by number; what leads to one in any other way needs the
        # object
        roots += [
            slot.current if isinstance(slot, SavedException) else slot
            for slot in slots
            if id(slot) not in frames
        ]
        roots += [*frame.cells.values(), *frame.names.values()]
        roots += [value for value in (frame.replacement, frame.otherwise) if value is not None]
    seen = reachable(roots)
    decomposed = {key: frame for key, frame in frames.items() if key not in seen}
    decomposed = exclude_cycles(machine, decomposed)
    in_slots = find_decomposed(machine.frames, decomposed)  # nothing leads to the others any more
    return {key: frame for key, frame in decomposed.items() if key in in_slots or frame in machine.frames}


def frames_of_generators(machine: Machine) -> Decomposed:
    """The frames of all generators that have not ended and can be put together again where they are.

    One that is suspended inside an exception handler cannot.
    """
    found: Decomposed = {}
    for generator in machine.generators:
        inside = generator.frame
        if generator.finished or not isinstance(inside, SymbolicGenerator):
            continue
        if generator.running or not inside.is_handling:
            found[id(generator)] = inside.frame
    return found


def exclude_cycles(machine: Machine, decomposed: Decomposed) -> Decomposed:
    """Leave out generators that hold each other or themselves, and running ones that an inner frame holds.

    A slot refers to a generator by the number of its frame, and frames are put together one after the other: none can
    be complete before a slot of it is (ADR 0009).
    """
    depths = {id(frame): depth for depth, frame in enumerate(machine.frames)}
    kept = dict(decomposed)
    changed = True
    while changed:
        changed = False
        for key, frame in list(kept.items()):
            inside = machine.frames[depths[id(frame)] :] if id(frame) in depths else [frame]
            if key in find_decomposed(inside, kept):
                del kept[key]  # an object, so what its frame holds is held by an object
                for lost in find_decomposed([frame], kept):
                    kept.pop(lost, None)
                changed = True
    return kept


def find_decomposed(frames: Sequence[Frame], decomposed: Decomposed) -> set[int]:
    """The decomposed generators to which slots of these frames lead, directly or through decomposed generators."""
    found, todo = set[int](), list(frames)
    while todo:
        frame = todo.pop()
        for slot in (*frame.stack, *frame.locals.values()):
            if id(slot) in decomposed and id(slot) not in found:
                found.add(id(slot))
                todo.append(decomposed[id(slot)])
    return found


def holds_pending_cleanup(
    frame: Frame, decomposed: Decomposed, generators: Sequence[GeneratorTracker]
) -> bool:
    """Whether a frame holds a decomposed generator that runs code of the user when it is dropped."""
    held = find_decomposed([frame], decomposed)
    return any(id(generator) in held and has_pending_cleanup(generator) for generator in generators)


def depth_of_real_generator(machine: Machine) -> int | None:
    """The depth of the outermost frame of a running generator that has to be a real one; None if there is none."""
    running = [depth for depth, frame in enumerate(machine.frames) if depth and frame.generator is not None]
    if not running:
        return None
    decomposed = find_decomposed_generators(machine, ())
    for depth in running:
        if id(machine.frames[depth].generator) not in decomposed:
            return depth
    return None
