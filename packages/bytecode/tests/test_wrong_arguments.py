"""What is no code object, no parts and so on is an error that names the call and the value, and says what to pass."""

import pytest

import framesmith.bytecode
from framesmith.bytecode import (
    AssembleError,
    CodeParts,
    Emitter,
    Instruction,
    Kind,
    ResumeError,
    ResumeLayout,
    StackItem,
    assemble,
    bind_constants,
    diff,
    disassemble,
    insert_at_start,
    insert_before,
    insert_on_edge,
    read,
    read_text,
    relocate_lines,
    resume_function,
    stack_depths,
    stack_items,
    text,
    verify,
    verify_parts,
)


def function():
    return 1


HEADER = {"name": "f", "qualname": "f", "filename": "f.py", "firstlineno": 1}
TAKE_CODE = {
    "disassemble": disassemble,
    "read": read,
    "verify": verify,
    "text": text,
    "diff": lambda value: diff(function.__code__, value),
    "stack_items": stack_items,
    "resume_function": lambda value: resume_function(value, 1, ResumeLayout((), ())),
    "relocate_lines": lambda value: relocate_lines(value, [1], 1),
    "bind_constants": lambda value: bind_constants(value, {}, **HEADER),
}
TAKE_PARTS = {
    "assemble": assemble,
    "Emitter": Emitter,
    "Emitter.within": Emitter.within,
    "verify_parts": verify_parts,
    "insert_before": lambda value: insert_before(value, Instruction("NOP"), []),
    "insert_at_start": lambda value: insert_at_start(value, []),
    "insert_on_edge": lambda value: insert_on_edge(value, Instruction("NOP"), [], jump=True),
}
CODE = function.__code__
OTHERS = {
    "stack_depths": (lambda: stack_depths(CODE), "no Reading; pass what read.code. gives"),
    "read_text": (lambda: read_text(CODE), "no text; pass what text.code. gives"),
    "relocate_lines": (lambda: relocate_lines(CODE, [], 1), "no list of line numbers; pass one for each"),
    "bind_constants": (lambda: bind_constants(CODE, ["x"], **HEADER), "no mapping; pass a dict of global"),
    "resume_function": (lambda: resume_function(CODE, 1, None), "no ResumeLayout; pass ResumeLayout.stack"),
    "ResumeLayout": (
        lambda: ResumeLayout(("value",), ()),
        "no tuple of StackItem; pass stack_items.code..operation_index., or .StackItem.VALUE",
    ),
    "insert_at_start": (
        lambda: insert_at_start(disassemble(CODE), Emitter(disassemble(CODE))),
        "no Instruction; pass the `instructions` of an emitter",
    ),
    "append": (lambda: Emitter(disassemble(CODE)).append("NOP"), "no Instruction; pass one, or use emit"),
    "place_label": (lambda: Emitter(disassemble(CODE)).place_label("L"), "no label; pass what label.. gave"),
}
NO_ARGUMENTS_TO_CHECK = {"CodeParts", "CodeText", "ExceptionRegion", "Handler", "Instruction", "Kind"} | {
    *("NOWHERE", "Operation", "Position", "Problem", "Reading", "StackItem", "UnknownOpcode"),
    *("AssembleError", "BytecodeError", "DisassembleError", "ResumeError", "TextError"),
}


def test_each_public_name_is_here():
    assert {*framesmith.bytecode.__all__} <= {*TAKE_CODE, *TAKE_PARTS, *OTHERS, *NO_ARGUMENTS_TO_CHECK}


@pytest.mark.parametrize("name", TAKE_CODE)
@pytest.mark.parametrize(
    ("value", "remedy"),
    [(function, "pass its __code__"), (3, "pass a code object"), (None, "pass a code object")],
)
def test_no_code_object(name, value, remedy):
    with pytest.raises(TypeError, match=rf"^{name}\(\) got {value!r}, which is no code object; {remedy}"):
        TAKE_CODE[name](value)


@pytest.mark.parametrize("name", TAKE_PARTS)
def test_no_parts(name):
    with pytest.raises(
        TypeError, match=rf"^{name}\(\) got <code object function.*no CodeParts; pass what disassemble"
    ):
        TAKE_PARTS[name](CODE)


@pytest.mark.parametrize("name", OTHERS)
def test_other_arguments(name):
    call, message = OTHERS[name]
    with pytest.raises(TypeError, match=rf"^{name}\(\) got .*, which is {message}"):
        call()


@pytest.mark.parametrize("wrong", ["x", ["x"], (1,), None])
def test_locals_that_are_no_tuple_of_names(wrong):
    with pytest.raises(TypeError, match=r"^ResumeLayout\(\) got .*, which is no tuple of names; pass"):
        ResumeLayout((StackItem.VALUE,), wrong)


def test_an_index_that_is_none():
    with pytest.raises(TypeError, match=r"resume_function\(\) got None, which is no index; pass the index"):
        resume_function(CODE, None, ResumeLayout((), ()))


def loop(values):
    for value in values:
        pass


@pytest.mark.skipif(
    Kind.END_FOR not in [one.kind for one in read(loop.__code__).operations],
    reason="loops before 3.12 have no END_FOR",
)
def test_an_operation_that_is_never_reached():
    index = [one.kind for one in read(loop.__code__).operations].index(Kind.END_FOR)
    with pytest.raises(ResumeError, match="of loop is never reached"):
        resume_function(loop.__code__, index, ResumeLayout((), ()))


def test_a_long_value_is_cut():
    with pytest.raises(TypeError) as caught:
        verify(disassemble(text.__code__))
    assert len(str(caught.value)) < 300


def test_an_instruction_that_this_python_lacks_is_named_where_it_is_emitted():
    emitter = Emitter(CodeParts("note", "note", "note.py"))
    with pytest.raises(AssembleError, match="note: no instruction 'LOAD_NOTHING' in this version"):
        emitter.emit("LOAD_NOTHING")
    assert not emitter.parts.instructions
