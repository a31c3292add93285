"""Generated code at the user's lines."""

import traceback

import pytest

from framesmith.bytecode.relocate import relocate_lines


def lines_of(code):
    return list(dict.fromkeys(line for _, _, line in code.co_lines() if line))


def test_each_line_becomes_the_one_it_stands_for():
    scope = {}
    exec("def f(x):\n    y = x\n    return 1 // y\n", scope)
    function = scope["f"]
    function.__code__ = relocate_lines(function.__code__, [100, 250, 90], 100)
    assert lines_of(function.__code__) == [100, 250, 90]
    with pytest.raises(ZeroDivisionError) as caught:
        function(0)
    assert traceback.extract_tb(caught.value.__traceback__)[-1].lineno == 90


def test_lines_beyond_the_end_take_the_last_one():
    scope = {}
    exec("def f(x):\n    y = x\n    return y\n", scope)
    moved = relocate_lines(scope["f"].__code__, [7, 8], 7)
    assert lines_of(moved) == [7, 8]
