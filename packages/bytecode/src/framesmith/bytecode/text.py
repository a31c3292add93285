"""The text form of a code object, for people, logs and golden tests; `read_text` reads it back.

    code f
      qualname 'f'
      ...
      constants None 1 @0
        LOAD_FAST 'x'                [2:11 2:12]
        LOAD_CONST #1 = 1            [2:15 2:16]
    L0: JUMP_FORWARD -> L1
      region L0 L1 -> L2 depth 0

Constants are named by their index in the pool (what follows `=` is for the reader). A constant that
is no literal is `@n`: nested code objects follow as sections of their own, any other object is the n-th of
`CodeText.objects`, to be handed to `read_text`. How two texts differ: `difference`.
"""

import ast
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from types import CodeType
from typing import Final, final

from framesmith.bytecode.assemble import argument_numbers, assemble
from framesmith.bytecode.code_parts import CodeParts
from framesmith.bytecode.disassemble import disassemble
from framesmith.bytecode.errors import TextError, require_argument, require_code
from framesmith.bytecode.instruction import NOWHERE, ExceptionRegion, Instruction, Position
from framesmith.bytecode.opcodes import KINDS, ArgumentKind
from framesmith.bytecode.pools import ConstantPool
from framesmith.bytecode.well_formed import require_well_formed

_FIELDS: Final = (
    "qualname",
    "filename",
    "firstlineno",
    "argcount",
    "posonlyargcount",
    "kwonlyargcount",
    "flags",
    "stacksize",
    "varnames",
    "cellvars",
    "freevars",
    "names",
)
_LITERALS: Final = (type(None), bool, int, float, complex, str, bytes, type(...))


@final
@dataclass(frozen=True)
class CodeText:
    """Text and the objects it refers to as `@0`, `@1`, ... (nested code objects among them)."""

    text: str
    objects: tuple[object, ...]

    def __str__(self) -> str:
        return self.text


def text(code: CodeType | CodeParts) -> CodeText:
    """The text of a code object, with a section for each nested one; AssembleError for parts that cannot be encoded."""
    if not isinstance(code, CodeParts):
        require_code("text()", code)
    objects: list[object] = []
    parts = code if isinstance(code, CodeParts) else disassemble(code)
    require_well_formed(parts)
    sections = ["\n".join(_section(parts, "code", objects))]
    done = 0
    # It grows while sections are written: nested code has constants of its own.
    while done < len(objects):
        nested = objects[done]
        if isinstance(nested, CodeType):
            sections.append("\n".join(_section(disassemble(nested), f"code @{done}", objects)))
        done += 1
    return CodeText("\n\n".join(sections) + "\n", tuple(objects))


def _section(parts: CodeParts, head: str, objects: list[object]) -> Iterator[str]:
    yield f"{head} {parts.name}"
    for field in _FIELDS:
        yield f"  {field} {getattr(parts, field)!r}"
    pool = ConstantPool(parts.constants)
    marks = _marks(parts)
    plain = [one.copy() for one in parts.instructions]
    lines = list(_instructions(parts, pool, marks, plain))
    yield "  constants " + " ".join(_constant(value, objects) for value in pool.values)
    yield from lines
    for region in parts.regions:
        lasti = " lasti" if region.push_lasti else ""
        end = "end" if region.end is None else marks[region.end]
        yield f"  region {marks[region.start]} {end} -> {marks[region.target]} depth {region.depth}{lasti}"


def _marks(parts: CodeParts) -> dict[Instruction, str]:
    marked = {one.target for one in parts.instructions}
    for region in parts.regions:
        marked |= {region.start, region.end, region.target}
    order = [one for one in parts.instructions if one in marked]
    return {one: f"L{number}" for number, one in enumerate(order)}


def _instructions(
    parts: CodeParts, pool: ConstantPool, marks: dict[Instruction, str], plain: list[Instruction]
) -> Iterator[str]:
    # Where the number differs from the one that `assemble` would choose without a hint, the text gives it: `~n`.
    actual = argument_numbers(parts)
    # `plain` are copies: the hints of the user's instructions stay.
    kept, parts.instructions = parts.instructions, plain
    try:
        for one in plain:
            one.hint = -1
        usual = argument_numbers(parts)
    finally:
        parts.instructions = kept
    for index, one in enumerate(parts.instructions):
        words = [one.name]
        kind = KINDS[one.name]
        if kind is ArgumentKind.CONSTANT:
            number = pool.number(one.argument, one.hint)
            words.append(f"#{number} = {_show(one.argument)}")
        elif one.target is not None:
            words.append(f"-> {marks[one.target]}")
        elif one.argument is not None:
            words.append(repr(one.argument))
            if actual[index] != usual[index]:
                words.append(f"~{actual[index]}")
        if one.width:
            words.append(f"+{one.width}")
        label = f"{marks[one]}:" if one in marks else ""
        yield f"{label:5} {' '.join(words):40} {_place(one.position)}".rstrip()


def _show(value: object) -> str:
    shown = repr(value) if _is_literal(value) else f"<{type(value).__name__}>"
    return shown if len(shown) <= 60 else shown[:57] + "..."


def _place(position: Position) -> str:
    if position == NOWHERE:
        return ""
    line, end_line, column, end_column = ("?" if one is None else str(one) for one in position)
    return f"[{line}:{column} {end_line}:{end_column}]"


def _is_literal(value: object) -> bool:
    """Whether the repr of `value` reads back as an equal value of the same types."""
    if type(value) is tuple:
        return all(_is_literal(item) and item is not ... for item in value)
    return type(value) in _LITERALS and _read_value(repr(value)) == (value,)


def _read_value(written: str) -> tuple[object, ...]:
    """A tuple with the value; empty if the text is no literal (as inf and nan are)."""
    try:
        return (ast.literal_eval("..." if written == "Ellipsis" else written),)
    except (ValueError, SyntaxError):
        return ()


def _constant(value: object, objects: list[object]) -> str:
    if _is_literal(value):
        return "..." if value is ... else repr(value)
    for number, known in enumerate(objects):
        if known is value:
            return f"@{number}"
    objects.append(value)
    return f"@{len(objects) - 1}"


_HEAD: Final = re.compile(r"code( @(?P<number>\d+))? (?P<name>.*)")
_LINE: Final = re.compile(
    r"(?P<label>L\d+:)? +(?P<name>[A-Z][A-Z0-9_]*)(?: (?P<rest>.*?))??"
    r"(?: \+(?P<width>\d+))? *(?P<place>\[[\d?]+:[\d?]+ [\d?]+:[\d?]+\])?"
)
_REGION: Final = re.compile(r"  region (L\d+) (L\d+|end) -> (L\d+) depth (\d+)( lasti)?")


def read_text(written: str | CodeText, objects: Sequence[object] = ()) -> CodeParts:
    """The parts that `text` was made of; raises TextError with the line that cannot be read.

    `objects` are those that `@n` refers to, where it is no code section; a CodeText brings its own.
    """
    if isinstance(written, CodeText):
        return read_text(written.text, written.objects)
    require_argument("read_text()", written, str, "no text", "pass what text(code) gives")
    known: dict[int, object] = dict(enumerate(objects))
    # No constant holds a blank line: its line breaks are escaped.
    sections = [section for section in written.split("\n\n") if section.strip()]
    parts = None
    # Nested code stands behind the code that refers to it, which needs it assembled.
    for section in reversed(sections):
        lines = section.splitlines()
        head = _HEAD.fullmatch(lines[0])
        if head is None:
            raise TextError(f"a section begins with `code <name>`, not {lines[0]!r}")
        parts = _read_section(head["name"], lines[1:], known)
        if head["number"] is not None:
            known[int(head["number"])] = assemble(parts)
    if parts is None:
        raise TextError("no `code` section")
    return parts


def _read_section(name: str, lines: list[str], known: dict[int, object]) -> CodeParts:
    parts = CodeParts(name, name, "")
    marks: dict[str, Instruction] = {}
    jumps: list[tuple[Instruction, str]] = []
    for line in lines:
        word, _, rest = line.strip().partition(" ")
        if word in _FIELDS:
            setattr(parts, word, ast.literal_eval(rest))
        elif word == "constants":
            parts.constants = [_read_constant(one, known) for one in _split(rest)]
        elif word == "region":
            parts.regions.append(_read_region(line, marks))
        else:
            _read_instruction(line, parts, marks, jumps)
    for instruction, label in jumps:
        if label not in marks:
            raise TextError(f"{instruction.name} jumps to {label}, which is nowhere in {name}")
        instruction.target = marks[label]
    return parts


def _split(written: str) -> list[str]:
    """Literals and `@n`s, separated by spaces; found by extending each until it is one."""
    found: list[str] = []
    words = written.split(" ") if written else []
    start = 0
    while start < len(words):
        for end in range(start + 1, len(words) + 1):
            candidate = " ".join(words[start:end])
            if candidate.startswith("@") or _read_value(candidate):
                break
        else:
            raise TextError(f"no constant at {' '.join(words[start:])!r}")
        found.append(candidate)
        start = end
    return found


def _read_constant(written: str, known: dict[int, object]) -> object:
    if not written.startswith("@"):
        return _read_value(written)[0]
    number = int(written[1:])
    if number not in known:
        raise TextError(f"@{number} is neither a section nor among the objects given")
    return known[number]


def _read_region(line: str, marks: dict[str, Instruction]) -> ExceptionRegion:
    match = _REGION.fullmatch(line.rstrip())
    if match is None:
        raise TextError(f"no exception region: {line!r}")
    start, end, target, depth, lasti = match.groups()
    for label in (start, end, target):
        if label != "end" and label not in marks:
            raise TextError(f"{line.strip()!r} names {label}, which is nowhere")
    return ExceptionRegion(marks[start], marks.get(end), marks[target], int(depth), bool(lasti))


def _read_instruction(
    line: str, parts: CodeParts, marks: dict[str, Instruction], jumps: list[tuple[Instruction, str]]
) -> None:
    match = _LINE.fullmatch(line)
    if match is None or match["name"] not in KINDS:
        raise TextError(f"no instruction: {line!r}")
    instruction = Instruction(match["name"], None, None, _read_place(match["place"]))
    instruction.width = int(match["width"] or 0)
    rest = (match["rest"] or "").strip()
    if rest.startswith("-> "):
        jumps.append((instruction, rest[3:]))
    elif rest.startswith("#"):
        number = int(rest[1:].split(" ", 1)[0])
        if number >= len(parts.constants):
            raise TextError(f"{line.strip()!r}: there are {len(parts.constants)} constants")
        instruction.argument, instruction.hint = parts.constants[number], number
    elif rest:
        written, _, hint = rest.partition(" ~")
        instruction.argument = ast.literal_eval(written)
        instruction.hint = int(hint or -1)
    if match["label"]:
        marks[match["label"][:-1]] = instruction
    parts.instructions.append(instruction)


def _read_place(place: str | None) -> Position:
    if place is None:
        return NOWHERE
    line, column, end_line, end_column = (
        None if one == "?" else int(one) for one in re.findall(r"[\d?]+", place)
    )
    return Position(line, end_line, column, end_column)
