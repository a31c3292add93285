"""What is inserted has to leave the stack as it found it, unless the caller says otherwise."""

import re

import pytest
from test_insert import with_parts

from framesmith.bytecode import (
    AssembleError,
    Emitter,
    Instruction,
    disassemble,
    insert_at_start,
    insert_before,
    insert_on_edge,
    verify_parts,
)
from framesmith.bytecode.emitting import calls, jumps, stack, variables


def area(width, height):
    if width:
        return width * height
    return 0


def before(parts, name, instructions, **options):
    insert_before(parts, next(one for one in parts.instructions if one.name == name), instructions, **options)


def edge(parts, name, instructions, **options):
    jump = next(one for one in parts.instructions if "POP_JUMP" in one.name)
    insert_on_edge(parts, jump, instructions, jump=name == "jump", **options)


PLACES = [
    (lambda parts, added, **options: before(parts, "BINARY_OP", added, **options), "insert_before()"),
    (lambda parts, added, **options: insert_at_start(parts, added, **options), "insert_at_start()"),
    (lambda parts, added, **options: edge(parts, "jump", added, **options), "insert_on_edge()"),
    (lambda parts, added, **options: edge(parts, "fall", added, **options), "insert_on_edge()"),
]


@pytest.mark.parametrize(("insert", "call"), PLACES)
def test_what_leaves_a_value_is_refused(insert, call):
    parts = disassemble(area.__code__)
    size = len(parts.instructions)
    message = f"{call} got instructions that leave 1 more on the stack of area than they found"
    with pytest.raises(AssembleError, match=re.escape(message) + ".*pop them, or pass check_stack=False"):
        insert(parts, [Instruction("LOAD_CONST", 1)])
    assert len(parts.instructions) == size


@pytest.mark.parametrize(("insert", "call"), PLACES)
@pytest.mark.parametrize("name", ["POP_TOP", "SWAP"])
def test_what_changes_the_slots_below_is_refused(insert, call, name):
    message = f"{call} got {name} (number 0 of what is inserted into area), which takes "
    with pytest.raises(AssembleError, match=re.escape(message)):
        insert(disassemble(area.__code__), [Instruction(name, 2 if name == "SWAP" else None)])


def test_what_does_more_is_inserted_if_the_caller_says_so():
    parts = disassemble(area.__code__)
    emitter = Emitter.within(parts, 1)
    stack.pop(emitter)
    variables.load_constant(emitter, 10)
    before(parts, "BINARY_OP", emitter.instructions, check_stack=False)
    assert with_parts(area, parts)(3, 4) == 30


def test_what_lies_there_can_be_copied():
    seen, parts = [], disassemble(area.__code__)
    emitter = Emitter.within(parts)
    variables.load_constant(emitter, seen.append)
    calls.make_callable(emitter)
    stack.copy(emitter, 3)
    calls.call(emitter, 1)
    stack.pop(emitter)
    before(parts, "BINARY_OP", emitter.instructions)
    assert with_parts(area, parts)(3, 4) == 12 and seen == [4]


def test_a_branch_of_its_own_is_followed():
    def branch(*, pops):
        parts = disassemble(area.__code__)
        emitter = Emitter.within(parts)
        done = emitter.label()
        variables.load(emitter, "width")
        jumps.jump_if(emitter, False, done)
        variables.load_constant(emitter, 1)
        if pops:
            stack.pop(emitter)
            emitter.place_label(done)
        else:
            # By hand: the emitter knows both depths.
            emitter.instructions.append(done)
        insert_at_start(parts, emitter.instructions)
        return parts

    assert with_parts(area, branch(pops=True))(3, 4) == 12
    with pytest.raises(AssembleError, match="leave 1 more"):
        branch(pops=False)


def test_a_way_out_is_not_followed():
    parts = disassemble(area.__code__)
    emitter = Emitter.within(parts)
    variables.load_constant(emitter, 7)
    calls.return_value(emitter)
    insert_at_start(parts, emitter.instructions)
    assert verify_parts(parts) == [] and with_parts(area, parts)(3, 4) == 7
    parts = disassemble(area.__code__)
    end = next(one for one in parts.instructions if one.name == "RETURN_VALUE")
    leave = [Instruction("LOAD_CONST", 7), Instruction("JUMP_FORWARD", None, end)]
    insert_at_start(parts, leave)
    assert verify_parts(parts) == [] and with_parts(area, parts)(3, 4) == 7


@pytest.mark.parametrize("wrong", [Instruction("NO_SUCH_THING"), Instruction("LOAD_GLOBAL", "x")])
def test_what_is_wrong_in_itself_is_for_the_assembler(wrong):
    parts = disassemble(area.__code__)
    insert_at_start(parts, [Instruction("LOAD_CONST", 1), wrong])
    assert verify_parts(parts)
