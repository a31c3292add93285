"""Cells and free variables are there before they are used: found by the verifier, and kept by what inserts."""

from types import FunctionType

import pytest
from bytecode_programs import PROGRAMS
from test_insert import call_of, outcome, with_parts

from framesmith.bytecode import (
    AssembleError,
    CodeParts,
    Emitter,
    Instruction,
    assemble,
    disassemble,
    insert_at_start,
    insert_before,
    verify,
    verify_parts,
)
from framesmith.bytecode.emitting import stack, variables
from framesmith.bytecode.opcodes import CLOSURE_LOAD, VERSION


def cell(a):
    return (lambda: a)()


def make_free(a):
    def free():
        return a + 1

    return free


def make_both(a):
    def both(b):
        yield a
        yield lambda: (a, b)

    return both


CLOSURES = {"cell": (cell, "a"), "free": (make_free(3), "a"), "both": (make_both(3), "b")}
each_closure = pytest.mark.parametrize(("function", "name"), CLOSURES.values(), ids=CLOSURES)


def load_of(name):
    made = CodeParts("f", "f", "", cellvars=["a", "b"])
    emitter = Emitter(made)
    variables.load(emitter, name)
    stack.pop(emitter)
    return made.instructions


@each_closure
def test_a_cell_that_is_read_too_early_is_found(function, name):
    parts = disassemble(function.__code__)
    parts.instructions[:0] = load_of(name)
    for problems in (verify_parts(parts), verify(assemble(parts))):
        (problem,) = problems
        assert problem.check == "cell" and f"'{name}'" in problem.message and problem.index == 0


def test_a_cell_that_is_made_on_one_path_only_is_found():
    parts = disassemble(cell.__code__)
    resume = next(one for one in parts.instructions if one.name == "RESUME")
    jump = "POP_JUMP_FORWARD_IF_FALSE" if VERSION < (3, 12) else "POP_JUMP_IF_FALSE"
    parts.instructions[:0] = [Instruction("LOAD_CONST", False), Instruction(jump, None, resume)]
    assert {one.check for one in verify_parts(parts)} == {"cell"}


def test_a_closure_of_what_is_no_cell_is_found():
    parts = disassemble(cell.__code__)
    parts.instructions = [one for one in parts.instructions if one.name != "MAKE_CELL"]
    assert any(CLOSURE_LOAD in one.message or "BORROW" in one.message for one in verify_parts(parts))


def test_a_plain_value_in_the_slot_of_a_cell_is_found():
    parts = disassemble(cell.__code__)
    insert_at_start(parts, [Instruction("LOAD_CONST", 1), Instruction("STORE_FAST", "a")])
    assert {one.check for one in verify_parts(parts)} == {"cell"}


@each_closure
def test_in_front_of_the_cells_is_refused_with_their_names(function, name):
    parts = disassemble(function.__code__)
    names = [one.name for one in parts.instructions]
    last = max(index for index, one in enumerate(names) if one in ("MAKE_CELL", "COPY_FREE_VARS"))
    for index in range(last + 1):
        with pytest.raises(AssembleError, match=rf"{name} cannot be read .* use insert_at_start"):
            insert_before(parts, parts.instructions[index], load_of(name))
    assert [one.name for one in parts.instructions] == names


def test_at_the_start_cells_and_free_variables_are_there():
    for function, name in (CLOSURES["cell"], CLOSURES["free"]):
        parts = disassemble(function.__code__)
        insert_at_start(parts, load_of(name))
        arguments = (7,) if function is cell else ()
        assert with_parts(function, parts)(*arguments) == function(*arguments)


def test_at_the_start_of_a_generator_is_its_first_next():
    function, name = CLOSURES["both"]
    parts, seen = disassemble(function.__code__), []
    insert_at_start(parts, [*load_of(name), *call_of(lambda: seen.append(1))])
    generator = with_parts(function, parts)(5)
    assert not seen
    assert next(generator) == 3 and seen == [1]
    assert next(generator)() == (3, 5) and list(generator) == [] and seen == [1]


def loops(x):
    while x:
        x -= 1
    return x


def endless(x):
    while True:
        x -= 1
        if not x:
            return x


def test_a_loop_at_the_start_does_not_repeat_it():
    expressions = (each for each in range(3))
    for function in (loops, endless):
        parts, seen = disassemble(function.__code__), []
        insert_at_start(parts, call_of(lambda seen=seen: seen.append(1)))
        assert with_parts(function, parts)(3) == 0 and seen == [1]
    parts, seen = disassemble(expressions.gi_code), []
    insert_at_start(parts, call_of(lambda: seen.append(1)))
    made = FunctionType(assemble(parts), {})(iter(range(3)))
    assert list(made) == [0, 1, 2] and seen == [1]


@pytest.mark.parametrize(("function", "arguments"), PROGRAMS, ids=lambda one: getattr(one, "__name__", ""))
def test_a_call_at_the_start_runs_once(function, arguments):
    parts, seen, logs = disassemble(function.__code__), [], ([], [])
    insert_at_start(parts, call_of(lambda: seen.append(1)))
    changed = with_parts(function, parts)
    assert outcome(changed, logs[0], arguments) == outcome(function, logs[1], arguments)
    assert list(map(repr, logs[0])) == list(map(repr, logs[1])) and seen == [1]


def test_a_body_without_resume_has_no_start():
    with pytest.raises(AssembleError, match="note has no RESUME"):
        insert_at_start(CodeParts("note", "note", ""), [])
