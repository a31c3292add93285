"""The text form, read back; and differences."""

import types

import pytest

from framesmith.bytecode.assemble import assemble
from framesmith.bytecode.difference import diff
from framesmith.bytecode.disassemble import disassemble
from framesmith.bytecode.errors import TextError
from framesmith.bytecode.instruction import Instruction
from framesmith.bytecode.text import read_text, text


def sample(x, *, key=None):
    found = {(1, -0.0, ...): "a b", b"c": None, 1e400: 2j}
    with x as y:
        return [lambda: (x, key, found) for _ in y if _ not in {1, 2}]


def test_text_reads_back_as_the_same_code():
    written = text(sample.__code__)
    made = assemble(read_text(written))
    assert made.co_code == sample.__code__.co_code
    assert made.co_exceptiontable == sample.__code__.co_exceptiontable
    assert list(made.co_positions()) == list(sample.__code__.co_positions())
    assert repr(strip(made)) == repr(strip(sample.__code__))


def strip(code):
    return [strip(one) if isinstance(one, types.CodeType) else one for one in code.co_consts]


def test_text_alone_is_enough_for_literals_and_nested_functions():
    def outer(a):
        return [lambda b: (a, b, "#1 = x ~3 [1:2 3:4]") for _ in range(a)]

    made = assemble(read_text(text(outer.__code__).text))
    assert made == outer.__code__


def test_objects_of_any_kind_are_referred_to():
    thing = object()
    parts = disassemble((lambda: None).__code__)
    parts.instructions[1:] = [Instruction("LOAD_CONST", thing), Instruction("RETURN_VALUE")]
    written = text(parts)
    assert "@0" in written.text and written.objects == (thing,)
    assert types.FunctionType(assemble(read_text(written)), {})() is thing
    with pytest.raises(TextError, match="@0 is neither a section nor among the objects"):
        read_text(written.text)


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("      NO_SUCH_OPCODE 1", "no instruction"),
        ("      JUMP_FORWARD -> L99", "jumps to L99"),
        ("      LOAD_CONST #99 = 1", "there are"),
        ("  region L98 L99 -> L0 depth 0", "L98, which is nowhere"),
    ],
)
def test_a_line_that_cannot_be_read_is_shown(line, message):
    with pytest.raises(TextError, match=message):
        read_text(text((lambda x: x + 1).__code__).text.rstrip() + "\n" + line)


def test_the_same_code_has_no_difference():
    assert diff(sample.__code__, sample.__code__.replace()) == ""


def test_a_difference_shows_the_instruction():
    one = compile("x = 1000\ny = f(x)", "a.py", "exec")
    other = compile("x = 2000\ny = f(x)", "a.py", "exec")
    lines = [line.split() for line in diff(one, other, positions=False).splitlines()]
    assert ["-", "LOAD_CONST", "1000"] in lines and ["+", "LOAD_CONST", "2000"] in lines
