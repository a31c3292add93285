"""Liveness of the frame's slots (locals, cells, free variables) before each native instruction.

The classic backward analysis over uses and kills: live before = (live after - kill) | use. The counterpart, over native
instructions and with cells, of `Reading.live_locals`.
"""

from typing import Final

from framesmith.bytecode import stack_depth
from framesmith.bytecode.code_parts import CodeParts
from framesmith.bytecode.instruction import Instruction
from framesmith.bytecode.opcodes import KINDS, NO_FALL_THROUGH, ArgumentKind

_STORES: Final = frozenset({"STORE_FAST"})
_KILLS: Final = frozenset({"STORE_FAST", "DELETE_FAST", "LOAD_FAST_AND_CLEAR"})
_PAIRS: Final = {
    "LOAD_FAST_LOAD_FAST": (False, False),
    "LOAD_FAST_BORROW_LOAD_FAST_BORROW": (False, False),
    "STORE_FAST_LOAD_FAST": (True, False),
    "STORE_FAST_STORE_FAST": (True, True),
}


def accesses(instruction: Instruction) -> tuple[tuple[str, bool, bool], ...]:
    """What an instruction does to slots, in order: (name, whether it uses the value, whether it kills it).

    An instruction on a cell uses it and never kills its value: other functions that share the cell may read it.
    """
    name, argument = instruction.name, instruction.argument
    kind = KINDS.get(name)
    if kind is ArgumentKind.LOCAL and isinstance(argument, str):
        # Deleting and saving count as uses: both depend on whether the variable is bound.
        return ((argument, name not in _STORES, name in _KILLS),)
    if kind is ArgumentKind.CELL and isinstance(argument, str):
        return ((argument, True, False),)
    if kind is ArgumentKind.LOCAL_PAIR and isinstance(argument, tuple):
        stores = _PAIRS[name]
        return tuple((str(one), not store, store) for one, store in zip(argument, stores, strict=True))
    return ()


def live_before(parts: CodeParts) -> list[frozenset[str]]:
    """The names that are live before each instruction (a name with two slots counts as one)."""
    instructions = parts.instructions
    index_of = parts.instruction_indices()
    covering = stack_depth.handlers(parts, index_of)
    handlers = [None if one is None else index_of[parts.regions[one].target] for one in covering]
    targets = [None if one.target is None else index_of[one.target] for one in instructions]
    # Backwards, as the analysis goes: the store in STORE_FAST_LOAD_FAST kills what its load made live.
    accessed = [tuple(reversed(accesses(one))) for one in instructions]
    live: list[frozenset[str]] = [frozenset()] * (len(instructions) + 1)
    changed = True
    while changed:
        changed = False
        for index in range(len(instructions) - 1, -1, -1):
            now = frozenset() if instructions[index].name in NO_FALL_THROUGH else live[index + 1]
            target, handler = targets[index], handlers[index]
            if target is not None:
                now |= live[target]
            for name, uses, kills in accessed[index]:
                if kills:
                    now -= {name}
                if uses:
                    now |= {name}
            # After the kills: the instruction may raise before it has stored.
            if handler is not None:
                now |= live[handler]
            if now != live[index]:
                live[index] = now
                changed = True
    return live[:-1]
