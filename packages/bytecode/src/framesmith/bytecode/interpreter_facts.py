"""What this package relies on in the running interpreter, as plain data, and the records of it.

`gather` asks the interpreter and our own tables: which instructions have no row, and which of our operations move the
stack by another number of slots. `store` and `load` write and read the records, files in `known_interpreters`, one for
each supported version. Not here: the comparison, which is `doctor`.
"""

import json
import opcode
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Final, final

from framesmith.bytecode import opcodes, stack_depth
from framesmith.bytecode.errors import BytecodeError
from framesmith.bytecode.instruction import Instruction
from framesmith.bytecode.opcodes import ArgumentKind
from framesmith.bytecode.operation import NO_FALL_THROUGH, Operation
from framesmith.bytecode.operation_effects import effect
from framesmith.bytecode.operation_tables import FIXED, PASSED, RULES

RECORDS: Final = Path(__file__).parent / "known_interpreters"
_SAMPLES: Final = (0, 1, 2, 5)
_ELSEWHERE: Final = frozenset({"CALL", "KW_NAMES", "EXTENDED_ARG"})
"""Instructions that `meaning` reads without a row of its tables, or that never reach it."""


@final
@dataclass(frozen=True)
class Facts:
    """`opcodes`: of each instruction the kind of its argument, its inline caches and its stack effects."""

    version: str
    opcodes: dict[str, dict[str, object]] = field(default_factory=dict)
    intrinsics_of_one: list[str] = field(default_factory=list)
    intrinsics_of_two: list[str] = field(default_factory=list)
    special_methods: list[str] = field(default_factory=list)
    common_constants: list[str] = field(default_factory=list)
    binary_operators: list[str] = field(default_factory=list)
    without_meaning: list[str] = field(default_factory=list)
    """Instructions that `meaning` cannot read: no row of `operation_tables` names them."""
    other_effects: list[str] = field(default_factory=list)
    """Instructions whose operations move the stack by another number of slots than the interpreter says."""


def gather() -> Facts:
    """The facts of the interpreter that runs."""
    names = sorted(opcodes.NUMBERS)
    facts = vars(opcode)
    return Facts(
        version=".".join(map(str, opcodes.VERSION)),
        opcodes={
            name: {
                "argument": opcodes.KINDS[name].value,
                "caches": opcodes.CACHES[name],
                "effects": _effects(name),
            }
            for name in names
        },
        # Private lists of the module `opcode`; older versions lack some.
        intrinsics_of_one=_words(facts.get("_intrinsic_1_descs", ())),
        intrinsics_of_two=_words(facts.get("_intrinsic_2_descs", ())),
        special_methods=_words(opcodes.SPECIAL_METHODS),
        common_constants=[repr(value) for value in opcodes.COMMON_CONSTANTS],
        binary_operators=_words(pair[1] for pair in facts.get("_nb_ops", ())),
        without_meaning=[name for name in names if not has_meaning(name)],
        other_effects=[name for name in names if has_meaning(name) and _moves_otherwise(name)],
    )


def has_meaning(name: str) -> bool:
    """Whether `meaning` can read an instruction."""
    return name in _ELSEWHERE or any(name in table for table in (FIXED, PASSED, RULES))


def _words(names: object) -> list[str]:
    return [str(name) for name in names] if hasattr(names, "__iter__") else []


def _effects(name: str) -> list[int | None]:
    """The stack effect for each sample of an argument, without and with a jump; None where there is none."""
    number = opcodes.NUMBERS[name]
    has_argument = opcodes.KINDS[name] is not ArgumentKind.NONE
    found: list[int | None] = []
    for sample in _SAMPLES if has_argument else (None,):
        for jump in (False, True):
            try:
                found.append(opcode.stack_effect(number, sample, jump=jump))
            except ValueError:
                found.append(None)
    return found


def _moves_otherwise(name: str) -> bool:
    """Whether the operations of an instruction, for some argument, add up to another change of depth than the verifier's."""
    falls = name not in opcodes.NO_FALL_THROUGH
    jumps = opcodes.KINDS[name] is ArgumentKind.JUMP
    for argument in _arguments(opcodes.KINDS[name]):
        instruction = Instruction(name, argument)
        operations = _operations(instruction)
        if not operations:
            continue
        for jump in (False,) * falls + (True,) * jumps:
            moved = sum(effect(one, jump) for one in operations if one.kind not in NO_FALL_THROUGH)
            if falls and moved != stack_depth.effect(instruction, jump):
                return True
    return False


def _operations(instruction: Instruction) -> list[Operation]:
    name = instruction.name
    if name in FIXED:
        steps = FIXED[name]
    elif name in PASSED:
        steps = ((PASSED[name], instruction.argument),)
    elif name in RULES:
        try:
            steps = RULES[name](instruction)
        # Not every sample is an argument that the instruction can have.
        except (BytecodeError, IndexError):
            return []
    else:
        return []
    return [Operation(kind, argument, None, 0, instruction.position) for kind, argument in steps]


def _arguments(kind: ArgumentKind) -> tuple[object, ...]:
    """Samples of what an instruction with this kind of argument holds."""
    match kind:
        case ArgumentKind.NUMBER:
            return (1, 2, 3)
        case ArgumentKind.NAME_FLAG1:
            return ("name", 0), ("name", 1)
        case ArgumentKind.NAME_FLAG2:
            return ("name", 0), ("name", 1), ("name", 2), ("name", 3)
        case ArgumentKind.COMPARE:
            return (("<", 0),)
        case ArgumentKind.BINARY:
            return ("+", "+=", "[]")
        case ArgumentKind.LOCAL_PAIR:
            return (("one", "two"),)
        case ArgumentKind.INTRINSIC1:
            return ("UNARY_POSITIVE",)
        case ArgumentKind.INTRINSIC2:
            return ("TYPEVAR_WITH_BOUND",)
        case ArgumentKind.NONE | ArgumentKind.JUMP | ArgumentKind.ORIGIN:
            return (None,)
        case _:
            return ("name",)


def known_versions() -> list[str]:
    """The versions with a record, oldest first."""
    return sorted(
        (path.stem for path in RECORDS.glob("*.json")), key=lambda name: [*map(int, name.split("."))]
    )


def load(version: str) -> Facts:
    """The stored facts of a version."""
    return Facts(**json.loads((RECORDS / f"{version}.json").read_text()))


def store(facts: Facts) -> Path:
    """Write the facts as the record of their version, a line for each opcode."""
    path = RECORDS / f"{facts.version}.json"
    members = []
    for name, value in asdict(facts).items():
        text = json.dumps(value)
        if isinstance(value, dict):
            rows = ",\n".join(f'  "{key}": {json.dumps(one)}' for key, one in value.items())
            text = f"{{\n{rows}\n }}"
        members.append(f' "{name}": {text}')
    path.write_text("{\n" + ",\n".join(members) + "\n}\n")
    return path
