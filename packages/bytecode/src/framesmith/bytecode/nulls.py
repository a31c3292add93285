"""Which stack items hold NULL: a NULL that is used as a value, or called, crashes CPython.

An abstract interpretation of native instructions with three values per slot: NULL, an object, either. Only what is
certainly wrong is reported: an instruction that consumes a certain NULL as an object, and a call of a certain NULL.
Depths are in `stack_depth`; the other checks in `verify`.
"""

from collections.abc import Iterator, Sequence
from typing import Final

from framesmith.bytecode import stack_depth
from framesmith.bytecode.code_parts import CodeParts
from framesmith.bytecode.instruction import Instruction
from framesmith.bytecode.opcodes import NULL_FIRST
from framesmith.bytecode.stack_flow import states

NULL: Final = "N"
OBJECT: Final = "o"
EITHER: Final = "?"
_LOADERS: Final = frozenset({"LOAD_FAST_AND_CLEAR"})
_ONLY_POPS: Final = ("POP_", "STORE_", "DELETE_", "END_FOR", "LIST_", "SET_", "DICT_", "MAP_")


def null_problems(parts: CodeParts) -> list[tuple[str, int]]:
    """The problems, each as (what is wrong, index of the instruction)."""

    def after(index: int, state: Sequence[str], jump: bool) -> str:
        return _state_after(parts.instructions[index], "".join(state), jump)

    before = states(parts, OBJECT, _join, after)
    found: list[tuple[str, int]] = []
    for index, instruction in enumerate(parts.instructions):
        state = before[index]
        if state is not None and NULL in state:
            found.extend((message, index) for message in _problems(instruction, "".join(state)))
    return found


def _join(one: str, other: str) -> str:
    return one if one == other else EITHER


def _state_after(instruction: Instruction, state: str, jump: bool) -> str:
    name, argument = instruction.name, instruction.argument
    if name == "PUSH_NULL":
        return state + NULL
    if name in _LOADERS:
        return state + EITHER
    if name == "COPY" and isinstance(argument, int):
        return state + state[-argument]
    if name == "SWAP" and isinstance(argument, int):
        slots = list(state)
        slots[-1], slots[-argument] = slots[-argument], slots[-1]
        return "".join(slots)
    # Method and self, or the attribute and NULL: only the object knows.
    if name == "LOAD_METHOD" or (name == "LOAD_ATTR" and _flag(argument)):
        return state[:-1] + EITHER * 2
    if name == "LOAD_GLOBAL" and _flag(argument):
        return state + (NULL + OBJECT if NULL_FIRST else OBJECT + NULL)
    if name == "LOAD_SUPER_ATTR" and _flag(argument):
        return state[:-3] + EITHER * 2
    size = len(state) + stack_depth.effect(instruction, jump)
    if size >= len(state):
        return state + OBJECT * (size - len(state))
    if name.startswith(_ONLY_POPS) or size == 0:
        return state[:size]
    # What is left on top is the instruction's result, an object.
    return state[: size - 1] + OBJECT


def _flag(argument: object) -> bool:
    return isinstance(argument, tuple) and bool(argument[1] & 1)


def _problems(instruction: Instruction, state: str) -> Iterator[str]:
    name, argument = instruction.name, instruction.argument
    count = argument if isinstance(argument, int) else 0
    if name in ("CALL", "CALL_KW"):
        used = count + (name == "CALL_KW")
        if NULL in state[len(state) - used :]:
            yield f"{name} {count} takes a NULL as an argument: {state}"
        # The two slots below the arguments: [NULL, callable] (before 3.13), [callable, NULL] (3.13), or [method, self].
        pair = state[len(state) - used - 2 : len(state) - used]
        function = pair[1:] if NULL_FIRST and pair[:1] == NULL else pair[:1]
        if function == NULL:
            yield f"{name} {count} calls a NULL: {state}"
    elif name in (
        "RETURN_VALUE",
        "YIELD_VALUE",
        "GET_ITER",
        "TO_BOOL",
        "LOAD_ATTR",
        "BUILD_TUPLE",
        "BUILD_LIST",
    ):
        used = count if name.startswith("BUILD") else 1
        if used and NULL in state[-used:]:
            yield f"{name} uses a NULL: {state}"
