"""What is no code object is an error that says what to pass."""

import pytest

from framesmith.bytecode import (
    AssembleError,
    CodeParts,
    Emitter,
    Instruction,
    assemble,
    diff,
    disassemble,
    insert_before,
    read,
    text,
    verify,
)


def function():
    return 1


@pytest.mark.parametrize("call", [disassemble, read, verify, text, lambda value: diff(value, value)])
@pytest.mark.parametrize(
    ("value", "remedy"),
    [(function, "pass its __code__"), (3, "pass a code object"), (None, "pass a code object")],
)
def test_no_code_object(call, value, remedy):
    with pytest.raises(TypeError, match=remedy):
        call(value)


def test_no_parts():
    with pytest.raises(TypeError, match="no CodeParts; pass what disassemble"):
        assemble(function.__code__)


@pytest.mark.parametrize("call", [Emitter, lambda value: insert_before(value, Instruction("NOP"), [])])
def test_what_is_edited_has_to_be_parts(call):
    with pytest.raises(
        TypeError, match=r"\(\) got <code object function.*no CodeParts; pass what disassemble"
    ):
        call(function.__code__)


def test_an_instruction_that_this_python_lacks_is_named_where_it_is_emitted():
    emitter = Emitter(CodeParts("note", "note", "note.py"))
    with pytest.raises(AssembleError, match="note: no instruction 'LOAD_NOTHING' in this version"):
        emitter.emit("LOAD_NOTHING")
    assert not emitter.parts.instructions
