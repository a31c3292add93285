"""Which stack items are borrowed from a local: from Python 3.14 on, LOAD_FAST_BORROW pushes a reference that it does not own.

    LOAD_FAST_BORROW a; LOAD_CONST 1; STORE_FAST a; RETURN_VALUE      a freed object is returned

An abstract interpretation of native instructions: for each stack item the locals of which it may be a borrowed reference. Wrong is
what changes such a local meanwhile, and what stores such an item in a local, which would not own it either. NULLs are in `nulls`.
"""

import operator
from collections.abc import Iterator, Sequence
from typing import Final, TypeAlias

from framesmith.bytecode import stack_depth
from framesmith.bytecode.code_parts import CodeParts
from framesmith.bytecode.instruction import Instruction
from framesmith.bytecode.liveness import accesses
from framesmith.bytecode.meaning import steps_of
from framesmith.bytecode.operation_effects import slots_needed
from framesmith.bytecode.stack_flow import states

Owners: TypeAlias = frozenset[str]
Stack: TypeAlias = tuple[Owners, ...]

_OWNED: Final[Owners] = frozenset()
_STORES: Final = frozenset(
    {"STORE_FAST", "STORE_FAST_MAYBE_NULL", "STORE_FAST_LOAD_FAST", "STORE_FAST_STORE_FAST"}
)


def borrow_problems(parts: CodeParts) -> list[tuple[str, int]]:
    """The problems, each as (what is wrong, index of the instruction)."""
    instructions = parts.instructions
    if not any("BORROW" in one.name for one in instructions):
        return []

    def after(index: int, stack: Sequence[Owners], jump: bool) -> Stack:
        return _stack_after(parts, index, tuple(stack), jump)

    before = states(parts, _OWNED, operator.or_, after)
    return [
        (message, index)
        for index, found in enumerate(before)
        if found is not None
        for message in _problems(instructions[index], found)
    ]


def _stack_after(parts: CodeParts, index: int, stack: Stack, jump: bool) -> Stack:
    instruction = parts.instructions[index]
    name, argument = instruction.name, instruction.argument
    if "BORROW" in name:
        read = argument if isinstance(argument, tuple) else (argument,)
        return (*stack, *(frozenset({str(one)}) for one in read))
    if name == "COPY" and isinstance(argument, int):
        return (*stack, stack[-argument])
    if name == "SWAP" and isinstance(argument, int):
        slots = list(stack)
        slots[-1], slots[-argument] = slots[-argument], slots[-1]
        return tuple(slots)
    # A method stands below its self, which is the reference that was there.
    if name == "LOAD_ATTR" and isinstance(argument, tuple) and argument[1] & 1:
        return (*stack[:-1], _OWNED, stack[-1])
    # What it takes counts as replaced, also where it only looks at it.
    size = len(stack) + stack_depth.effect(instruction, jump)
    left = min(size, len(stack) - slots_needed(steps_of(instruction, parts, index)))
    return (*stack[:left], *([_OWNED] * (size - left)))


def _problems(instruction: Instruction, stack: Stack) -> Iterator[str]:
    name = instruction.name
    rest = list(stack)
    for local, _, changes in accesses(instruction):
        if not changes:
            continue
        stored = rest.pop() if name in _STORES else _OWNED
        if stored:
            yield f"{name} {local} stores what is borrowed from {_names(stored)}: load it with LOAD_FAST"
        if any(local in owners for owners in rest):
            yield f"{name} changes {local}, from which the stack has borrowed: load it with LOAD_FAST"


def _names(owners: Owners) -> str:
    return ", ".join(sorted(owners))
