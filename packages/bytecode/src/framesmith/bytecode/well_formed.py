"""What has to hold of parts before anything can be computed of them: types, and that jumps and regions lead into them.

`assemble` raises the first of these problems, `verify_parts` returns all. What well-formed instructions do wrong to each other, such as
a stack depth that differs between two paths: `verify`. Arguments of instructions: `assemble`.
"""

from collections.abc import Iterator
from typing import Final

from framesmith.bytecode.arguments import CHECKED_NUMBERS, expected_number
from framesmith.bytecode.code_parts import CodeParts
from framesmith.bytecode.errors import AssembleError, describe_no_way_back, describe_unknown_instruction
from framesmith.bytecode.instruction import NOWHERE, ExceptionRegion, Instruction
from framesmith.bytecode.opcodes import KINDS, ArgumentKind, backward_name, is_backward

_STRINGS: Final = ("name", "qualname", "filename")
_COUNTS: Final = ("firstlineno", "argcount", "posonlyargcount", "kwonlyargcount", "flags", "stacksize")
_NAMES: Final = ("varnames", "cellvars", "freevars", "names")
_SLOTS: Final = ("varnames", "cellvars", "freevars")
_LARGEST: Final = 2**31 - 1
_MOST_PREFIXES: Final = 3

Finding = tuple[str, str, int]
"""The name of the check, what is wrong, and the index of the instruction."""


def require_well_formed(parts: CodeParts) -> None:
    """Raises AssembleError for the first problem."""
    for _, message, _ in find_malformed(parts):
        raise AssembleError(f"{parts.qualname}: {message}")


def find_malformed(parts: CodeParts) -> Iterator[Finding]:
    """The problems: those of the fields, else those of instructions, else those of regions."""
    for check in (_fields, _instructions, _arguments, _positions, _targets, _regions):
        found = list(check(parts))
        yield from found
        if found:
            return


def _fields(parts: CodeParts) -> Iterator[Finding]:
    for field in _STRINGS:
        if not isinstance(getattr(parts, field), str):
            yield "signature", f"{field} is {getattr(parts, field)!r}, which is no string", 0
    for field in _COUNTS:
        if not _is_count(getattr(parts, field)):
            yield "signature", f"{field} is {getattr(parts, field)!r}, which is no count", 0
    for field in _NAMES:
        for name in getattr(parts, field):
            if not isinstance(name, str):
                yield "signature", f"{field} holds {name!r}, which is no name", 0
                return
    for field in _SLOTS:
        names = getattr(parts, field)
        if len(set(names)) != len(names):
            yield "signature", f"{field} holds a name twice: {names}", 0


def _is_count(value: object) -> bool:
    return isinstance(value, int) and 0 <= value <= _LARGEST


def _instructions(parts: CodeParts) -> Iterator[Finding]:
    known: set[Instruction] = set()
    # Whatever the types say: a caller who does not check them is told.
    everything: list[object] = [*parts.instructions]
    for index, one in enumerate(everything):
        # All is well with nearly every one, and each compile comes through here.
        if type(one) is Instruction and one not in known and _is_usual(one):
            known.add(one)
            continue
        if not isinstance(one, Instruction):
            yield "opcode", f"{one!r} at {index} is no Instruction", index
            continue
        if one in known:
            yield "opcode", f"the {one.name} at {index} stands there twice; insert a copy()", index
        known.add(one)
        if one.name == "EXTENDED_ARG":
            yield "opcode", f"EXTENDED_ARG at {index} is no instruction here; `width` gives prefixes", index
        elif not _are(str, one.name) or one.name not in KINDS:
            yield "opcode", f"{describe_unknown_instruction(one.name)} (at {index})", index
        if not _are(int, one.hint, one.width):
            yield "opcode", f"{one.name} at {index} has a hint or width that is no number", index
        elif not 0 <= one.width <= _MOST_PREFIXES:
            yield (
                "opcode",
                f"{one.name} at {index} has {one.width} prefixes, not 0 to {_MOST_PREFIXES}",
                index,
            )


def _arguments(parts: CodeParts) -> Iterator[Finding]:
    for index, one in enumerate(parts.instructions):
        expected = expected_number(one) if one.name in CHECKED_NUMBERS else None
        if expected is not None:
            yield "argument", f"{one.name} at {index} has {one.argument!r}, not {expected}", index


def _is_usual(one: Instruction) -> bool:
    return (
        type(one.name) is str
        and one.name in KINDS
        and one.name != "EXTENDED_ARG"
        and type(one.hint) is int
        and type(one.width) is int
        and 0 <= one.width <= _MOST_PREFIXES
    )


def _are(kind: type, *values: object) -> bool:
    return all(isinstance(value, kind) for value in values)


def _positions(parts: CodeParts) -> Iterator[Finding]:
    sound: object = NOWHERE
    for index, one in enumerate(parts.instructions):
        # Neighbours share one more often than not.
        if one.position is sound:
            continue
        if not _is_position(one.position):
            yield "lines", f"{one.name} at {index} has {one.position!r}, which is no source range", index
        sound = one.position


def _is_position(value: object) -> bool:
    if not isinstance(value, tuple) or len(value) != len(NOWHERE):
        return False
    for one in value:
        if one is not None and not (type(one) is int and 0 <= one <= _LARGEST) and not _is_count(one):
            return False
    line, end = value[0], value[1]
    return line is None or end is None or line <= end


def _targets(parts: CodeParts) -> Iterator[Finding]:
    index_of = parts.instruction_indices()
    for index, one in enumerate(parts.instructions):
        if KINDS[one.name] is ArgumentKind.JUMP:
            if one.target is None or one.target not in index_of:
                yield "jump", f"{one.name} at {index} leads out of the code", index
            elif not is_backward(one.name) and index_of[one.target] <= index and not backward_name(one.name):
                yield "jump", describe_no_way_back(one.name, index, index_of[one.target]), index
        elif one.target is not None:
            yield "jump", f"{one.name} at {index} has a target, and is no jump", index


def _regions(parts: CodeParts) -> Iterator[Finding]:
    index_of = parts.instruction_indices()
    spans: list[tuple[int, int, int]] = []
    for number, region in enumerate(parts.regions):
        what = f"exception region {number}"
        if not _are(ExceptionRegion, region):
            yield "region", f"{region!r} is no ExceptionRegion", 0
            continue
        places = {"begins": region.start, "ends": region.end, "leads": region.target}
        gone = [
            verb
            for verb, place in places.items()
            if place not in index_of and (verb != "ends" or place is not None)
        ]
        for verb in gone:
            shown = getattr(places[verb], "name", places[verb])
            yield "region", f"{what} {verb} at {shown}, which is not in the code", 0
        if not _is_count(region.depth) or not isinstance(region.push_lasti, bool):
            yield "region", f"{what} has depth {region.depth!r} and push_lasti {region.push_lasti!r}", 0
        if not gone:
            start = index_of[region.start]
            end = len(parts.instructions) if region.end is None else index_of[region.end]
            spans.append((start, end, number))
            if end < start:
                yield "region", f"{what} ends before it begins", start
    end, last = 0, None
    for start, stop, number in sorted(spans):
        if start < end and start < stop:
            yield "region", f"exception regions overlap: {last} and {number}", start
        if stop > end:
            end, last = stop, number
