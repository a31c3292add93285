"""What is no code object is an error that says what to pass."""

import pytest

from framesmith.bytecode import assemble, diff, disassemble, read, text, verify


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
