"""What is written with `Emitter.within` uses the variables of the code it is inserted into."""

import pytest
from bytecode_programs import PROGRAMS
from test_cells import cell, make_both, make_free
from test_insert import outcome, with_parts

from framesmith.bytecode import (
    AssembleError,
    Emitter,
    disassemble,
    insert_at_start,
    insert_before,
)
from framesmith.bytecode.emitting import blocks, calls, stack, variables


def note(parts, seen, *names):
    emitter = Emitter.within(parts)
    for name in names:
        variables.load_constant(emitter, seen.append)
        calls.make_callable(emitter)
        variables.load(emitter, name)
        calls.call(emitter, 1)
        stack.pop(emitter)
    return emitter.instructions


def plain(x, y=2):
    return x + y


@pytest.mark.parametrize(
    ("function", "names", "arguments", "expected"),
    [
        (plain, ("x", "y", "len"), (1,), [1, 2, len]),
        (cell, ("a",), (7,), [7]),
        (make_free(3), ("a",), (), [3]),
    ],
)
def test_arguments_cells_free_variables_and_builtins_are_read(function, names, arguments, expected):
    parts, seen = disassemble(function.__code__), []
    insert_at_start(parts, note(parts, seen, *names))
    assert with_parts(function, parts)(*arguments) == function(*arguments) and seen == expected


def test_a_new_local_is_one_of_the_code_and_cells_keep_theirs():
    function = make_both(3)
    parts, seen = disassemble(function.__code__), []
    emitter = Emitter.within(parts)
    variables.load(emitter, "b")
    variables.store(emitter, "kept")
    build = next(one for one in parts.instructions if one.name == "MAKE_FUNCTION")
    insert_before(parts, build, note(parts, seen, "kept", "a"))
    insert_at_start(parts, emitter.instructions)
    assert parts.varnames == ["b", "kept"]
    steps = list(with_parts(function, parts)(5))
    assert steps[0] == 3 and steps[1]() == (3, 5) and seen == [5, 3]


@pytest.mark.parametrize(("function", "arguments"), PROGRAMS, ids=lambda one: getattr(one, "__name__", ""))
def test_a_new_local_changes_nothing(function, arguments):
    parts, logs = disassemble(function.__code__), ([], [])
    emitter = Emitter.within(parts)
    variables.load_constant(emitter, 1)
    variables.store(emitter, "new")
    insert_at_start(parts, emitter.instructions)
    assert "new" in parts.varnames
    assert outcome(with_parts(function, parts), logs[0], arguments) == outcome(function, logs[1], arguments)
    assert list(map(repr, logs[0])) == list(map(repr, logs[1]))


def shadowed(x):
    def free():
        inner = [x for x in range(3)]
        return inner, x, lambda: x

    return free


def test_of_two_slots_of_one_name_each_keeps_its_own():
    """An inlined comprehension (3.12) has a local of the name of the free variable."""
    function = shadowed(9)
    parts = disassemble(function.__code__)
    emitter = Emitter.within(parts)
    variables.load_constant(emitter, 1)
    variables.store(emitter, "new")
    insert_at_start(parts, emitter.instructions)
    inner, x, get = with_parts(function, parts)()
    assert (inner, x, get()) == ([0, 1, 2], 9, 9)


def test_a_local_that_is_overwritten_is_not_borrowed_from():
    """From 3.14 on the stack borrows from locals, and the value would be gone."""
    parts = disassemble(plain.__code__)
    adds = next(one for one in parts.instructions if one.name == "BINARY_OP")
    emitter = Emitter.within(parts)
    variables.load_constant(emitter, None)
    variables.store(emitter, "x")
    insert_before(parts, adds, emitter.instructions)
    read = {name for one in parts.instructions if "BORROW" in one.name for name in one.argument}
    assert "x" not in read
    assert with_parts(plain, parts)([object()] * 2, [3])[2:] == [3]


def test_a_region_of_its_own_is_refused():
    emitter = Emitter.within(disassemble(plain.__code__))
    with pytest.raises(AssembleError, match="inserted into plain can have no exception region"):
        blocks.try_finally(emitter, lambda: None, lambda: None)


def test_only_parts_have_an_inside():
    with pytest.raises(TypeError, match=r"Emitter.within\(\) got <code object plain"):
        Emitter.within(plain.__code__)
