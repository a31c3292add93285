"""The command `dis`: native instructions beside their operations."""

import pytest

from framesmith.bytecode import listing


def absolute(x):
    return -x if x < 0 else x


def test_each_instruction_has_its_operations():
    lines = list(listing.list_code(absolute.__code__))
    assert any("COMPARE_OP" in line and "COMPARE" in line.split("  ")[-1] for line in lines)
    assert any("UNARY_NEGATIVE" in line and line.endswith("UNARY '-'") for line in lines)
    jump = next(line for line in lines if "POP_JUMP" in line)
    assert int(jump.split(" -> ")[1].split()[0]) < len(lines)


def test_none_is_shown_where_it_is_a_value():
    def returns_none():
        x = None
        return x

    lines = list(listing.list_code(returns_none.__code__))
    assert any(line.split()[2:] == ["None", "LOAD_CONST", "None"] for line in lines)
    assert any(line.split()[1] == "RETURN_VALUE" and "None" not in line for line in lines)


def test_the_command_lists_a_function(capsys):
    assert listing.main("textwrap:dedent") == 0
    said = capsys.readouterr().out
    assert said.startswith("dedent (") and "LOAD_GLOBAL" in said


@pytest.mark.parametrize("name", ["textwrap", "textwrap:no_such", "no.such.module:f", "math:sin", ":"])
def test_what_is_no_function_is_said_to_be_none(name, capsys):
    assert listing.main(name) == 2
    assert "write module:function" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("nowhere:x", "No module named 'nowhere'"),
        ("textwrap:dedant", "did you mean 'dedent'?"),
        ("math:sin", "it is builtin_function_or_method sin"),
    ],
)
def test_it_is_said_what_a_name_lacks(name: str, said: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert listing.main(name) == 2
    assert said in capsys.readouterr().out
