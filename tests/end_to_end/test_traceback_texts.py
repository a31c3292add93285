"""The text of a traceback is that of eager: functions, lines and what is underlined."""

import sys
import traceback

import pytest
import torch

from framesmith import frontend


def inner(x):
    y = x + 1; raise ValueError("a")  # fmt: skip


def middle(x, number):
    return x + (inner(x) if number else
                inner(x * 2))  # fmt: skip


def caught(x, number):
    try:
        return middle(x, number)
    except ValueError:
        return traceback.format_exc()


def behind_a_break(x, number):
    try:
        print(end="")
        return [1][number] + len(missing)
    except Exception:
        return traceback.format_exc()


def passed_on(x, number):
    return middle(x, number)


def lost_key(x, number):
    items = {"a": x}
    return items["a"] + items["b" + str(number)]


def failing_operation(x, number):
    y = x * 2
    return y.sum() + (x @ torch.ones(7))


def in_a_generator(x, number):
    def steps():
        yield x
        yield number / (number - number)

    return list(steps())


def in_a_block(x, number):
    with torch.no_grad():
        print(end=""); z = x * 2  # fmt: skip
        return z + undefined_name


def text_of(function, *args):
    try:
        return str(function(*args))
    except Exception as error:
        lines = traceback.format_exception(error)
        return "".join([lines[0], *lines[2:]])  # without the line above


@pytest.mark.parametrize(
    "program",
    [caught, behind_a_break, passed_on, lost_key, failing_operation, in_a_generator, in_a_block],
)
@pytest.mark.parametrize("number", [0, 1, 5])
def test_texts_of_tracebacks(program, number):
    compiled, x = frontend.compile(program, backend="eager"), torch.ones(2)
    expected = text_of(program, x, number)
    assert "^" in expected
    assert [text_of(compiled, x, number) for _ in range(3)] == [expected] * 3


def test_tracebacks_of_long_functions_where_a_tracer_is_set():
    lines = "\n".join(f"    y = y + {number} * (x - {number})" for number in range(200))
    namespace = {}
    exec(f"def program(x):\n    y = x\n{lines}\n    raise ValueError('at the end')\n", namespace)
    compiled = frontend.compile(namespace["program"], backend="eager")

    def tracer(frame, event, argument):
        return tracer

    before = sys.gettrace()
    sys.settrace(tracer)
    try:
        for _ in range(3):
            frontend.reset()
            with pytest.raises(ValueError) as caught:
                compiled(torch.ones(2))
            assert caught.traceback[-1].lineno == 202
    finally:
        sys.settrace(before)
