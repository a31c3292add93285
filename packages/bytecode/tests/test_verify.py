"""The verifier finds what would crash CPython."""

import inspect
import opcode
import re

import pytest

from framesmith.bytecode.assemble import assemble
from framesmith.bytecode.code_parts import CodeParts
from framesmith.bytecode.disassemble import disassemble
from framesmith.bytecode.emitter import Emitter
from framesmith.bytecode.emitting import calls, containers, stack, variables
from framesmith.bytecode.errors import AssembleError
from framesmith.bytecode.instruction import ExceptionRegion, Instruction
from framesmith.bytecode.opcodes import KINDS, VERSION, ArgumentKind
from framesmith.bytecode.verify import verify, verify_parts


def sample(x, y):
    for i in x:
        try:
            y(i)
        except ValueError:
            return i
    return y


def parts():
    return disassemble(sample.__code__)


def checks(broken):
    return {problem.check for problem in verify_parts(broken)}


def test_compiled_code_is_sound():
    assert verify(sample.__code__) == []


def test_a_missing_pop_is_found():
    broken = parts()
    broken.instructions = [one for one in broken.instructions if one.name != "POP_TOP"]
    # In 3.13 the loop lacks one too.
    assert checks(broken) in ({"depth"}, {"flow", "depth"})


def test_an_empty_stack_is_found():
    broken = parts()
    broken.instructions.insert(1, Instruction("POP_TOP"))
    (problem,) = verify_parts(broken)
    assert problem.check == "depth" and "empty stack" in problem.message


@pytest.mark.parametrize(
    ("names", "message"),
    [
        (["RETURN_VALUE"], "RETURN_VALUE takes 1 slots of a stack of 0"),
        (
            ["LOAD_CONST", "BINARY_OP", "LOAD_CONST", "RETURN_VALUE"],
            "BINARY_OP takes 2 slots of a stack of 1",
        ),
        (["LOAD_CONST", "RERAISE 1"], "RERAISE takes 2 slots of a stack of 1"),
        (["LOAD_CONST", "SWAP 5", "RETURN_VALUE"], "SWAP takes 5 slots of a stack of 1"),
        (["LOAD_CONST", "COPY 5", "RETURN_VALUE"], "COPY takes 5 slots of a stack of 1"),
        (["LOAD_CONST", "STORE_ATTR", "LOAD_CONST", "RETURN_VALUE"], "pops an empty stack"),
        (["LOAD_CONST", "UNPACK_EX", "RETURN_VALUE"], ""),
    ],
)
def test_operands_that_are_not_there_are_found(names, message):
    """Also where the depth itself never gets below nothing."""
    broken = disassemble((lambda: None).__code__)
    broken.instructions = [Instruction("RESUME", 0)]
    for name, _, number in (one.partition(" ") for one in names):
        argument = {"LOAD_CONST": None, "BINARY_OP": "+", "STORE_ATTR": "a", "UNPACK_EX": 0}.get(name)
        broken.instructions.append(Instruction(name, int(number) if number else argument))
    found = verify_parts(broken)
    assert [one.check for one in found] == (["depth"] if message else [])
    assert all(message in one.message for one in found)


def test_a_number_that_is_none_is_found():
    broken = parts()
    broken.instructions.insert(1, Instruction("BUILD_LIST"))
    assert "argument" in checks(broken)


@pytest.mark.parametrize(
    ("name", "sound", "broken"),
    [
        ("LOAD_SMALL_INT", (0, 255), (-1, 256, 1000, 100_000, None, "1")),
        ("CONVERT_VALUE", (1, 3), (0, 4, 4000)),
        ("FORMAT_VALUE", (0, 7), (8, 4000)),
        ("BUILD_SLICE", (2, 3), (0, 1, 4)),
        ("RAISE_VARARGS", (0, 1, 2), (3,)),
        ("CONTAINS_OP", (0, 1), (2,)),
    ],
)
def test_numbers_that_the_interpreter_does_not_check_are_found(name, sound, broken):
    """Each is an index, or a choice, with which it reads memory of its own."""
    if name not in opcode.opmap:
        name, sound, broken = "IS_OP", (0, 1), (2, -1)  # this Python has no such instruction
    for argument in (*sound, *broken):
        edited = disassemble((lambda: None).__code__)
        edited.instructions.insert(1, Instruction(name, argument))
        assert ("argument" in checks(edited)) is (argument in broken)
        if argument in broken:
            with pytest.raises(AssembleError, match=f"{name} at 1 has {argument!r}, not {sound[0]} to"):
                assemble(edited)


@pytest.mark.parametrize("name", ["COPY", "SWAP", "LIST_APPEND", "SET_ADD", "MAP_ADD", "LIST_EXTEND"])
@pytest.mark.parametrize("number", [0, -1, None])
def test_slots_are_counted_from_one(name, number):
    edited = disassemble((lambda: None).__code__)
    edited.instructions.insert(1, Instruction(name, number))
    (problem,) = verify_parts(edited)
    assert f"{name} at 1 has {number}, not 1 or more" in problem.message


@pytest.mark.parametrize("name", ["SET_UPDATE", "DICT_UPDATE", "DICT_MERGE"])
def test_containers_are_below_what_is_put_into_them(name):
    test_slots_are_counted_from_one(name, 0)


@pytest.mark.skipif("SET_FUNCTION_ATTRIBUTE" not in opcode.opmap, reason="MAKE_FUNCTION has the flags")
@pytest.mark.parametrize("number", [0, 3, 32, 200])
def test_a_function_has_no_attribute_of_this_number(number):
    """It is the index into a table of the places where the attributes are."""
    edited = disassemble((lambda: None).__code__)
    edited.instructions.insert(1, Instruction("SET_FUNCTION_ATTRIBUTE", number))
    (problem,) = verify_parts(edited)
    assert f"has {number}, not one of 1, 2, 4, 8" in problem.message


@pytest.mark.skipif("BUILD_INTERPOLATION" not in opcode.opmap, reason="template strings came with 3.14")
def test_a_conversion_that_there_is_not_is_found():
    edited = disassemble((lambda: None).__code__)
    edited.instructions[1:1] = [Instruction("LOAD_CONST", "x"), Instruction("LOAD_CONST", "x")]
    edited.instructions.insert(3, Instruction("BUILD_INTERPOLATION", 16))
    assert "argument" in checks(edited)


NO_SUBSCRIPT = pytest.mark.skipif("BINARY_SUBSCR" not in opcode.opmap, reason="the operator is there")
NO_DEFAULTS = pytest.mark.skipif(VERSION != (3, 12), reason="3.11 has no intrinsics, 3.13 has this one")
INTRINSICS = pytest.mark.skipif("CALL_INTRINSIC_2" not in opcode.opmap, reason="no intrinsics")


@pytest.mark.parametrize(
    ("name", "word"),
    [
        pytest.param("BINARY_OP", "[]", marks=NO_SUBSCRIPT),
        ("BINARY_OP", "=+"),
        pytest.param("CALL_INTRINSIC_2", "SET_TYPEPARAM_DEFAULT", marks=NO_DEFAULTS),
        pytest.param("CALL_INTRINSIC_1", "INVALID", marks=INTRINSICS),
        pytest.param("CALL_INTRINSIC_2", "INVALID", marks=INTRINSICS),
    ],
)
def test_what_this_python_cannot_compute_is_found(name, word):
    """It is an index into a table of functions."""
    edited = disassemble((lambda: None).__code__)
    edited.instructions.insert(1, Instruction(name, word))
    assert checks(edited) == {"argument"}
    with pytest.raises(AssembleError, match=re.escape(f"{name} at 1 cannot take {word!r}")):
        assemble(edited)


def test_a_jump_out_of_the_code_is_found():
    broken = parts()
    jump = next(one for one in broken.instructions if one.target is not None)
    jump.target = Instruction("NOP")
    (problem,) = verify_parts(broken)
    assert problem.check == "jump" and "-->" in str(problem)


def test_a_region_out_of_the_code_is_found():
    broken = parts()
    broken.regions[0].target = Instruction("NOP")
    assert checks(broken) == {"region"}


def test_a_region_deeper_than_its_code_is_found():
    broken = parts()
    first = broken.instructions[0]
    old = broken.regions[0]
    broken.regions.insert(
        0, ExceptionRegion(first, broken.instructions[1], old.target, old.depth, old.push_lasti)
    )
    assert "region" in checks(broken)


def test_unknown_names_are_found():
    broken = parts()
    broken.instructions.insert(1, Instruction("LOAD_FAST", "nowhere"))
    broken.instructions.insert(2, Instruction("LOAD_DEREF", "x"))
    assert "name" in checks(broken)


def test_falling_off_the_end_is_found():
    broken = parts()
    broken.instructions.append(Instruction("NOP"))
    broken.instructions[0].name = "NOP"
    last = next(index for index, one in enumerate(broken.instructions) if one.name == "RETURN_VALUE")
    del broken.instructions[last + 1 :]
    broken.instructions[last] = Instruction("NOP")
    broken.regions = []
    for one in broken.instructions:
        one.target = broken.instructions[-1] if one.target is not None else None
    assert checks(broken) & {"flow", "depth"}


def test_a_stack_that_is_too_small_is_found():
    broken = sample.__code__.replace(co_stacksize=1)
    assert [problem.check for problem in verify(broken)] == ["stacksize"]


def test_damaged_bytes_are_found():
    raw = bytearray(sample.__code__.co_code)
    raw[-2] = opcode.opmap["JUMP_FORWARD"]
    raw[-1] = 255
    assert [problem.check for problem in verify(sample.__code__.replace(co_code=bytes(raw)))] == ["readable"]


def test_a_null_used_as_a_value_is_found():
    broken = parts()
    broken.instructions[1:] = [Instruction("PUSH_NULL"), Instruction("RETURN_VALUE")]
    broken.regions = []
    assert checks(broken) == {"null"}


def test_a_wrong_argument_count_is_found():
    broken = parts()
    broken.argcount = 9
    assert checks(broken) == {"signature"}


def test_the_generator_flag_has_to_fit():
    broken = parts()
    broken.flags |= 0x20
    assert checks(broken) == {"flow"}


def emitted(write, flags=3, locals=("a",)):
    """What a function writes into a new function of one argument."""
    made = CodeParts("f", "f", "f.py", argcount=1, flags=flags, varnames=list(locals))
    emitter = Emitter(made)
    calls.begin_function(emitter)
    write(emitter)
    variables.load_constant(emitter, None)
    calls.return_value(emitter)
    return made


def give(emitter):
    variables.load(emitter, "a")
    emitter.emit("YIELD_VALUE", None if KINDS["YIELD_VALUE"] is ArgumentKind.NONE else 1)
    emitter.emit("RESUME", 1)
    stack.pop(emitter)


def test_a_yield_outside_of_a_generator_is_found():
    assert verify_parts(emitted(give, flags=3 | inspect.CO_GENERATOR)) == []
    (problem,) = verify_parts(emitted(give))
    assert problem.check == "flow" and "set CO_GENERATOR in the flags" in problem.message
    assert problem.surroundings.count("--> ") == 1 and "YIELD_VALUE" in problem.surroundings
    assert [one.check for one in verify(assemble(emitted(give)))] == ["flow"]


def test_a_yield_in_front_of_what_makes_the_generator_is_found():
    late = emitted(give, flags=3 | inspect.CO_GENERATOR)
    makes = [one for one in late.instructions if one.name in ("RETURN_GENERATOR", "POP_TOP")][:2]
    late.instructions = [one for one in late.instructions if one not in makes]
    late.instructions[-2:-2] = makes
    assert "no RETURN_GENERATOR has made a generator" in verify_parts(late)[0].message


@pytest.mark.skipif(VERSION >= (3, 15), reason="from 3.15 on its error names no callable")
def test_a_merge_needs_the_callable_that_its_error_names():
    def merge(slots):
        def write(emitter):
            for _ in range(slots):
                variables.load_constant(emitter, None)
            containers.build_dict(emitter, 0)
            variables.load(emitter, "a")
            emitter.emit("DICT_MERGE", 1)
            for _ in range(slots + 1):
                stack.pop(emitter)

        return emitted(write)

    needed = 2 if VERSION < (3, 13) else 3
    assert verify_parts(merge(needed)) == []
    (problem,) = verify_parts(merge(needed - 1))
    assert f"DICT_MERGE takes {needed + 2} slots of a stack of {needed + 1}" in problem.message


def named_call(names, count=2, between=()):
    """A call with these names of keywords, as it is written by hand."""

    def write(emitter):
        calls.load_global_callable(emitter, "print")
        for number in range(count):
            variables.load_constant(emitter, number)
        if "KW_NAMES" in KINDS:
            emitter.parts.instructions.append(Instruction("KW_NAMES", names))
        else:
            variables.load_constant(emitter, names)
        for one in between:
            emitter.emit(one)
        if "PRECALL" in KINDS:
            emitter.emit("PRECALL", count)
        emitter.emit("CALL" if "KW_NAMES" in KINDS else "CALL_KW", count)
        stack.pop(emitter)

    return emitted(write)


@pytest.mark.parametrize(
    ("names", "message"),
    [
        (("x", "y", "z"), "has 3 names ('x', 'y', 'z') for 2 arguments"),
        (("x", "x"), "has the name 'x' twice among ('x', 'x')"),
        ("xy", "has 'xy' where a tuple of names belongs"),
        (("x", 1), "has ('x', 1) where a tuple of names belongs"),
        (None, "has None where a tuple of names belongs"),
    ],
)
def test_wrong_names_of_keywords_are_found(names, message):
    (problem,) = verify_parts(named_call(names))
    assert problem.check == "argument" and message in problem.message
    assert [one.message for one in verify(assemble(named_call(names)))] == [problem.message]


def test_names_of_some_of_the_arguments_are_sound():
    assert verify_parts(named_call(("x",))) == [] and verify_parts(named_call(("x", "y"))) == []


@pytest.mark.skipif("KW_NAMES" not in KINDS, reason="the names are on the stack")
def test_names_without_their_call_are_found():
    assert verify_parts(named_call(("x",), between=["NOP"])) == []
    (problem,) = verify_parts(named_call(("x",), between=["PUSH_NULL", "POP_TOP"]))
    assert "KW_NAMES is not followed by its CALL" in problem.message


@pytest.mark.skipif("PRECALL" not in KINDS, reason="3.11 alone calls in two steps")
def test_the_two_halves_of_a_call_have_one_count():
    broken = named_call((), 1)
    next(one for one in broken.instructions if one.name == "PRECALL").argument = 0
    (problem,) = verify_parts(broken)
    assert "PRECALL 0 is followed by CALL 1" in problem.message


@pytest.mark.parametrize(
    ("name", "number", "below", "belongs"),
    [
        ("MAKE_FUNCTION", 0, 0, "a code object"),
        ("MATCH_CLASS", 0, 2, "a tuple of names"),
        ("BUILD_CONST_KEY_MAP", 1, 1, "a tuple of 1 keys"),
    ],
)
@pytest.mark.parametrize("constant", [3, (1, 2)])
def test_a_constant_that_is_not_what_cpython_takes_it_for_is_found(name, number, below, belongs, constant):
    if name not in KINDS:
        pytest.skip("this Python has no such instruction")

    def write(emitter):
        for value in (*[None] * below, constant):
            variables.load_constant(emitter, value)
        emitter.emit(name, number)
        stack.pop(emitter)

    (problem,) = verify_parts(emitted(write))
    assert f"{name} has {constant!r} where {belongs} belongs" in problem.message


@pytest.mark.parametrize("name", ["NO_SUCH_THING", "CACHE"])
def test_assembling_an_unknown_instruction_names_it(name):
    broken = parts()
    broken.instructions.insert(1, Instruction(name))
    assert checks(broken) == {"opcode"}
    with pytest.raises(AssembleError, match=f"no instruction '{name}' in this version"):
        assemble(broken)


def returns_a_closure(a, b):
    def inner(c):
        return a + b + c

    return inner


def keeps_no_closure(a):
    def inner(c):
        return c

    return inner


@pytest.mark.parametrize("count", [0, 1, 3])
def test_a_closure_has_a_cell_for_each_free_variable(count):
    """CPython copies as many cells as the code has free variables, whatever the closure holds."""
    assert verify_parts(disassemble(returns_a_closure.__code__)) == []
    edited = disassemble(returns_a_closure.__code__)
    place, built = next(
        (index, one) for index, one in enumerate(edited.instructions) if one.name == "BUILD_TUPLE"
    )
    cell = edited.instructions[place - 1]
    edited.instructions[place - 2 : place] = [Instruction(cell.name, cell.argument) for _ in range(count)]
    built.argument = count
    (problem,) = verify_parts(edited)
    assert f"a closure of {count} to inner, of the free variables ('a', 'b')" in problem.message


def test_code_with_free_variables_needs_a_closure():
    edited = disassemble(keeps_no_closure.__code__)
    loads = next(one for one in edited.instructions if getattr(one.argument, "co_name", None) == "inner")
    loads.argument = returns_a_closure(1, 2).__code__
    (problem,) = verify_parts(edited)
    assert "no closure to inner, of the free variables ('a', 'b')" in problem.message
