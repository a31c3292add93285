"""Which slots hold a cell by then: a cell or free variable that is used before it is made crashes CPython.

COPY_FREE_VARS and MAKE_CELL, at the start of the code, fill the slots that LOAD_DEREF and its like read without a look. A
forward analysis over native instructions: one bit per slot says that on some path no cell is there yet. What was saved by
LOAD_FAST_AND_CLEAR (an inlined comprehension, 3.12) and put back by STORE_FAST is taken to be the cell it was.
Where the other crashes are looked for: `verify`.
"""

from collections.abc import Sequence
from typing import Final, final

from framesmith.bytecode.code_parts import CodeParts
from framesmith.bytecode.liveness import accesses
from framesmith.bytecode.meaning import closure_loads
from framesmith.bytecode.opcodes import KINDS, ArgumentKind
from framesmith.bytecode.slot_flow import missing_before

_PAIR_BITS: Final = 4
_UNCHECKED_LOADS: Final = frozenset({"LOAD_FAST", "LOAD_FAST_BORROW"})


def cell_problems(parts: CodeParts, numbers: Sequence[int]) -> list[tuple[str, int]]:
    """The problems, each as (what is wrong, index of the instruction). `numbers`: `assemble.argument_numbers(parts)`."""
    if not parts.cellvars and not parts.freevars:
        return []
    cells = _CellAccesses(parts, numbers)
    found: list[tuple[str, int]] = []
    for index, missing in enumerate(missing_before(parts, cells.all, cells.after)):
        if not missing:
            continue
        name = parts.instructions[index].name
        for slot in cells.uses(index):
            if missing >> slot & 1:
                free = slot >= cells.first_free
                what, made = ("free variable", "COPY_FREE_VARS") if free else ("cell", "MAKE_CELL")
                message = (
                    f"{name} uses the {what} {cells.names[slot]!r} where {made} may not have run; "
                    "`insert_at_start` puts instructions behind it"
                )
                found.append((message, index))
    return found


@final
class _CellAccesses:
    """What each instruction does to the slots of cells and free variables."""

    def __init__(self, parts: CodeParts, numbers: Sequence[int]) -> None:
        self.names = parts.slot_names()
        self.first_free = len(self.names) - len(parts.freevars)
        self._numbers = numbers
        self._instructions = parts.instructions
        self._own = len(parts.varnames)
        free = range(self.first_free, len(self.names))
        self.free = sum(1 << slot for slot in free)
        cells = set(parts.cellvars)
        made = [slot for slot in range(self.first_free) if self.names[slot] in cells]
        self.all = self.free | sum(1 << slot for slot in made)
        self._closures = closure_loads(parts)
        saved = {
            numbers[index]
            for index, one in enumerate(parts.instructions)
            if one.name == "LOAD_FAST_AND_CLEAR"
        }
        # Nothing but a cell belongs into a slot that is no local. Into an argument's slot STORE_FAST puts a value.
        self._restored = saved | set(range(self._own, len(self.names)))

    def uses(self, index: int) -> list[int]:
        """The slots whose cell the instruction reads."""
        one, number = self._instructions[index], self._numbers[index]
        kind = KINDS[one.name]
        if kind is ArgumentKind.CELL:
            return [] if one.name == "MAKE_CELL" else [number]
        if one in self._closures:
            return [number]
        if kind is ArgumentKind.LOCAL and one.name in _UNCHECKED_LOADS:
            return [number] if number >= self._own else []
        if kind is ArgumentKind.LOCAL_PAIR:
            return [slot for slot, uses, _ in self._halves(index) if uses and slot >= self._own]
        return []

    def after(self, index: int, missing: int) -> int:
        """The slots without a cell behind the instruction."""
        one, number = self._instructions[index], self._numbers[index]
        kind = KINDS[one.name]
        if one.name == "COPY_FREE_VARS":
            return missing & ~self.free
        if one.name == "MAKE_CELL":
            return missing & ~(1 << number)
        if kind is ArgumentKind.LOCAL and one.name == "STORE_FAST":
            return self._stored(missing, number)
        if one.name in ("LOAD_FAST_AND_CLEAR", "DELETE_FAST"):
            return missing | 1 << number & self.all
        if kind is ArgumentKind.LOCAL_PAIR:
            for slot, _, stores in self._halves(index):
                if stores:
                    missing = self._stored(missing, slot)
        return missing

    def _halves(self, index: int) -> list[tuple[int, bool, bool]]:
        number = self._numbers[index]
        slots = number >> _PAIR_BITS, number & (1 << _PAIR_BITS) - 1
        both = accesses(self._instructions[index])
        return [(slot, uses, stores) for slot, (_, uses, stores) in zip(slots, both, strict=True)]

    def _stored(self, missing: int, slot: int) -> int:
        if slot in self._restored:
            return missing & ~(1 << slot)
        return missing | 1 << slot & self.all
