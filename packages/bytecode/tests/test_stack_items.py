"""What is on the stack before each operation, and going on with it."""

import sys
from types import FunctionType

import pytest
from bytecode_programs import GENERATORS, PROGRAMS
from bytecode_reference import SavedException, execute, frame_of
from bytecode_reference_rows import NULL
from test_resume import copies, drain, fresh, outcome

from framesmith.bytecode import (
    Kind,
    ResumeError,
    ResumeLayout,
    StackItem,
    read,
    resume_function,
    stack_depths,
    stack_items,
    verify,
)
from framesmith.bytecode.stack_contents import Content, stack_contents


def is_right(content, value, is_copy):
    if content in (Content.OPTIONAL, Content.EITHER):
        return True
    if content is Content.NULL or value is NULL:
        return content is Content.NULL and value is NULL
    if isinstance(value, SavedException) and not is_copy:
        return content is Content.HANDLED
    return content is not Content.HANDLED


@pytest.mark.parametrize(("function", "args"), PROGRAMS, ids=lambda v: getattr(v, "__name__", ""))
def test_they_are_what_is_there_when_the_function_runs(function, args):
    contents = stack_contents(function.__code__, read(function.__code__))
    seen, wrong = set(), []

    def look(frame, index):
        if index >= 0:
            seen.add(index)
            double = copies(
                frame, [i for i, one in enumerate(frame.stack) if isinstance(one, SavedException)]
            )
            for slot, (content, value) in enumerate(zip(contents[index], frame.stack, strict=True)):
                if not is_right(content, value, slot in double):
                    wrong.append((index, slot, content, value))
        return False

    # Some of the programs end with an exception.
    outcome(lambda: drain(execute(frame_of(fresh(function), ([], *args), {}), 0, look)))
    assert len(seen) > 3 and not wrong


@pytest.mark.parametrize(
    "function", [one for one, _ in (*PROGRAMS, *GENERATORS)], ids=lambda one: one.__name__
)
def test_there_is_one_for_each_slot(function):
    code = function.__code__
    counts = [None if one is None else len(one) for one in stack_items(code)]
    assert tuple(counts) == stack_depths(read(code))


def go_on(function, kind, *values, names=(), number=0):
    """Call the function from its `number`-th operation of a kind on, with the stack that `stack_items` gives."""
    code = function.__code__
    index = [i for i, one in enumerate(read(code).operations) if one.kind is kind][number]
    made = resume_function(code, index, ResumeLayout(stack_items(code)[index], names))
    assert verify(made) == []
    return FunctionType(made, globals())(*values)


def total(values, factor):
    result = 0
    for value in values:
        result += value * factor
    return result


def test_a_loop_goes_on_with_an_iterator_on_every_python():
    assert go_on(total, Kind.FOR_ITER, iter([3, 4]), 10, 100, names=("factor", "result")) == 170
    assert go_on(total, Kind.STORE_LOCAL, iter([4]), 3, 10, 100, names=("factor", "result"), number=1) == 170


def spell(word):
    return word.join("ab")


def test_a_method_is_given_bound():
    assert go_on(spell, Kind.CALL, "-".join, "ab") == "a-b"


def guarded(call, text):
    try:
        return call(text)
    except ValueError as error:
        return type(error).__name__ + text


def test_a_handler_goes_on_with_what_it_handles():
    assert go_on(guarded, Kind.CALL, int, "12", "?", names=("text",)) == 12
    assert go_on(guarded, Kind.CALL, int, "x", "?", names=("text",)) == "ValueError?"
    names = [one.kind for one in read(guarded.__code__).operations]
    assert Kind.POP_EXCEPTION in names
    error = ValueError("x")
    items = stack_items(guarded.__code__)[names.index(Kind.CHECK_EXCEPTION_MATCH)]
    assert items == (StackItem.HANDLED, StackItem.VALUE, StackItem.VALUE)
    made = go_on(guarded, Kind.CHECK_EXCEPTION_MATCH, error, error, ValueError, "?", names=("text",))
    assert made == "ValueError?"


def squares(n, x):
    found = [x * x for x in range(n)]
    return found, x


def unbound(n):
    found = [x * x for x in range(n)]
    if n < 0:
        x = 1
        return x
    return found


@pytest.mark.skipif(sys.version_info < (3, 12), reason="comprehensions are inlined from 3.12 on")
def test_a_variable_that_a_comprehension_puts_aside_is_there_if_it_may_be_bound():
    items = {}
    for function in (squares, unbound):
        kinds = [one.kind for one in read(function.__code__).operations]
        items[function] = stack_items(function.__code__)[kinds.index(Kind.BUILD_LIST)]
    assert StackItem.NULL not in items[squares] and StackItem.NULL in items[unbound]
    assert go_on(squares, Kind.FOR_ITER, "outer", [], iter([2, 3])) == ([4, 9], "outer")
    assert go_on(unbound, Kind.FOR_ITER, [], iter([2, 3]), 5, names=("n",)) == [4, 9]


def test_a_layout_that_differs_is_refused_and_the_right_one_named():
    code = total.__code__
    index = [one.kind for one in read(code).operations].index(Kind.FOR_ITER)
    wrong = [StackItem.NULL, *stack_items(code)[index][1:]]
    with pytest.raises(
        ResumeError, match="item 0 at .* of total is a value, the layout gives StackItem.NULL"
    ):
        resume_function(code, index, ResumeLayout(tuple(wrong), ()))
    code = guarded.__code__
    index = [one.kind for one in read(code).operations].index(Kind.CALL)
    with pytest.raises(
        ResumeError, match=rf"is NULL, .*; stack_items\(code\)\[{index}\] is a layout that fits"
    ):
        resume_function(code, index, ResumeLayout((StackItem.VALUE,) * 3, ()))
