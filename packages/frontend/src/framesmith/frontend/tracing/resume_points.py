"""Resume points: a chain of frames at given operations, with the generators suspended in them, taken apart into values.

**A generator that only slots of the frames hold is handed over decomposed** (ADR 0009): not as an object but as its own
live slots. The continuation puts it together again, as a symbolic frame or as a real generator. One that anything else
holds (a list, an attribute, a cell) has to be a real generator, whose frame is not compiled. A generator that runs is a
frame of the chain; the slots that refer to it say which.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Final, TypeVar, final

from framesmith.bytecode.meaning import Kind
from framesmith.bytecode.resume import Slot
from framesmith.frontend.tracing.finalizers import has_pending_cleanup
from framesmith.frontend.tracing.frame_layout import FrameLayout, Keeps, carrying, layout_of
from framesmith.frontend.tracing.generators import SymbolicGenerator
from framesmith.frontend.tracing.machine import Frame, Machine, SavedException, reading_of
from framesmith.frontend.tracing.stop_iteration import FrameRole
from framesmith.variables.callables.generators import GeneratorTracker
from framesmith.variables.core import Tracker
from framesmith.variables.core.reach import reachable

T = TypeVar("T")
Decomposed = dict[int, Frame]
"""The generators that are handed over decomposed: their frames by the identity of their trackers."""


@final
@dataclass(frozen=True, slots=True)
class ResumePoint:
    """Where a continuation begins: frames from the outermost in, suspended generators, whether it begins by raising.

    `watched`: a weak reference was made on the way, so that the end of what is handed over may be seen. `borrowed`: the
    positions, among the values, of instances that something else than the frames holds as well.
    Hashable; equal points share a continuation. Layouts hold the ids of the frames' globals, so these are compared too.
    """

    frames: tuple[FrameLayout, ...]
    raises: bool = False
    generators: tuple[FrameLayout, ...] = ()
    watched: bool = False
    borrowed: tuple[int, ...] = ()

    @property
    def names(self) -> list[str]:
        """The parameter names of the continuation: one for each value that is handed over, in order."""
        found: list[str] = []
        for depth, frame in enumerate((*self.frames, *self.generators)):
            slots = [f"stack_{depth}_{i}" for i, slot in enumerate(frame.stack) if slot is not Slot.NULL]
            slots += [local_name(name, depth) for name in frame.locals]
            found += without(slots, frame)
            found += [f"cell_{depth}_{name}" for name in frame.cells]
            if frame.replaced:
                found.append(f"result_{depth}")
            if frame.role is FrameRole.DEFAULT:
                found.append(f"default_{depth}")
        return [*found, "raised"] if self.raises else found

    @property
    def is_in_loop(self) -> bool:
        """Whether one of the frames resumes inside a loop, so that it may come back to the same operation."""
        return any(reading_of(frame.code).is_in_loop(frame.index) for frame in self.frames)


_NO_VARIABLES: Final = ("stack_", "cell_", "result_", "default_", "raised")


def is_variable(name: str) -> bool:
    """Whether a parameter of a continuation carries a variable of the user's; other names depend on the resume point."""
    return not name.startswith(_NO_VARIABLES)


def local_name(name: str, depth: int) -> str:
    """A parameter for a local variable; hidden ones (`.0`) get a name that Python accepts."""
    plain = name.isidentifier() and not name.startswith("hidden_")
    text = name if plain else f"hidden_{name.encode().hex()}"
    # a variable whose name begins like one of ours is renamed, so that it cannot be taken for ours
    keeps_its_name = depth == 0 and is_variable(text) and not text.startswith("local_")
    return text if keeps_its_name else f"local_{depth}_{text}"


def without(slots: Sequence[T], layout: FrameLayout) -> list[T]:
    """What there is for each slot (`slots`, in order), without the slots that refer to a decomposed generator."""
    referring = {position for position, _ in layout.references}
    return [slot for position, slot in enumerate(slots) if position not in referring]


@final
@dataclass(frozen=True, slots=True)
class FrameSnapshot:
    """A resume point and the frames that are at it, those of suspended generators last."""

    point: ResumePoint
    frames: tuple[Frame, ...]


def take_snapshot(
    layouts: Sequence[FrameLayout],
    frames: Sequence[Frame],
    decomposed: Decomposed,
    keeps: Keeps,
    *,
    raises: bool = False,
) -> FrameSnapshot:
    """The resume point of these layouts and frames. A slot that holds a decomposed generator refers to its frame by
    number; the frame of a suspended one is added behind the others. The last layout may have more slots than its frame
    has, on top of the stack."""
    chain, found = list(frames), list(layouts)
    numbers = {id(frame): number for number, frame in enumerate(chain)}
    index = 0
    while index < len(chain):  # the frames that are added here may hold generators in turn
        layout, references = found[index], list[tuple[int, int]]()
        for position, value in enumerate(slot_values(layout, chain[index])):
            frame = decomposed.get(id(value))
            if frame is None:
                continue
            if id(frame) not in numbers:
                numbers[id(frame)] = len(chain)
                chain.append(frame)
                found.append(suspended_layout(frame, keeps))
            references.append((position, numbers[id(frame)]))
        found[index] = replace(layout, references=tuple(references))
        index += 1
    count = len(frames)
    return FrameSnapshot(ResumePoint(tuple(found[:count]), raises, tuple(found[count:])), tuple(chain))


def suspended_layout(frame: Frame, keeps: Keeps) -> FrameLayout:
    """The layout of a generator that is suspended at a `yield`, or before its first instruction."""
    return layout_of(frame, frame.index, keeps=keeps)


def is_fresh(layout: FrameLayout) -> bool:
    """Whether a suspended generator has not begun."""
    return reading_of(layout.code).operations[layout.current].kind is Kind.RETURN_GENERATOR


def slot_values(layout: FrameLayout, frame: Frame) -> list[Tracker | None]:
    """What the stack slots and the locals of a layout hold; None for a slot that the frame does not have yet."""
    more = sum(slot is not Slot.NULL for slot in layout.stack[len(frame.stack) :])
    return [*carrying(frame.stack), *[None] * more, *(frame.locals[name] for name in layout.locals)]


def beside_slots(layout: FrameLayout, frame: Frame) -> list[Tracker]:
    """What a frame hands over beside its slots: cells, the instance that `__init__` runs on, the default of `next`."""
    found: list[Tracker] = [frame.cells[name] for name in layout.cells]
    if frame.replacement is not None:
        found.append(frame.replacement)
    if frame.otherwise is not None:
        found.append(frame.otherwise)
    return found


def handed_over(snapshot: FrameSnapshot) -> Iterator[Tracker | None]:
    """The values of a snapshot in the order of `ResumePoint.names`; None for a slot that a frame does not have yet."""
    for layout, frame in zip(
        (*snapshot.point.frames, *snapshot.point.generators), snapshot.frames, strict=True
    ):
        yield from without(slot_values(layout, frame), layout)
        yield from beside_slots(layout, frame)


# -- which generators are decomposed ------------------------------------------------------------------
def decomposed_generators(machine: Machine, others: Sequence[Tracker]) -> Decomposed:
    """The generators that only slots hold: slots of the machine's frames, or of other such generators' frames.

    `others`: values that are needed as objects; what they lead to is not decomposed.
    """
    if not machine.generators:
        return {}
    frames = frames_of_generators(machine)
    roots = [*others, *machine.tx.changes.changed()]
    if machine.handled is not None:
        roots.append(machine.handled)
    chain = [*machine.frames, *(frame for frame in frames.values() if frame not in machine.frames)]
    for frame in chain:
        slots = [*frame.stack, *frame.locals.values()]
        roots += [
            slot.current if isinstance(slot, SavedException) else slot
            for slot in slots
            if id(slot) not in frames
        ]
        roots += [*frame.cells.values(), *frame.names.values()]
        roots += [value for value in (frame.replacement, frame.otherwise) if value is not None]
    seen = reachable(roots)
    decomposed = {key: frame for key, frame in frames.items() if key not in seen}
    decomposed = without_rings(machine, decomposed)
    in_slots = decomposed_in(machine.frames, decomposed)  # nothing leads to the others any more
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


def without_rings(machine: Machine, decomposed: Decomposed) -> Decomposed:
    """Leave out generators that hold each other or themselves, and running ones that an inner frame holds."""
    depths = {id(frame): depth for depth, frame in enumerate(machine.frames)}
    kept = dict(decomposed)
    changed = True
    while changed:
        changed = False
        for key, frame in list(kept.items()):
            inside = machine.frames[depths[id(frame)] :] if id(frame) in depths else [frame]
            if key in decomposed_in(inside, kept):
                del kept[key]  # an object, so what its frame holds is held by an object
                for lost in decomposed_in([frame], kept):
                    kept.pop(lost, None)
                changed = True
    return kept


def decomposed_in(frames: Sequence[Frame], decomposed: Decomposed) -> set[int]:
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
    held = decomposed_in([frame], decomposed)
    return any(id(generator) in held and has_pending_cleanup(generator) for generator in generators)


def depth_of_real_generator(machine: Machine) -> int | None:
    """The depth of the outermost frame of a running generator that has to be a real one; None if there is none."""
    running = [depth for depth, frame in enumerate(machine.frames) if depth and frame.generator is not None]
    if not running:
        return None
    decomposed = decomposed_generators(machine, ())
    for depth in running:
        if id(machine.frames[depth].generator) not in decomposed:
            return depth
    return None
