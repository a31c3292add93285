"""What the emitter writes, run."""

import sys
from types import CellType, FunctionType

import pytest

from framesmith.bytecode import disassemble, insert_before, read
from framesmith.bytecode.assemble import assemble
from framesmith.bytecode.code_parts import CodeParts
from framesmith.bytecode.emitter import Emitter
from framesmith.bytecode.emitting import (
    blocks,
    calls,
    containers,
    imports,
    jumps,
    operators,
    stack,
    variables,
)
from framesmith.bytecode.errors import AssembleError
from framesmith.bytecode.instruction import Position
from framesmith.bytecode.opcodes import backward_name
from framesmith.bytecode.verify import verify


def emitter(*names, cells=(), free=(), flags=3):
    parts = CodeParts("f", "f", "made.py", argcount=len(names), varnames=list(names), flags=flags)
    parts.cellvars, parts.freevars = list(cells), list(free)
    made = Emitter(parts)
    made.position = Position(1, 1, 0, 1)
    calls.begin_function(made)
    return made


def run(made, *args, closure=(), scope=None):
    code = assemble(made.finish())
    assert verify(code) == []
    return FunctionType(code, {"sys": sys, **(scope or {})}, closure=tuple(closure))(*args)


def load_all(made, names):
    for name in names:
        variables.load(made, name)


def result(made, n):
    containers.build_tuple(made, n)
    calls.return_value(made)


@pytest.mark.parametrize("n", range(1, 8))
def test_rotations_of_any_depth(n):
    names = "abcdefg"[:n]
    for rearrange, expected in (
        (stack.sink, names[-1:] + names[:-1]),
        (stack.lift, names[1:] + names[:1]),
        (stack.reverse, names[::-1]),
        (stack.swap, names[-1:] + names[1:-1] + names[:1] if n > 1 else names),
    ):
        made = emitter(*names)
        load_all(made, names)
        rearrange(made, n)
        result(made, n)
        assert "".join(run(made, *names)) == expected, rearrange


def test_calls_with_positions_and_keywords():
    made = emitter("f")
    calls.before_callable(made)
    variables.load(made, "f")
    calls.after_callable(made)
    for value in (1, 2, 3):
        variables.load_constant(made, value)
    calls.call(made, 3, ("b", "c"))
    calls.return_value(made)
    assert run(made, lambda a, *, b, c: (a, b, c)) == (1, 2, 3)


def test_a_callable_on_the_stack_can_be_made_ready():
    made = emitter("f", "x")
    variables.load(made, "f")
    calls.make_callable(made)
    variables.load(made, "x")
    calls.call(made, 1)
    variables.load(made, "f")
    load_all(made, "x")
    calls.make_callable_below(made, 1)
    calls.call(made, 1)
    variables.load(made, "x")
    variables.load(made, "x")
    calls.call_constant(made, max, 2)
    result(made, 3)
    assert run(made, lambda x: x + 1, 4) == (5, 5, 4)


def test_extended_calls_methods_and_globals():
    made = emitter("a", "k")
    calls.load_global_callable(made, "dict")
    load_all(made, "ak")
    calls.call_extended(made, True)
    variables.load_constant(made, "x-y")
    calls.load_method(made, "split")
    variables.load_constant(made, "-")
    calls.call(made, 1)
    result(made, 2)
    assert run(made, ({"q": 1},), {"z": 2}) == ({"q": 1, "z": 2}, ["x", "y"])


def test_super_attributes():
    class Base:
        word = "base"

    class Derived(Base):
        word = "derived"

    made = emitter("c", "o")
    variables.load_global(made, "super")
    load_all(made, "co")
    calls.load_super_attribute(made, "word")
    calls.return_value(made)
    assert run(made, Derived, Derived()) == "base"


def test_closures_share_their_cells():
    inner = emitter(free=["x"])
    variables.load(inner, "x")
    calls.return_value(inner)
    code = assemble(inner.finish())
    made = emitter("x", cells=["x"])
    variables.load_constant(made, (5,))
    calls.make_function(made, code, defaults=True)
    variables.load_constant(made, "later")
    variables.store(made, "x")
    calls.return_value(made)
    function = run(made, "now")
    assert function.__defaults__ == (5,)
    function.__defaults__ = None
    assert function() == "later"


def test_free_variables_come_with_the_closure():
    made = emitter(free=["x"])
    variables.load(made, "x")
    variables.delete(made, "x")
    calls.return_value(made)
    cell = CellType(7)
    assert run(made, closure=[cell]) == 7 and cell == CellType()


def test_attributes_items_and_slices():
    made = emitter("o", "l")
    variables.load_constant(made, 3)
    variables.load(made, "o")
    variables.store_attribute(made, "x")
    variables.load(made, "o")
    variables.load_attribute(made, "x")
    variables.load(made, "l")
    for value in (1, 3):
        variables.load_constant(made, value)
    variables.load_slice(made)
    load_all(made, "l")
    variables.load_constant(made, 0)
    variables.delete_item(made)
    variables.load_constant(made, "new")
    load_all(made, "l")
    variables.load_constant(made, 0)
    variables.store_item(made)
    load_all(made, "l")
    variables.load_constant(made, 0)
    variables.load_item(made)
    load_all(made, "o")
    variables.delete_attribute(made, "x")
    result(made, 3)
    thing = type("Thing", (), {})()
    assert run(made, thing, [1, 2, 3, 4]) == (3, [2, 3], "new")
    assert not hasattr(thing, "x")


def test_containers_and_strings():
    made = emitter("v")
    variables.load_constant(made, 1)
    variables.load_constant(made, 2)
    containers.build_dict_of(made, ("a", "b"))
    containers.build_list(made, 0)
    variables.load(made, "v")
    containers.append(made)
    variables.load_constant(made, (8, 9))
    containers.extend(made)
    containers.list_to_tuple(made)
    variables.load(made, "v")
    variables.load_constant(made, ">6")
    containers.format_value(made, "r", with_spec=True)
    variables.load(made, "v")
    containers.format_value(made)
    containers.join_strings(made, 2)
    variables.load_constant(made, (1, 2, 3, 4))
    containers.unpack_starred(made, 1, 1)
    result(made, 6)
    assert run(made, "x") == ({"a": 1, "b": 2}, ("x", 8, 9), "   'x'x", 4, [2, 3], 1)


def test_imports():
    made = emitter()
    imports.import_module(made, "os.path", names=("join",))
    imports.import_from(made, "join")
    stack.swap(made)
    stack.pop(made)
    calls.return_value(made)
    assert run(made).__name__ == "join"


def test_operators():
    made = emitter("a", "b")
    for symbol in ("+", "-", "<<", "%", "+="):
        load_all(made, "ab")
        operators.binary(made, symbol)
    for symbol in ("<", "<=", "==", "!=", ">", ">=", "is", "is not"):
        load_all(made, "ab")
        operators.compare(made, symbol)
    for symbol in ("-", "~", "+", "not"):
        load_all(made, "a")
        operators.unary(made, symbol)
    result(made, 17)
    comparisons = (False, False, False, True, True, True, False, True)
    assert run(made, 7, 2) == (9, 5, 28, 1, 9, *comparisons, -7, -8, 7, False)


def test_loops():
    made = emitter("values", "limit")
    containers.build_list(made, 0)
    variables.store(made, "found")
    variables.load(made, "values")
    with blocks.for_loop(made) as loop:
        stack.copy(made)
        variables.load(made, "limit")
        operators.compare(made, "<")
        go_on = made.label()
        jumps.jump_if(made, True, go_on)
        stack.pop(made)
        blocks.leave_for_loop(made, loop)
        made.place_label(go_on)
        variables.load(made, "found")
        stack.swap(made)
        containers.append(made)
        stack.pop(made)
    variables.load(made, "found")
    calls.return_value(made)
    code = assemble(made.finish())
    assert verify(code) == []
    assert FunctionType(code, {})([1, 2, 9, 3], 5) == [1, 2]
    assert FunctionType(code, {})([1, 2], 5) == [1, 2]


def write_call(made, name, *values):
    calls.before_callable(made)
    variables.load(made, name)
    calls.after_callable(made)
    for value in values:
        variables.load_constant(made, value)
    calls.call(made, len(values))
    stack.pop(made)


@pytest.mark.parametrize("kind", [None, ValueError, KeyError])
def test_try_except(kind):
    made = emitter("body", "handler")
    blocks.try_except(
        made,
        lambda: write_call(made, "body"),
        kind=None if kind is None else lambda: variables.load_constant(made, kind),
        handler=lambda: write_call(made, "handler"),
        name="error",
    )
    variables.load_constant(made, "after")
    calls.return_value(made)
    seen = []

    def body():
        raise ValueError("v")

    def handler():
        seen.append(repr(sys.exc_info()[1]))

    if kind is KeyError:
        with pytest.raises(ValueError):
            run(made, body, handler)
        assert seen == []
    else:
        assert run(made, body, handler) == "after"
        assert seen == ["ValueError('v')"]
    assert sys.exc_info()[1] is None


def test_an_exception_in_a_handler_has_its_context():
    made = emitter("body", "handler")
    blocks.try_except(
        made, lambda: write_call(made, "body"), kind=None, handler=lambda: write_call(made, "handler")
    )
    variables.load_constant(made, None)
    calls.return_value(made)

    def fail(error):
        def function():
            raise error

        return function

    with pytest.raises(KeyError) as caught:
        run(made, fail(ValueError("v")), fail(KeyError("k")))
    assert isinstance(caught.value.__context__, ValueError)
    assert sys.exc_info()[1] is None


@pytest.mark.parametrize("fails", [False, True])
def test_try_finally(fails):
    made = emitter("body", "last")
    blocks.try_finally(made, lambda: write_call(made, "body", fails), lambda: write_call(made, "last", 1))
    variables.load_constant(made, "after")
    calls.return_value(made)
    seen = []

    def body(fail):
        if fail:
            raise ValueError("v")

    if fails:
        with pytest.raises(ValueError):
            run(made, body, seen.append)
    else:
        assert run(made, body, seen.append) == "after"
    assert seen == [1]


class Manager:
    def __init__(self, swallow):
        self.swallow, self.seen = swallow, []

    def __enter__(self):
        self.seen.append("enter")
        return self

    def __exit__(self, kind, error, traceback):
        self.seen.append(kind)
        return self.swallow


@pytest.mark.parametrize(("swallow", "fails"), [(False, False), (False, True), (True, True)])
def test_with_blocks(swallow, fails):
    made = emitter("manager", "body")

    def body():
        variables.store(made, "entered")
        write_call(made, "body", fails)

    variables.load(made, "manager")
    blocks.with_block(made, body)
    variables.load(made, "entered")
    calls.return_value(made)
    manager = Manager(swallow)

    def function(fail):
        if fail:
            raise ValueError("v")

    if fails and not swallow:
        with pytest.raises(ValueError):
            run(made, manager, function)
    else:
        assert run(made, manager, function) is manager
    assert manager.seen == ["enter", ValueError if fails else None]


def test_a_label_reached_at_two_depths_is_refused():
    made = emitter("x")
    label = made.label()
    variables.load(made, "x")
    jumps.jump_if(made, True, label)
    variables.load(made, "x")
    with pytest.raises(AssembleError, match="depth 1, not 0"):
        made.place_label(label)


def test_popping_an_empty_stack_is_refused():
    with pytest.raises(AssembleError, match="f: POP_TOP takes 1 slots of a stack of 0"):
        stack.pop(emitter())


@pytest.mark.parametrize("wanted", [True, False])
def test_a_conditional_jump_leads_back(wanted):
    """`n -= 1` until its truth is no longer `wanted`, at once where it is not."""
    made = emitter("n")
    again = made.label()
    made.place_label(again)
    variables.load(made, "n")
    variables.load_constant(made, 1)
    operators.binary(made, "-")
    variables.store(made, "n")
    variables.load(made, "n")
    jumps.jump_if(made, wanted, again)
    load_all(made, "n")
    calls.return_value(made)
    assert run(made, 5) == (0 if wanted else 4)


@pytest.mark.parametrize("wanted", [True, False])
def test_a_jump_by_none_leads_back(wanted):
    made = emitter("get")
    again = made.label()
    made.place_label(again)
    variables.load(made, "get")
    calls.make_callable(made)
    calls.call(made, 0)
    jumps.jump_if_none(made, wanted, again)
    load_all(made, ["get"])
    calls.return_value(made)
    left = [None, None, 1, None]
    run(made, lambda: left.pop(0))
    assert left == ([None] if wanted else [None, 1, None])


def countdown(n):
    seen = 0
    while n > 0:
        n -= 1
        seen += 1
    return n, seen


LAST = countdown.__code__.co_firstlineno + 5


def test_a_conditional_jump_that_is_inserted_leads_back():
    parts = disassemble(countdown.__code__)
    before = list(parts.instructions)
    store = [one for one in parts.instructions if one.name == "STORE_FAST" and one.argument == "seen"]
    start = parts.instructions[parts.instruction_indices()[store[0]] + 1]
    made = Emitter.within(parts)
    variables.load(made, "n")
    jumps.jump_if(made, True, start)
    # `return n, seen`, at whose first instruction the stack is empty
    last = next(one for one in read(countdown.__code__).operations if one.position.line == LAST)
    insert_before(parts, before[last.instruction], made.instructions)
    code = assemble(parts)
    assert verify(code) == []
    assert FunctionType(code, {})(3) == (0, 3)


def test_a_conditional_jump_written_by_hand_that_cannot_lead_back_says_how():
    if backward_name("POP_JUMP_FORWARD_IF_TRUE"):
        pytest.skip("3.11 has conditional jumps in both directions")
    made = emitter("n")
    again = made.label()
    made.place_label(again)
    variables.load(made, "n")
    made.emit("POP_JUMP_IF_NONE", None, again)
    variables.load(made, "n")
    calls.return_value(made)
    with pytest.raises(
        AssembleError, match="cannot jump back to .*: lead it to a JUMP_BACKWARD further on, or let"
    ):
        assemble(made.finish())
