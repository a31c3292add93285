"""What cannot be written is an error where it is written, which names the value and what to pass."""

import contextlib
import inspect
import re

import pytest

from framesmith.bytecode import AssembleError, CodeParts, Emitter, Instruction, disassemble
from framesmith.bytecode.emitting import (
    calls,
    containers,
    imports,
    jumps,
    operators,
    stack,
    variables,
)
from framesmith.bytecode.opcodes import KINDS


def begun(depth=4):
    """An emitter with that many values on the stack."""
    made = Emitter(CodeParts("f", "f", "f.py", argcount=2, varnames=["width", "height"], cellvars=["kept"]))
    for _ in range(depth):
        variables.load(made, "width")
    return made


REFUSED = [
    (lambda e: operators.binary(e, "=+"), "binary() got '=+', which is no binary operator; pass one of +, &"),
    (lambda e: operators.binary(e, "[]"), "binary() got '[]', which is no binary operator; pass one of +, &"),
    (
        lambda e: operators.unary(e, "!"),
        "unary() got '!', which is no unary operator; pass one of -, ~, +, not",
    ),
    (lambda e: operators.compare(e, "=<"), "compare() got '=<', which is no comparison; pass one of <, <="),
    (lambda e: operators.compare(e, None), "compare() got None, which is no comparison; pass one of <, <="),
    (lambda e: operators.compare(e, []), "compare() got [], which is no comparison; pass one of <, <="),
    (lambda e: containers.format_value(e, "z"), "got 'z', which is no conversion; pass one of '', s, r, a"),
    (lambda e: containers.build_list(e, -1), "f: BUILD_LIST cannot take -1: 0 or more belongs there"),
    (lambda e: containers.build_tuple(e, 5), "f: BUILD_TUPLE takes 5 slots of a stack of 4"),
    (lambda e: containers.build_slice(e, 1), "f: BUILD_SLICE cannot take 1: 2 to 3 belongs there"),
    (lambda e: containers.append(e, 0), "f: LIST_APPEND cannot take 0: 1 or more belongs there"),
    (lambda e: containers.append(e, 9), "f: LIST_APPEND takes 10 slots of a stack of 4"),
    (lambda e: containers.update(e, 0), "f: DICT_UPDATE cannot take 0: 1 or more belongs there"),
    (lambda e: containers.unpack(e, -1), "f: UNPACK_SEQUENCE cannot take -1: 0 or more belongs there"),
    (lambda e: containers.unpack_starred(e, 300, 2), "unpack_starred() got 300; pass 0 to 255"),
    (lambda e: containers.unpack_starred(e, 1, -1), "unpack_starred() got -1; pass 0 or more"),
    (lambda e: stack.copy(e, 0), "f: COPY cannot take 0: 1 or more belongs there"),
    (lambda e: stack.copy(e, 5), "f: COPY takes 5 slots of a stack of 4"),
    (lambda e: stack.swap(e, 0), "swap() got 0; pass 1 or more"),
    (lambda e: stack.swap(e, 9), "f: SWAP takes 9 slots of a stack of 4"),
    (lambda e: stack.sink(e, 0), "sink() got 0; pass 1 or more"),
    (lambda e: stack.lift(e, -2), "lift() got -2; pass 1 or more"),
    (lambda e: stack.reverse(e, -1), "reverse() got -1; pass 0 or more"),
    (lambda e: calls.call(e, -1), "call() got -1; pass 0 or more"),
    (lambda e: calls.call(e, 3), "CALL takes 5 slots of a stack of 4"),
    (lambda e: calls.call_constant(e, print, -1), "call_constant() got -1; pass 0 or more"),
    (lambda e: calls.make_callable_below(e, -1), "make_callable_below() got -1; pass 0 or more"),
    (lambda e: calls.call(e, 1, ("x", "y")), "call() got 2 names ('x', 'y') for 1 arguments: each names one"),
    (lambda e: calls.call(e, 2, ("x", "x")), "call() got the name 'x' twice among ('x', 'x')"),
    (
        lambda e: calls.load_closure(e, ("kep",)),
        "'kep' is no cell or free variable of f; did you mean 'kept'?",
    ),
    (lambda e: imports.import_module(e, "a", level=-1), "import_module() got -1; pass 0 or more"),
    (lambda e: variables.load(e, 3), "f: LOAD_GLOBAL cannot take (3, 0): a pair of name and flags"),
    (lambda e: variables.load_attribute(e, 3), "f: LOAD_ATTR cannot take "),
    (lambda e: variables.store_attribute(e, None), "f: STORE_ATTR cannot take None: a name belongs there"),
    (lambda e: e.emit("LOAD_FAST"), "f: LOAD_FAST cannot take None: a name belongs there"),
    (lambda e: e.emit("BINARY_OP", "plus"), "f: BINARY_OP cannot take 'plus': one of +, &"),
    (
        lambda e: e.emit("COMPARE_OP", ("=<", 0)),
        "cannot take ('=<', 0): a pair of one of <, <=, ==, !=, >, >=",
    ),
    (lambda e: e.emit("COMPARE_OP", "<"), "cannot take '<': a pair of one of <, <=, ==, !=, >, >= and flags"),
]
WRONG_TYPES = [
    (lambda e: calls.call(e, "1"), "call() got '1', which is no number; pass 0 or more"),
    (lambda e: calls.call(e, 2, "xy"), "call() got 'xy', which is no tuple of names; pass ('xy',)"),
    (
        lambda e: calls.call(e, 2, ("x", 1)),
        "call() got ('x', 1), which is no tuple of names; pass a tuple of",
    ),
    (lambda e: calls.make_function(e, begun), "make_function() got <function begun at "),
    (
        lambda e: calls.load_closure(e, "kept"),
        "load_closure() got 'kept', which is no sequence of names; pass",
    ),
    (
        lambda e: containers.build_dict_of(e, "ab"),
        "build_dict_of() got 'ab', which is no tuple of keys; pass",
    ),
    (lambda e: imports.import_module(e, "a", names="b"), "got 'b', which is no tuple of names; pass ('b',)"),
    (
        lambda e: jumps.jump(e, "end"),
        "JUMP_FORWARD of f got 'end', which is no label; pass what label() gave",
    ),
    (lambda e: stack.swap(e, None), "swap() got None, which is no number; pass 1 or more"),
]


@pytest.mark.parametrize(
    ("write", "message", "kind"),
    [(*row, AssembleError) for row in REFUSED] + [(*row, TypeError) for row in WRONG_TYPES],
)
def test_what_cannot_be_written_is_refused_at_its_line(write, message, kind):
    with pytest.raises(kind, match=re.escape(message)):
        write(begun())


@pytest.mark.parametrize("write", [one for one, _ in REFUSED if "e.emit(" in inspect.getsource(one)])
def test_an_instruction_that_is_refused_is_not_written(write):
    made = begun()
    before = list(made.instructions)
    with pytest.raises(AssembleError):
        write(made)
    assert made.instructions == before and made.depth == 4


FUNCTIONS = [
    (module.__name__.rpartition(".")[2], name)
    for module in (calls, containers, imports, jumps, operators, stack, variables)
    for name, one in vars(module).items()
    if inspect.isfunction(one) and one.__module__ == module.__name__ and not name.startswith("_")
]


@pytest.mark.parametrize(("module", "name"), FUNCTIONS)
def test_no_value_is_an_error_of_another_kind(module, name):
    write = vars(globals()[module])[name]
    wanted = [one for one in inspect.signature(write).parameters.values() if one.kind is not one.KEYWORD_ONLY]
    for value in (None, -1, 0, 9, 2**40, "", "zz", (), ("a", "a"), [], b"x", print):
        with contextlib.suppress(AssembleError, TypeError):
            write(begun(), *[value] * (len(wanted) - 1))


def test_a_slot_below_what_is_inserted_can_be_copied_and_needs_a_depth_to_be_taken():
    parts = disassemble(begun.__code__)
    stack.copy(Emitter.within(parts), 1)
    with pytest.raises(AssembleError, match=r"POP_TOP takes 1 slots of a stack of 0; within\(parts, depth\)"):
        stack.pop(Emitter.within(parts))
    stack.pop(Emitter.within(parts, 1))


@pytest.mark.parametrize("name", ["width", "kept"])
def test_a_local_is_loaded_as_a_variable(name):
    one, other = begun(0), begun(0)
    variables.load(one, name)
    variables.load_local(other, name)
    assert [(one.name, one.argument) for one in one.instructions] == [
        (one.name, one.argument) for one in other.instructions
    ]


@pytest.mark.parametrize("write", [variables.load_local, variables.delete])
def test_a_misspelt_local_is_refused(write):
    message = r"'wdith' is no variable of f; did you mean 'width'\? \(there is width, height, kept\)"
    with pytest.raises(AssembleError, match=message):
        write(begun(), "wdith")


def test_an_instruction_without_a_row_is_for_the_verifier():
    """It is in no code object that is read, so its operands are not known."""
    made = begun()
    made.append(Instruction("EXTENDED_ARG", 1))
    assert made.instructions[-1].name == "EXTENDED_ARG" in KINDS
