"""Frame slots: renumbering the locals, cells and free variables that instructions name."""

from collections.abc import Iterable, Sequence
from typing import Final

from framesmith.bytecode.code_parts import CodeParts
from framesmith.bytecode.instruction import Instruction
from framesmith.bytecode.opcodes import KINDS, ArgumentKind

_ONE: Final = frozenset({ArgumentKind.LOCAL, ArgumentKind.CELL})
_PAIR_BITS: Final = 4
_HALVES: Final = {
    "LOAD_FAST_LOAD_FAST": ("LOAD_FAST", "LOAD_FAST"),
    "LOAD_FAST_BORROW_LOAD_FAST_BORROW": ("LOAD_FAST_BORROW", "LOAD_FAST_BORROW"),
    "STORE_FAST_LOAD_FAST": ("STORE_FAST", "LOAD_FAST"),
    "STORE_FAST_STORE_FAST": ("STORE_FAST", "STORE_FAST"),
}


def renumber(instructions: Iterable[Instruction], new_slots: Sequence[int], names: Sequence[str]) -> None:
    """Replace the slot of each instruction by `new_slots[old slot]`; `names` gives the name of each new slot.

    Slots are told apart by number, not by name, because one name may have two slots (a free variable and the
    variable of an inlined comprehension).
    """
    for instruction in instructions:
        kind = KINDS[instruction.name]
        if kind in _ONE:
            instruction.hint = new_slots[instruction.hint]
            instruction.argument = names[instruction.hint]
        elif kind is ArgumentKind.LOCAL_PAIR:
            first = new_slots[instruction.hint >> _PAIR_BITS]
            second = new_slots[instruction.hint & (1 << _PAIR_BITS) - 1]
            instruction.argument = names[first], names[second]
            # The second number has four bits only; split_wide_pairs rewrites the pairs where it does not fit.
            instruction.hint = first << _PAIR_BITS | second if second >> _PAIR_BITS == 0 else -1


def add_local(parts: CodeParts, name: str) -> None:
    """Add a local behind the others. Cells and free variables come after them: their slots move up by one.

    `split_wide_pairs` has to follow before the parts are assembled.
    """
    first = len(parts.varnames)
    parts.varnames.append(name)
    if not parts.cellvars and not parts.freevars:
        return
    mask = (1 << _PAIR_BITS) - 1
    for instruction in parts.instructions:
        kind, hint = KINDS.get(instruction.name), instruction.hint
        if kind in _ONE:
            instruction.hint += hint >= first
        elif kind is ArgumentKind.LOCAL_PAIR and hint >= 0:
            one, two = hint >> _PAIR_BITS, hint & mask
            one, two = one + (one >= first), two + (two >= first)
            instruction.hint = one << _PAIR_BITS | two if two <= mask else -1


def own_references(parts: CodeParts, names: frozenset[str]) -> None:
    """Before: `LOAD_FAST_BORROW a`. After: `LOAD_FAST a`, for locals that may be overwritten while it is on the stack.

    From 3.14 on the stack borrows a value from a local where the compiler saw that the local keeps it (optimize_load_fast in
    Python/flowgraph.c).
    """
    for instruction in parts.instructions:
        argument = instruction.argument
        read = argument if isinstance(argument, tuple) else (argument,)
        if "BORROW" in instruction.name and not names.isdisjoint(read):
            instruction.name = instruction.name.replace("_BORROW", "")


def split_wide_pairs(parts: CodeParts) -> None:
    """Before: `LOAD_FAST_LOAD_FAST a, z` with `z` in slot 16 or later. After: `LOAD_FAST a; LOAD_FAST z`."""
    if not any(KINDS.get(one.name) is ArgumentKind.LOCAL_PAIR for one in parts.instructions):
        return
    slots = parts.slot_names()
    number_of = {name: number for number, name in reversed(list(enumerate(slots)))}
    found: list[Instruction] = []
    for instruction in parts.instructions:
        found.append(instruction)
        argument = instruction.argument
        if KINDS.get(instruction.name) is not ArgumentKind.LOCAL_PAIR or not isinstance(argument, tuple):
            continue
        first, second = argument
        # A name that is no local is a mistake, which `assemble` names.
        if number_of.get(second, 0) >> _PAIR_BITS == 0:
            continue
        one, two = _HALVES[instruction.name]
        instruction.name, instruction.argument, instruction.hint = one, first, -1
        found.append(Instruction(two, second, None, instruction.position))
    parts.instructions[:] = found
