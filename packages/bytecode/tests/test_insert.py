"""Instructions in front of others: the function does what it did, and what was inserted runs."""

import asyncio
import re
from types import CellType, FunctionType

import pytest
from bytecode_programs import GENERATORS, PROGRAMS

from framesmith.bytecode import (
    CodeParts,
    Emitter,
    Instruction,
    Kind,
    assemble,
    disassemble,
    insert_before,
    read,
    verify,
)
from framesmith.bytecode.emitting import calls, stack, variables
from framesmith.bytecode.errors import AssembleError
from framesmith.bytecode.opcodes import KINDS


def call_of(function):
    """Instructions that call a function without arguments and drop the result."""
    emitter = Emitter(CodeParts("inserted", "inserted", ""))
    variables.load_constant(emitter, function)
    calls.make_callable(emitter)
    calls.call(emitter, 0)
    stack.pop(emitter)
    return emitter.parts.instructions


def with_calls(function, called):
    """The function with a call in front of each instruction behind the RESUME at its start."""
    parts = disassemble(function.__code__)
    names = [one.name for one in parts.instructions]
    for target in parts.instructions[names.index("RESUME") + 1 :]:
        try:
            insert_before(parts, target, call_of(called))
        except AssembleError:
            continue
    return with_parts(function, parts)


def with_parts(function, parts):
    """The function with other code, and cells of its own."""
    code = assemble(parts)
    assert verify(code) == []
    cells = tuple(CellType(cell.cell_contents) for cell in function.__closure__ or ())
    made = FunctionType(code, function.__globals__, function.__name__, function.__defaults__, cells)
    made.__kwdefaults__ = function.__kwdefaults__
    return made


@pytest.mark.parametrize(("function", "arguments"), PROGRAMS, ids=lambda one: getattr(one, "__name__", ""))
def test_calls_in_front_of_each_instruction_change_nothing(function, arguments):
    eager, edited, count = [], [], []
    changed = with_calls(function, lambda: count.append(1))
    expected = outcome(function, eager, arguments)
    assert outcome(changed, edited, arguments) == expected
    assert list(map(repr, edited)) == list(map(repr, eager)) and count


def outcome(function, log, arguments):
    try:
        return repr(function(log, *arguments))
    except Exception as error:
        return repr(error)


@pytest.mark.parametrize(("function", "steps"), GENERATORS, ids=lambda one: getattr(one, "__name__", ""))
def test_a_generator_goes_on_as_before(function, steps):
    assert drive(with_calls(function, lambda: None), steps) == drive(function, steps)


def drive(function, steps):
    log = []
    generator = function(log)
    for step in steps:
        try:
            if step == "close":
                generator.close()
            else:
                raises = isinstance(step, Exception)
                log.append(generator.throw(step) if raises else generator.send(step))
        except Exception as error:
            return [*map(repr, log), repr(error)]
    return [*map(repr, log)]


def pick(x):
    while x:
        x -= 1
    return x


def test_jumps_lead_to_what_was_inserted():
    parts = disassemble(pick.__code__)
    target = next(one.target for one in parts.instructions if one.target is not None)
    jumps = [one for one in parts.instructions if one.target is target]
    inserted = Instruction("NOP")
    insert_before(parts, target, [inserted])
    assert jumps and all(one.target is inserted for one in jumps)


def hot(values):
    return [min(value, key=len) for value in values]


def test_in_front_of_a_call_means_in_front_of_all_of_it():
    seen = []
    code = hot.__code__
    nested = next((one for one in code.co_consts if hasattr(one, "co_code")), code)  # before 3.12
    parts = disassemble(nested)
    before = list(parts.instructions)
    for operation in read(nested).operations:
        if operation.kind in (Kind.CALL, Kind.CALL_NAMES_ON_STACK):
            insert_before(parts, before[operation.instruction], call_of(lambda: seen.append(1)))
    edited = assemble(parts)
    if nested is not code:
        edited = code.replace(co_consts=tuple(edited if one is nested else one for one in code.co_consts))
    function = FunctionType(edited, globals())
    values = [["aa", "b"]] * 200  # often enough for CPython to specialize the call
    assert function(values) == hot(values) and len(seen) == 200


def test_a_stranger_and_a_known_place_are_refused():
    parts = disassemble(pick.__code__)
    with pytest.raises(AssembleError, match="is not an instruction of pick"):
        insert_before(parts, Instruction("NOP"), [Instruction("NOP")])
    parts = disassemble(GENERATORS[0][0].__code__)
    names = [one.name for one in parts.instructions]
    behind = parts.instructions[names.index("YIELD_VALUE") + 1]
    with pytest.raises(AssembleError, match="CPython finds it by its place; insert before the "):
        insert_before(parts, behind, [Instruction("NOP")])
    with pytest.raises(AssembleError, match="CPython finds it by its place; use insert_at_start"):
        insert_before(parts, parts.instructions[names.index("RETURN_GENERATOR") + 1], [Instruction("NOP")])


def nested(log, n):
    for i in range(n):
        for j in range(i):
            log.append((i, j))
    return log


def nested_generator(log, n):
    for i in range(n):
        for j in range(i):
            log.append((yield i, j))


def nested_comprehension(log, n):
    for i in range(n):
        log.append([i + j for j in range(i)])
    return log


class Countdown:
    def __init__(self, n):
        self.n = n

    def __aiter__(self):
        return self

    async def __anext__(self):
        if not self.n:
            raise StopAsyncIteration
        self.n -= 1
        return self.n


async def asynchronous(log, n):
    for i in range(n):
        async for j in Countdown(i):
            for k in range(j):
                log.append((i, j, k))
    async for i in Countdown(n):
        for j in range(i):
            log.append((i, j))
    return log


LOOPS = [
    (nested, lambda made, log: made(log, 40)),
    (nested_generator, lambda made, log: list(made(log, 40))),
    (nested_comprehension, lambda made, log: made(log, 40)),
    (asynchronous, lambda made, log: asyncio.run(made(log, 12))),
]
NAMES = [one.__name__ for one, _ in LOOPS]


@pytest.mark.parametrize(("function", "run"), LOOPS, ids=NAMES)
def test_in_front_of_each_back_edge_runs_once_per_round(function, run):
    """Often enough for CPython to specialize the loops, the one over a generator too."""
    parts, counts = disassemble(function.__code__), {}
    for number, one in enumerate(list(parts.instructions)):
        if one.name == "JUMP_BACKWARD" and one.target.name in ("FOR_ITER", "GET_ANEXT"):
            counts[number] = []
            insert_before(parts, one, call_of(lambda number=number: counts[number].append(1)))
    log, expected = [], []
    assert run(with_parts(function, parts), log) == run(function, expected) and log == expected
    rounds = sorted(len(one) for one in counts.values())
    assert rounds and 0 not in rounds
    if function is nested:
        assert rounds == [40, 40 * 39 // 2]


@pytest.mark.parametrize(("function", "run"), LOOPS, ids=NAMES)
def test_calls_everywhere_in_loops_change_nothing(function, run):
    log, expected = [], []
    assert run(with_calls(function, lambda: None), log) == run(function, expected) and log == expected


@pytest.mark.parametrize(
    "function", [one for one, _ in (*PROGRAMS, *GENERATORS, *LOOPS)], ids=lambda one: one.__name__
)
def test_where_nothing_can_stand_the_error_names_a_place_that_can(function):
    seen = 0
    for index in range(len(function.__code__.co_code)):
        parts = disassemble(function.__code__)
        if index == len(parts.instructions):
            break
        try:
            insert_before(parts, parts.instructions[index], call_of(lambda: None))
        except AssembleError as error:
            named = re.search(r"insert before the (\w+) that follows \(instruction (\d+)\)", str(error))
            if named is None:
                assert "use insert_at_start" in str(error)
                continue
            other = parts.instructions[int(named[2])]
            assert other.name == named[1]
            insert_before(parts, other, call_of(lambda: None))
            assert verify(assemble(parts)) == []
            seen += 1
    assert seen or "END_FOR" not in KINDS or function.__name__ not in NAMES
