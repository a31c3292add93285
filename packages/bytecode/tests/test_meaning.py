"""The version-neutral reading: facts that must not depend on the version of CPython."""

import opcode
import sys
import types

import pytest
from bytecode_reference_rows import OPERATIONS

from framesmith.bytecode.errors import UnknownOpcode
from framesmith.bytecode.meaning import NULL_FIRST, Kind, read, stack_depths
from framesmith.bytecode.opcodes import NUMBERS
from framesmith.bytecode.operation_tables import FIXED, PASSED, RULES


def kinds(function):
    return [operation.kind for operation in read(function.__code__).operations]


def operations(function, kind):
    return [one for one in read(function.__code__).operations if one.kind is kind]


def test_every_opcode_of_this_version_has_a_row():
    special = {"CALL", "KW_NAMES", "EXTENDED_ARG", "CACHE", "INTERPRETER_EXIT", "EXIT_INIT_CHECK"}
    assert set(NUMBERS) - set(FIXED) - set(PASSED) - set(RULES) - special == set()


def test_no_opcode_has_two_rows():
    assert not set(FIXED) & set(PASSED) and not set(FIXED) & set(RULES) and not set(PASSED) & set(RULES)


def test_straight_code_reads_the_same_everywhere():
    def function(a, b):
        c = a + b
        return c < 3

    found = [kind for kind in kinds(function) if kind is not Kind.NOP]
    load, store = Kind.LOAD_LOCAL, Kind.STORE_LOCAL
    assert found == [load, load, Kind.BINARY, store, load, Kind.LOAD_CONST, Kind.COMPARE, Kind.RETURN]


def test_a_call_knows_its_keywords():
    def function(f):
        return f(1, x=2, y=3)

    found = [one for one in read(function.__code__).operations if one.kind.startswith("call")]
    if found[0].kind is Kind.CALL:
        assert found[0].argument == (3, ("x", "y"))
    else:
        assert found[0].argument == 3


def test_the_null_of_a_global_call_stands_where_the_version_wants_it():
    def function():
        return len("a")

    found = [kind for kind in kinds(function) if kind in (Kind.PUSH_NULL, Kind.LOAD_GLOBAL)]
    assert found == ([Kind.PUSH_NULL, Kind.LOAD_GLOBAL] if NULL_FIRST else [Kind.LOAD_GLOBAL, Kind.PUSH_NULL])


def test_a_for_loop_ends_after_its_iterator_is_dropped():
    def function(values):
        for value in values:
            pass
        return values

    reading = read(function.__code__)
    (loop,) = operations(function, Kind.FOR_ITER)
    assert stack_depths(reading)[loop.target] == 0
    assert reading.operations[loop.target].kind is not Kind.END_FOR


def test_handlers_are_operation_indices():
    def function(f):
        try:
            f()
        except KeyError:
            return 1

    reading = read(function.__code__)
    (call,) = [index for index, one in enumerate(reading.operations) if one.kind is Kind.CALL]
    handler = reading.handlers[call]
    assert handler is not None and reading.operations[handler.target].kind is Kind.PUSH_EXCEPTION
    assert (handler.depth, handler.push_lasti) == (0, False)


def test_closures_push_cells():
    def function(a, b):
        c = a
        return lambda: (a, b, c)

    assert [one.argument for one in operations(function, Kind.LOAD_CLOSURE)] == ["a", "b", "c"]


def test_a_free_variable_handed_on_is_a_cell():
    def outer(x):
        def middle():
            return lambda: x

        return middle

    (found,) = operations(outer(1), Kind.LOAD_CLOSURE)
    assert found.argument == "x"


def test_an_unbound_local_is_live_until_it_is_stored():
    def function(a, b):
        a = b
        while a:
            a = a - 1
        return 1

    reading = read(function.__code__)
    assert reading.live_locals(0) == {"b"}
    last = len(reading.operations) - 1
    assert reading.live_locals(last) == frozenset()


def test_what_a_handler_reads_is_live_in_the_body():
    def function(f, a):
        try:
            f()
        except KeyError:
            return a

    reading = read(function.__code__)
    (call,) = [index for index, one in enumerate(reading.operations) if one.kind is Kind.CALL]
    assert "a" in reading.live_locals(call)


def test_first_of_maps_native_instructions_to_operations():
    def function(f):
        return f(1, x=2)

    reading = read(function.__code__)
    firsts = {reading.first_operation_of(one.instruction) for one in reading.operations}
    assert all(reading.operations[first].instruction >= 0 for first in firsts)


def test_an_unknown_opcode_is_named():
    def function():
        return None

    code = function.__code__
    cache = opcode.opmap["CACHE"]
    with pytest.raises(UnknownOpcode, match=f"unknown opcode CACHE at offset {len(code.co_code) - 2}"):
        read(code.replace(co_code=code.co_code[:-2] + bytes([cache, 0])))


def test_the_reference_knows_every_kind_that_functions_use():
    left_out = {Kind.YIELD, Kind.RETURN}
    templates = {Kind.BUILD_TEMPLATE, Kind.BUILD_INTERPOLATION} if sys.version_info < (3, 14) else set()
    not_in_functions = {
        Kind.LOAD_NAME,
        Kind.STORE_NAME,
        Kind.DELETE_NAME,
        Kind.LOAD_LOCALS,
        Kind.LOAD_FROM_DICT_OR_GLOBALS,
        Kind.LOAD_CLASS_CELL,
        Kind.SETUP_ANNOTATIONS,
        Kind.IMPORT_STAR,
        Kind.PRINT_EXPR,
    }
    asynchronous = {
        Kind.GET_AWAITABLE,
        Kind.GET_ANEXT,
        Kind.END_ASYNC_FOR,
        Kind.BEFORE_ASYNC_WITH,
    }
    assert set(Kind) - set(OPERATIONS) == left_out | not_in_functions | asynchronous | templates


def test_a_class_body_reads():
    code = compile(
        "from __future__ import annotations\nclass A:\n    x: int = 1\n    def f(self): return __class__\n",
        "a.py",
        "exec",
    )
    body = next(one for one in code.co_consts if isinstance(one, types.CodeType))
    found = {one.kind for one in read(body).operations}
    assert {Kind.LOAD_NAME, Kind.STORE_NAME, Kind.SETUP_ANNOTATIONS, Kind.LOAD_CLOSURE} <= found
