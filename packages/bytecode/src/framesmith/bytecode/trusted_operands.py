"""What CPython takes on trust: names of keyword arguments, the code of a function, the length of its closure.

Only where the code shows them: beside KW_NAMES, or loaded by the instruction in front. Values that come from elsewhere are not
followed: which type they have is not known before the code runs. NULLs are in `nulls`, numbers in `arguments`.
"""

from collections.abc import Iterator, Sequence
from types import CodeType
from typing import Final

from framesmith.bytecode.arguments import is_names
from framesmith.bytecode.code_parts import CodeParts
from framesmith.bytecode.instruction import Instruction

_LOADS: Final = frozenset({"LOAD_CONST", "LOAD_SMALL_INT", "LOAD_COMMON_CONSTANT"})
_CALL: Final = ("PRECALL", "CALL")
_CLOSURE: Final = 8
"""The number of a function's closure among what is given to it."""


def trusted_problems(parts: CodeParts, depths: Sequence[int | None]) -> Iterator[tuple[str, int]]:
    """The problems, each as (what is wrong, index of the instruction). `depths`: `stack_depth.depths(parts)`."""
    instructions = parts.instructions
    for index, (instruction, depth) in enumerate(zip(instructions, depths, strict=True)):
        if depth is None:
            continue
        if instruction.name in ("KW_NAMES", "PRECALL"):
            said = _wrong_begin(instructions, index)
        elif index and depths[index - 1] is not None and instructions[index - 1].name in _LOADS:
            said = _wrong_constant(instruction, instructions[index - 1].argument) or _wrong_closure(
                instructions, index
            )
        else:
            said = None
        if said is not None:
            yield said, index


def find_wrong_names(names: object, count: int) -> str | None:
    """What is wrong with the names of the last of `count` arguments, or None."""
    if not isinstance(names, tuple) or not is_names(names):
        return f"{names!r} where a tuple of names belongs"
    if len(names) > count:
        return f"{len(names)} names {names!r} for {count} arguments"
    twice = sorted({name for name in names if names.count(name) > 1})
    return f"the name {twice[0]!r} twice among {names!r}" if twice else None


def _wrong_begin(instructions: Sequence[Instruction], index: int) -> str | None:
    """The names and PRECALL belong to the call that follows: CPython keeps them for the next one, wherever that is."""
    begin, following = instructions[index], index + 1
    while following < len(instructions) and instructions[following].name == "NOP":
        following += 1
    call = instructions[following] if following < len(instructions) else begin
    if call.name not in _CALL or call.name == begin.name:
        return f"{begin.name} is not followed by its CALL"
    count = call.argument if isinstance(call.argument, int) else 0
    if begin.name == "PRECALL":
        said = f"PRECALL {begin.argument} is followed by CALL {count}"
        return None if begin.argument == count else said
    wrong = find_wrong_names(begin.argument, count)
    return None if wrong is None else f"{begin.name} has {wrong}"


def _wrong_constant(instruction: Instruction, constant: object) -> str | None:
    """What is wrong with the constant on top of the stack of `instruction`, which takes it for what it needs."""
    name, argument = instruction.name, instruction.argument
    count = argument if isinstance(argument, int) else 0
    if name == "CALL_KW":
        wrong = find_wrong_names(constant, count)
        return None if wrong is None else f"{name} has {wrong}"
    if name == "MATCH_CLASS" and not is_names(constant):
        return f"{name} has {constant!r} where a tuple of names belongs"
    if name == "MAKE_FUNCTION" and not isinstance(constant, CodeType):
        return f"{name} has {constant!r} where a code object belongs"
    if name == "BUILD_CONST_KEY_MAP" and not (isinstance(constant, tuple) and len(constant) == count):
        return f"{name} has {constant!r} where a tuple of {count} keys belongs"
    return None


def _wrong_closure(instructions: Sequence[Instruction], index: int) -> str | None:
    """What is wrong with the closure of a function whose code the instruction in front loads: it has a cell for each free variable. Of a
    closure that was not built in front of that its length is not known."""
    code, maker = instructions[index - 1].argument, instructions[index]
    if maker.name != "MAKE_FUNCTION" or not isinstance(code, CodeType):
        return None
    behind = next((one for one in instructions[index + 1 :] if one.name != "NOP"), maker)
    # the flag until 3.12; an instruction since 3.13, which stands first where there are several
    sets = behind.name == "SET_FUNCTION_ATTRIBUTE"
    is_given = bool(isinstance(maker.argument, int) and maker.argument & _CLOSURE) or (
        sets and behind.argument == _CLOSURE
    )
    names = code.co_freevars
    if not is_given:
        return (
            f"{maker.name} gives no closure to {code.co_name}, of the free variables {names}"
            if names and not sets
            else None
        )
    built = instructions[index - 2] if index > 1 else maker
    if built.name != "BUILD_TUPLE" or built.argument == len(names):
        return None
    return (
        f"{maker.name} gives a closure of {built.argument} to {code.co_name}, of the free variables {names}"
    )
