"""Parts that are edited wrongly: `assemble` makes code or says what is wrong, and `verify_parts` knows before."""

import contextlib

import pytest
from bytecode_programs import GENERATORS, PROGRAMS
from hypothesis import given
from hypothesis import strategies as st
from test_cells import cell, make_both

from framesmith.bytecode import (
    AssembleError,
    DisassembleError,
    Emitter,
    ExceptionRegion,
    Instruction,
    Position,
    assemble,
    disassemble,
    insert_at_start,
    insert_before,
    stack_depth,
    text,
    verify,
    verify_parts,
)
from framesmith.bytecode.blocks import blocks
from framesmith.bytecode.liveness import live_before
from framesmith.bytecode.meaning import read_parts
from framesmith.bytecode.opcodes import KINDS

CODES = [
    function.__code__ for function in (*(one for one, _ in (*PROGRAMS, *GENERATORS)), cell, make_both(1))
]
STRANGER = Instruction("NOP")
WRONG = [
    *(None, True, -1, 0, 1, 2, 15, 16, 255, 2**31, 2**40, 1.5, "x", "zz", "+", b"", [], (), {}),
    *(
        ("x", 0),
        ("x", 1),
        ("x", 9),
        ("x", -1),
        ("x", "y"),
        ("x", "zz"),
        ("x",),
        (1, 2),
        ("<", 0),
        (None, None),
    ),
    *(STRANGER, "MAKE_CELL", "LOAD_CONST", "FOR_ITER", "SWAP"),
]
FIELDS = ["name", "argument", "target", "position", "hint", "width"]
HEADERS = ["argcount", "posonlyargcount", "kwonlyargcount", "flags", "stacksize", "firstlineno", "qualname"]
POSITIONS = [Position(-1, 1, 0, 0), Position(3, 1, 5, 2), Position(1, 1, -7, 3), (1, 2), None, ("a", 1, 1, 1)]
numbers = st.integers(0, 200)
kinds = st.sampled_from(
    [
        "remove",
        "copy",
        "again",
        "swap",
        "field",
        "name",
        "jump",
        "region",
        "edge",
        "new region",
        "list",
        "header",
    ]
)
mutations = st.lists(st.tuples(kinds, numbers, numbers, numbers), min_size=1, max_size=4)


def pick(values, number):
    return values[number % len(values)]


def mutate(parts, kind, first, second, third):
    """One wrong edit; which is said by the numbers."""
    instructions = parts.instructions
    if not instructions:
        return
    one, other = pick(instructions, first), pick(instructions, second)
    if kind == "remove":
        instructions.remove(one)
    elif kind == "copy":
        instructions.insert(second % len(instructions), one.copy())
    elif kind == "again":
        instructions.insert(second % len(instructions), one)
    elif kind == "swap":
        i, j = first % len(instructions), second % len(instructions)
        instructions[i], instructions[j] = instructions[j], instructions[i]
    elif kind == "field":
        field = pick(FIELDS, second)
        values = {"position": POSITIONS, "target": [None, STRANGER]}.get(field, WRONG)
        setattr(one, field, pick(values, third))
    elif kind == "name":
        one.name = pick(sorted(KINDS), second)
    elif kind == "jump":
        one.target = other
    elif kind == "region" and parts.regions:
        region = pick(parts.regions, first)
        place = pick([STRANGER, other, None], third)
        setattr(region, pick(["start", "end", "target"], second), place)
    elif kind == "edge" and parts.regions:
        region = pick(parts.regions, first)
        setattr(region, pick(["depth", "push_lasti"], second), pick(WRONG, third))
    elif kind == "new region":
        parts.regions.append(ExceptionRegion(one, other, pick(instructions, third), third % 3))
    elif kind == "list":
        names = getattr(parts, pick(["varnames", "cellvars", "freevars", "names", "constants"], first))
        if names and second % 2:
            names.pop(third % len(names))
        else:
            names.append(pick(["x", "zz", "a"], third))
    elif kind == "header":
        setattr(parts, pick(HEADERS, second), pick(WRONG, third))


@given(st.sampled_from(CODES), mutations)
def test_wrong_parts_are_refused_or_make_what_verify_can_judge(code, edits):
    parts = disassemble(code)
    for edit in edits:
        mutate(parts, *edit)
    problems = verify_parts(parts)
    with contextlib.suppress(AssembleError):
        text(parts)
    try:
        made = assemble(parts)
    except AssembleError as error:
        assert problems, error
    else:
        found = verify(made)
        assert bool(found) == bool(problems), (found, problems)


def caught(x):
    before = x
    try:
        x = int(x)
    except ValueError:
        return before
    return x


@pytest.mark.parametrize(("place", "verb"), [("start", "begins"), ("end", "ends"), ("target", "leads")])
def test_an_instruction_that_a_region_needs_is_named_with_region_and_function(place, verb):
    parts = disassemble(caught.__code__)
    gone = getattr(parts.regions[0], place)
    parts.instructions.remove(gone)
    message = f"caught: exception region 0 {verb} at {gone.name}, which is not in the code"
    for refuses in (assemble, text, stack_depth.depths, live_before, blocks, read_parts):
        with pytest.raises(
            AssembleError, match=message if refuses in (assemble, text) else "caught: .*names"
        ):
            refuses(parts)
    assert any(message.removeprefix("caught: ") in one.message for one in verify_parts(parts))


@pytest.mark.parametrize(
    ("instruction", "message"),
    [
        (Instruction("LOAD_FAST", 99), "caught: LOAD_FAST at 1: local variable expected, not 99"),
        (Instruction("LOAD_FAST", "zz"), "caught: LOAD_FAST at 1: 'zz' is no local variable of this code"),
        (
            Instruction("LOAD_DEREF", "x"),
            "caught: LOAD_DEREF at 1: 'x' is neither a cell nor a free variable",
        ),
        (Instruction("BUILD_LIST"), "caught: BUILD_LIST at 1 cannot take None"),
        (Instruction("BUILD_LIST", 2**40), "caught: BUILD_LIST at 1 cannot take 1099511627776"),
        (Instruction("LOAD_GLOBAL", ("x", 2)), r"caught: LOAD_GLOBAL at 1 cannot take \('x', 2\)"),
        (Instruction("LOAD_GLOBAL", "x"), "caught: LOAD_GLOBAL at 1 cannot take 'x'"),
        (Instruction("NOP", target=STRANGER), "caught: NOP at 1 has a target, and is no jump"),
        (Instruction("EXTENDED_ARG", 1), "caught: EXTENDED_ARG at 1 is no instruction here"),
        (Instruction("NOP", position=Position(3, 1)), "caught: NOP at 1 has Position.*no source range"),
        ("NOP", "caught: 'NOP' at 1 is no Instruction"),
    ],
)
def test_a_wrong_instruction_is_named_with_function_and_index(instruction, message):
    parts = disassemble(caught.__code__)
    parts.instructions.insert(1, instruction)
    with pytest.raises(AssembleError, match=message):
        assemble(parts)
    assert verify_parts(parts)


@pytest.mark.parametrize(("depth", "lasti"), [(-1, False), ("x", False), (0, 2)])
def test_a_region_of_no_depth_is_refused(depth, lasti):
    parts = disassemble(caught.__code__)
    parts.regions[0].depth, parts.regions[0].push_lasti = depth, lasti
    with pytest.raises(AssembleError, match="caught: exception region 0 has depth"):
        assemble(parts)


def test_one_instruction_at_two_places_is_refused():
    parts = disassemble(caught.__code__)
    parts.instructions.insert(1, parts.instructions[2])
    with pytest.raises(AssembleError, match="stands there twice"):
        assemble(parts)


def test_more_arguments_than_locals_are_refused():
    parts = disassemble(caught.__code__)
    parts.argcount = 9
    with pytest.raises(AssembleError, match="caught: "):
        assemble(parts)


def test_a_pair_of_far_locals_is_refused():
    pair = next((one for one in ("LOAD_FAST_LOAD_FAST",) if one in KINDS), None)
    parts = disassemble(caught.__code__)
    parts.varnames += [f"v{number}" for number in range(20)]
    parts.instructions.insert(1, Instruction(pair or "LOAD_FAST", ("x", "v17") if pair else "v99"))
    with pytest.raises(AssembleError, match="a pair reaches 15" if pair else "no local variable"):
        assemble(parts)


@pytest.mark.skipif("END_FOR" not in KINDS, reason="loops before 3.12 have no END_FOR")
def test_what_follows_a_loop_has_to_follow_it():
    """CPython skips what FOR_ITER leads to: the iterator would be dropped twice."""
    parts = disassemble((lambda x: [print(y) for y in x]).__code__)
    loop = next(one for one in parts.instructions if one.name == "FOR_ITER")
    parts.instructions.insert(parts.instruction_indices()[loop.target], no_op := Instruction("NOP"))
    loop.target = no_op
    (problem,) = verify_parts(parts)
    assert problem.check == "flow" and "FOR_ITER leads to NOP, not to END_FOR" in problem.message


@pytest.mark.parametrize(
    "insert", [lambda parts, value: insert_before(parts, parts.instructions[1], value), insert_at_start]
)
@pytest.mark.parametrize("value", [3, ["NOP"], disassemble(caught.__code__)])
def test_only_instructions_are_inserted(insert, value):
    with pytest.raises(
        TypeError, match=r"insert_\w+\(\) got .*, which is no Instruction; pass the `instructions`"
    ):
        insert(disassemble(caught.__code__), value)


def test_in_front_of_what_is_no_instruction():
    with pytest.raises(AssembleError, match="'NOP' is not an instruction of caught"):
        insert_before(disassemble(caught.__code__), "NOP", [])


def test_an_emitted_argument_that_is_no_pair_is_named():
    with pytest.raises(AssembleError, match="LOAD_GLOBAL cannot take 'x': a pair of name and flags"):
        Emitter.within(disassemble(caught.__code__)).emit("LOAD_GLOBAL", "x")


def test_a_code_object_that_names_what_it_lacks_cannot_be_read():
    with pytest.raises(DisassembleError, match="names a constant, name or variable that it does not have"):
        disassemble(caught.__code__.replace(co_names=()))
