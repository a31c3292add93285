"""Instructions on an edge: they run when control goes that way, and the function does what it did."""

import pytest
from bytecode_programs import GENERATORS, PROGRAMS
from test_insert import LOOPS, NAMES, call_of, drive, outcome, with_parts

from framesmith.bytecode import (
    AssembleError,
    Instruction,
    assemble,
    disassemble,
    insert_before,
    insert_on_edge,
    verify,
)
from framesmith.bytecode.opcodes import NO_FALL_THROUGH


def with_counted_edges(function):
    """The function with a call before each conditional jump and on its two edges, and what they count."""
    parts, counts = disassemble(function.__code__), {}

    def counter(number, way):
        seen = counts.setdefault((number, way), [])
        return call_of(lambda: seen.append(1))

    for number, one in enumerate(list(parts.instructions)):
        if one.target is None or one.name in NO_FALL_THROUGH:
            continue
        try:
            insert_on_edge(parts, one, counter(number, "follows"), jump=False)
            insert_on_edge(parts, one, counter(number, "jumps"), jump=True)
            insert_before(parts, one, counter(number, "before"))
        except AssembleError as error:
            assert "CPython finds it by its place" in str(error)
    return with_parts(function, parts), counts


def check(counts):
    for (number, way), seen in counts.items():
        if way == "before":
            assert len(seen) == len(counts[number, "follows"]) + len(counts[number, "jumps"]), number


def raises(result):
    return "Error" in result


@pytest.mark.parametrize(("function", "arguments"), PROGRAMS, ids=lambda one: getattr(one, "__name__", ""))
def test_calls_on_each_edge_change_nothing(function, arguments):
    logs = [], []
    changed, counts = with_counted_edges(function)
    expected = outcome(function, logs[0], arguments)
    assert outcome(changed, logs[1], arguments) == expected
    assert list(map(repr, logs[0])) == list(map(repr, logs[1]))
    if not raises(expected):
        check(counts)


@pytest.mark.parametrize(("function", "steps"), GENERATORS, ids=lambda one: getattr(one, "__name__", ""))
def test_a_generator_goes_on_as_before(function, steps):
    assert drive(with_counted_edges(function)[0], steps) == drive(function, steps)


@pytest.mark.parametrize(("function", "run"), LOOPS, ids=NAMES)
def test_one_of_two_edges_is_taken_each_time(function, run):
    changed, counts = with_counted_edges(function)
    log, expected = [], []
    assert run(changed, log) == run(function, expected) and log == expected
    if function.__name__ != "asynchronous":
        check(counts)
    assert any(counts.values())


def found(values):
    for value in values:
        if value:
            break
    return values


def test_the_exit_of_a_loop_is_not_its_break():
    parts, seen = disassemble(found.__code__), []
    loop = next(one for one in parts.instructions if one.name == "FOR_ITER")
    insert_on_edge(parts, loop, call_of(lambda: seen.append(1)), jump=True)
    made = with_parts(found, parts)
    made([0, 1])
    assert not seen
    made([0, 0])
    assert len(seen) == 1


def caught(values):
    try:
        while values:
            values = values[1:]
    except ZeroDivisionError:
        return "caught"
    return "done"


def test_what_is_on_an_edge_is_in_the_region_of_where_it_leads():
    """Both edges of each jump of the loop; the one that leaves it leads out of the `try`."""
    results = set()
    for number, one in enumerate(disassemble(caught.__code__).instructions):
        if not one.name.startswith("POP_JUMP"):
            continue
        for jump in (False, True):
            parts = disassemble(caught.__code__)
            insert_on_edge(parts, parts.instructions[number], call_of(lambda: 1 // 0), jump=jump)
            results.add(outcome(with_parts(caught, parts), [1, 2], ()))
    assert "'caught'" in results


def test_where_there_is_no_such_edge():
    parts = disassemble(found.__code__)
    for one in parts.instructions:
        if one.name == "RETURN_VALUE":
            with pytest.raises(AssembleError, match="does not lead to the instruction that follows"):
                insert_on_edge(parts, one, [Instruction("NOP")], jump=False)
    with pytest.raises(AssembleError, match=r"RESUME \(instruction 0 of found\) does not jump"):
        insert_on_edge(parts, parts.instructions[0], [Instruction("NOP")], jump=True)
    with pytest.raises(AssembleError, match="is not an instruction of found"):
        insert_on_edge(parts, Instruction("NOP"), [], jump=True)


def test_an_unconditional_jump():
    parts, seen = disassemble(found.__code__), []
    jumps = [one for one in parts.instructions if one.name == "JUMP_BACKWARD"]
    for one in jumps:
        insert_on_edge(parts, one, call_of(lambda: seen.append(1)), jump=True)
    code = assemble(parts)
    assert verify(code) == []
    with_parts(found, parts)([0, 0, 1])
    assert jumps and len(seen) == 2
