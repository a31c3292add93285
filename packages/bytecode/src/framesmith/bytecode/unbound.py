"""Which locals may have no value by then: from Python 3.12 on LOAD_FAST does not look, and pushes NULL, which crashes CPython.

CPython's compiler writes LOAD_FAST where it has seen that the variable is bound, and LOAD_FAST_CHECK elsewhere, so a store that is taken
away, or a DELETE_FAST that is inserted, makes loads wrong that are far from it. What LOAD_FAST_AND_CLEAR has saved (an inlined
comprehension) and STORE_FAST puts back is taken to be a value.
"""

from collections.abc import Iterator
from typing import Final

from framesmith.bytecode.code_parts import CodeParts
from framesmith.bytecode.liveness import accesses
from framesmith.bytecode.opcodes import KINDS, VERSION, ArgumentKind
from framesmith.bytecode.slot_flow import missing_before

_LOADS_LOOK: Final = VERSION < (3, 12)
_LOOKING: Final = frozenset({"LOAD_FAST_CHECK", "DELETE_FAST", "LOAD_FAST_AND_CLEAR"})


def unbound_problems(parts: CodeParts) -> list[tuple[str, int]]:
    """The problems, each as (what is wrong, index of the instruction)."""
    slots = _own_slots(parts)
    if _LOADS_LOOK or not slots:
        return []

    def after(index: int, missing: int) -> int:
        one = parts.instructions[index]
        unbinds = one.name in ("DELETE_FAST", "LOAD_FAST_AND_CLEAR")
        for name, _, _ in _of_locals(parts, index):
            # stored, or loaded: behind a load that looks there is a value, and one that does not is reported once
            if (bit := slots.get(name)) is not None:
                missing = missing | bit if unbinds else missing & ~bit
        return missing

    found: list[tuple[str, int]] = []
    for index, missing in enumerate(missing_before(parts, _unbound_at_start(parts, slots), after)):
        instruction = parts.instructions[index]
        if not missing or instruction.name in _LOOKING:
            continue
        for name, uses, stores in _of_locals(parts, index):
            bit = slots.get(name, 0)
            if uses and missing & bit:
                remedy = (
                    "use LOAD_FAST_CHECK, which `emitting.variables.load` writes, or bind it on every path"
                )
                found.append(
                    (
                        f"{instruction.name} reads the local {name!r}, which may have no value there: {remedy}",
                        index,
                    )
                )
            if uses or stores:
                missing &= ~bit
    return found


def _own_slots(parts: CodeParts) -> dict[str, int]:
    """The bit of each local that is no cell: for the others see `cells`."""
    shared = {*parts.cellvars, *parts.freevars}
    return {name: 1 << number for number, name in enumerate(parts.varnames) if name not in shared}


def _unbound_at_start(parts: CodeParts, slots: dict[str, int]) -> int:
    return sum(slots.get(name, 0) for name in parts.varnames[parts.argument_slots() :])


def _of_locals(parts: CodeParts, index: int) -> Iterator[tuple[str, bool, bool]]:
    instruction = parts.instructions[index]
    if KINDS[instruction.name] in (ArgumentKind.LOCAL, ArgumentKind.LOCAL_PAIR):
        yield from accesses(instruction)
