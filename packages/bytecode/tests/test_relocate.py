"""Line numbers of generated code."""

from framesmith.bytecode.relocate import relocate_lines

TEXT = "def f(x):\n    a = x + 1\n    if a:\n        a = [a, a, a, a, a, a, a, a, a, a]\n    return a\n"


def compiled():
    return next(c for c in compile(TEXT, "generated", "exec").co_consts if hasattr(c, "co_code"))


def test_every_line_is_the_one_asked_for():
    code = relocate_lines(compiled(), [100, 7, 3000, 2, 90], 100)
    lines = {line for _, _, line in code.co_lines() if line is not None}
    assert lines == {100, 7, 3000, 2, 90}
    assert code.co_code == compiled().co_code


def test_lines_beyond_the_end_take_the_last():
    code = relocate_lines(compiled(), [5], 5)
    assert {line for _, _, line in code.co_lines() if line is not None} == {5}


def test_a_traceback_shows_the_new_line():
    code = relocate_lines(compiled(), [10, 20, 30, 40, 50], 10)
    try:
        type(compiled_function(code))  # the function itself is fine
        compiled_function(code)("text")
    except TypeError as error:
        assert error.__traceback__.tb_next.tb_lineno == 20
    else:
        raise AssertionError("a string plus a number has to fail")


def compiled_function(code):
    return type(compiled)(code, {})
