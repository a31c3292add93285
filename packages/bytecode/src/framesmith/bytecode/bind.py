"""`bind_constants`: placeholder names of generated source become constants of the code object.

Before: `LOAD_GLOBAL _graph0` (with or without a NULL for a call). After: `LOAD_CONST <the very object>`,
with its NULL in the position that the version wants. Nested functions of the generated source are bound too.
The objects need be neither hashable nor marshalable. How names become arguments of instructions otherwise:
`assemble`.
"""

import sys
from collections.abc import Mapping
from types import CodeType
from typing import Final, final

from framesmith.bytecode.assemble import assemble
from framesmith.bytecode.code_parts import CodeParts
from framesmith.bytecode.disassemble import disassemble
from framesmith.bytecode.errors import AssembleError, describe_close, require_argument, require_code
from framesmith.bytecode.instruction import Instruction
from framesmith.bytecode.opcodes import NULL_FIRST, VERSION

_LOADS: Final = frozenset({"LOAD_GLOBAL", "LOAD_NAME"})


@final
class Held:
    """Wraps an object that CPython would replace by an equal one (interning) if it were a constant itself.

    The generated code loads the wrapper as a constant and reads `value` from it.
    """

    __slots__ = ("value",)

    def __init__(self, value: object) -> None:
        self.value = value


def bind_constants(
    code: CodeType,
    values: Mapping[str, object],
    *,
    name: str | None = None,
    qualname: str | None = None,
    filename: str | None = None,
    firstlineno: int | None = None,
) -> CodeType:
    """A copy of `code` in which each global load of a name in `values` loads that object as a constant.

    The four attributes, where given, replace those of `code` (`filename` in nested code objects too). The line numbers of
    the instructions do not change. Raises TypeError for what is no code object and for what is no mapping, AssembleError for a name
    that is loaded as a global nowhere in `code` nor in a function nested in it.
    """
    require_code("bind_constants()", code)
    remedy = "pass a dict of global names and objects"
    require_argument("bind_constants()", values, Mapping, "no mapping", remedy)
    loaded = _loaded_names(code)
    for key in values:
        if key not in loaded:
            raise AssembleError(
                f"bind_constants() got {key!r}, which {code.co_qualname} loads as no global{describe_close(key, loaded)}"
            )
    parts = _bind(code, {key: _constant(value) for key, value in values.items()}, filename)
    parts.name = code.co_name if name is None else name
    parts.qualname = code.co_qualname if qualname is None else qualname
    parts.firstlineno = code.co_firstlineno if firstlineno is None else firstlineno
    return assemble(parts)


def _bind(code: CodeType, values: Mapping[str, object], filename: str | None) -> CodeParts:
    parts = disassemble(code)
    if filename is not None:
        parts.filename = filename
    replaced: dict[int, CodeType] = {}
    for index, constant in enumerate(parts.constants):
        if isinstance(constant, CodeType):
            parts.constants[index] = replaced[id(constant)] = assemble(_bind(constant, values, filename))
    bound: list[Instruction] = []
    for instruction in parts.instructions:
        # By identity: code objects are compared, and hashed, by their contents.
        if replaced and id(instruction.argument) in replaced:
            instruction.argument = replaced[id(instruction.argument)]
        if instruction.name in _LOADS:
            bound.extend(_replacement(instruction, values))
        else:
            bound.append(instruction)
    parts.instructions = bound
    parts.names = _used_names(parts)
    return parts


def _loaded_names(code: CodeType) -> dict[str, None]:
    """The names that `code` and the functions nested in it load as globals, in order."""
    loads = (one for one in disassemble(code).instructions if one.name in _LOADS)
    found = dict.fromkeys(_global_name(one.argument) for one in loads)
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            found |= _loaded_names(constant)
    return found


def _global_name(argument: object) -> str:
    """The name beside LOAD_GLOBAL, which has flags, or LOAD_NAME."""
    return str(argument[0] if isinstance(argument, tuple) else argument)


def _replacement(instruction: Instruction, values: Mapping[str, object]) -> list[Instruction]:
    """The instructions in place of a load; the first is `instruction` itself, jumps may point at it."""
    argument, null = instruction.argument, False
    if isinstance(argument, tuple):
        argument, null = argument[0], bool(argument[1])
    if not isinstance(argument, str) or argument not in values:
        return [instruction]
    position, value = instruction.position, values[argument]
    steps: list[tuple[str, object]] = [("LOAD_CONST", value)]
    if isinstance(value, Held):
        steps.append(("LOAD_ATTR", "value" if VERSION < (3, 12) else ("value", 0)))
    if null:
        steps.insert(0 if NULL_FIRST else len(steps), ("PUSH_NULL", None))
    made = [Instruction(step, given, None, position) for step, given in steps]
    # The hint and the prefixes belong to the number of a name, not to that of a constant.
    instruction.name, instruction.argument, instruction.hint = made[0].name, made[0].argument, -1
    instruction.width = 0
    return [instruction, *made[1:]]


def _used_names(parts: CodeParts) -> list[str]:
    """The names that instructions still use, in order, so that `co_names` lists no placeholder."""
    used: set[str] = set()
    for instruction in parts.instructions:
        argument = instruction.argument
        # `(name, flags)`; a constant tuple or string may keep a name too many, which does no harm.
        if isinstance(argument, tuple) and argument:
            argument = argument[0]
        if isinstance(argument, str):
            used.add(argument)
    return [name for name in parts.names if name in used]


def _constant(value: object) -> object:
    """`value`, or a `Held` around it if a code object would not keep that very object.

    CPython interns the identifier-like strings among the constants, also inside tuples and frozensets
    (`intern_string_constants` in Objects/codeobject.c).
    """
    if type(value) is str:
        return value if sys.intern(value) is value else Held(value)
    if type(value) is tuple or type(value) is frozenset:
        return value if _untouched(value) else Held(value)
    return value


def _untouched(value: object) -> bool:
    if type(value) is str:
        return sys.intern(value) is value
    if type(value) is tuple or type(value) is frozenset:
        return all(_untouched(item) for item in value)
    return True
