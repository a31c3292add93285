"""Instructions in front of others: the function does what it did, and what was inserted runs."""

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
    with pytest.raises(AssembleError, match="insert before the instruction that follows"):
        insert_before(parts, behind, [Instruction("NOP")])
