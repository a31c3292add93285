"""What is new in an interpreter: its opcodes, against those of the newest version that this package knows.

`python -m framesmith.bytecode doctor` prints the list; it is the first hour's work on a new version of Python.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Final

from framesmith.bytecode.interpreter_facts import Facts, gather, known_versions, load, store

_LISTS: Final = {
    "intrinsics_of_one": "intrinsic of one argument (CALL_INTRINSIC_1)",
    "intrinsics_of_two": "intrinsic of two arguments (CALL_INTRINSIC_2)",
    "special_methods": "special method (LOAD_SPECIAL)",
    "common_constants": "common constant (LOAD_COMMON_CONSTANT)",
    "binary_operators": "binary operator (BINARY_OP)",
}
_DETAILS: Final = {
    "argument": "argument",
    "caches": "inline-cache entries",
    "effects": "stack effects",
}
USAGE: Final = """usage: python -m framesmith.bytecode doctor [--against VERSION] [--record]
       python -m framesmith.bytecode dis MODULE:FUNCTION

`dis` lists the instructions of a function, and the operations that they are read as. `doctor`
compares the opcodes of this Python with those that framesmith knows: its own record if there is one, else the
newest. Prints what is new, gone or changed, a line each. Stack effects are those of the arguments 0, 1, 2 and 5,
each without and with a jump.

  --against VERSION  compare with the record of this version
  --record           write the facts of this Python as its record

exit status: 0 nothing differs, 1 something differs, 2 wrong usage"""


def differences(known: Facts, found: Facts) -> Iterator[str]:
    """What is in `found` other than in `known`, a line each: new, gone, changed, and what the tables cannot read."""
    for name, row in found.opcodes.items():
        if name not in known.opcodes:
            yield f"new opcode {name}: {_describe(row)}"
    for name in known.opcodes:
        if name not in found.opcodes:
            yield f"opcode {name} is gone"
    for name, row in found.opcodes.items():
        for key, before in known.opcodes.get(name, {}).items():
            if row[key] != before:
                yield f"opcode {name}: {_DETAILS[key]}: {before} before, {row[key]} now"
    for attribute, what in _LISTS.items():
        yield from _find_moved(what, getattr(known, attribute), getattr(found, attribute))
    for name in _find_added(known.without_meaning, found.without_meaning):
        yield f"opcode {name} has no row in operation_tables"
    for name in _find_added(known.other_effects, found.other_effects):
        yield f"opcode {name}: its operations move the stack otherwise than the verifier says (operation_effects)"


def _describe(row: Mapping[str, object]) -> str:
    return ", ".join(f"{_DETAILS[key]} {value}" for key, value in row.items())


def _find_added(before: Sequence[str], now: Sequence[str]) -> list[str]:
    return [name for name in now if name not in before]


def _find_moved(what: str, before: Sequence[str], now: Sequence[str]) -> Iterator[str]:
    """Members that are new, gone, or have another number."""
    for number, name in enumerate(now):
        if name not in before:
            yield f"new {what}: {name}, number {number}"
        elif before.index(name) != number:
            yield f"{what} {name}: number {before.index(name)} before, {number} now"
    for name in _find_added(now, before):
        yield f"{what} {name} is gone"


def main(arguments: Sequence[str]) -> int:
    """The command. Returns the exit status."""
    against: str | None = None
    match list(arguments):
        case ["doctor"]:
            pass
        case ["doctor", "--against", version] if version in known_versions():
            against = version
        case ["doctor", "--record"]:
            print(f"wrote {store(gather())}")
            return 0
        case _:
            print(USAGE)
            print("known versions:", ", ".join(known_versions()))
            return 0 if list(arguments) in (["--help"], ["doctor", "--help"]) else 2
    found = gather()
    if against is None:
        against = found.version if found.version in known_versions() else known_versions()[-1]
    lines = list(differences(load(against), found))
    print(f"Python {found.version} against the record of {against}: {len(lines) or 'no'} differences")
    for line in lines:
        print(f"- {line}")
    return 1 if lines else 0
