"""One small program for each family of `tracing.opcodes`, in assembled text where all versions share the instructions."""

import importlib
import inspect
import pkgutil
import textwrap

import pytest
from stepping import assembled, frame_at, run_to_end, step, trace_of

from framesmith.bytecode.meaning import Kind
from framesmith.frontend.tracing import assertions, opcodes
from framesmith.frontend.tracing.opcodes import (
    attributes,
    building,
    calls,
    catalog,
    exceptions,
    functions,
    imports,
    jumps,
    names,
    operators,
    stack,
    table,
    unsupported,
)
from framesmith.frontend.tracing.trace_end import BreakBefore, Finished

TEXTS = {
    stack: ("LOAD_CONST 1\nLOAD_CONST 2\nSWAP 2\nCOPY 2\nBUILD_TUPLE 3\nRETURN_VALUE", (2, 1, 2)),
    names: ("LOAD_CONST 5\nSTORE_FAST 'a'\nLOAD_FAST 'a'\nRETURN_VALUE", 5),
    operators: ("LOAD_CONST 7\nLOAD_CONST 2\nBINARY_OP '%'\nUNARY_NEGATIVE\nRETURN_VALUE", -1),
    building: ("LOAD_CONST (1, 2)\nUNPACK_SEQUENCE 2\nBUILD_TUPLE 2\nRETURN_VALUE", (2, 1)),
    jumps: (
        "LOAD_CONST (1,)\nGET_ITER\nL0: FOR_ITER -> L1\nRETURN_VALUE\nL1: LOAD_CONST None\nRETURN_VALUE",
        1,
    ),
}


def test_every_family_is_in_the_catalogue() -> None:
    """A module that is left out adds no row, and nothing else would say so."""
    found = {module.name for module in pkgutil.iter_modules(opcodes.__path__)} - {"catalog", "table"}
    rows = [importlib.import_module(f"{opcodes.__name__}.{name}").ROWS for name in sorted(found)]
    assert sorted(map(id, rows)) == sorted(map(id, catalog.FAMILIES))


def test_every_family_has_a_program_here() -> None:
    assert {family.ROWS for family in (*TEXTS, *FUNCTIONS, unsupported)} == set(catalog.FAMILIES)


@pytest.mark.parametrize("family", TEXTS, ids=lambda family: family.__name__.rpartition(".")[2])
def test_assembled_text_gives(family) -> None:
    text, expected = TEXTS[family]
    assert run_to_end(text, names=("a",)).as_python_constant() == expected


def attribute(x):
    return x.real


def call(x):
    return divmod(x, 2)


def caught(x):
    try:
        raise ValueError(x)
    except ValueError as error:
        return error.args


def closure(x):
    def inner(y=x):
        return y + 1

    return inner()


def imported(x):
    import math

    return math.floor(x)


FUNCTIONS = {
    attributes: (attribute, 3, 3),
    calls: (call, 7, (3, 1)),
    exceptions: (caught, 1, (1,)),
    functions: (closure, 2, 3),
    imports: (imported, 2.5, 2),
}


@pytest.mark.parametrize("family", FUNCTIONS, ids=lambda family: family.__name__.rpartition(".")[2])
def test_a_function_gives_what_it_gives_in_python(family) -> None:
    function, given, expected = FUNCTIONS[family]
    end = trace_of(function.__code__, x=given).interpreter.run()
    assert isinstance(end, Finished)
    assert end.value.realize().as_python_constant() == expected == function(given)


def test_what_has_no_symbolic_form_breaks_with_its_name() -> None:
    trace = trace_of(assembled("SETUP_ANNOTATIONS\nLOAD_CONST None\nRETURN_VALUE"))
    end = trace.interpreter.run()
    assert isinstance(end, BreakBefore) and end.reason.detail == "SETUP_ANNOTATIONS is not traced"


def test_a_native_form_is_written_from_its_operands() -> None:
    operation = frame_at(attribute, 1, x=1).machine.frame.reading.operations[-2]
    assert operation.kind == Kind.LOAD_ATTRIBUTE
    write = catalog.OPCODES.natives[operation.kind]
    form = write(operation, ["x"], lambda value, hint: hint)
    assert form.statements == (f"{table.RESULT} = x.real",)
    assert [outcome.pushes for outcome in form.outcomes] == [(table.RESULT,)]


@pytest.mark.parametrize(("operands", "text"), [(["x", "y"], "{x, y}"), ([], "{*()}")])
def test_a_native_set_is_a_set_also_without_items(operands, text) -> None:
    form = catalog.OPCODES.natives[Kind.BUILD_SET](None, operands, None)
    assert form.statements == (f"{table.RESULT} = {text}",)


def asserting(x):
    assert x, f"{x} is too small"
    return x


def choosing(x):
    return 1 if x else 2


def refusing(x):
    if x:
        raise ValueError(x)
    raise TypeError(x)


@pytest.mark.parametrize(("function", "expected"), [(asserting, True), (choosing, None), (refusing, None)])
def test_a_truth_is_expected_where_the_other_side_only_raises(function, expected, monkeypatch) -> None:
    asked = []
    monkeypatch.setattr(assertions, "assert_truth", lambda tx, value, truth: asked.append(truth) or True)
    trace = trace_of(compile_again(function).__code__, x=1)
    machine = trace.machine
    while (operation := machine.frame.reading.operations[machine.frame.index]).kind != Kind.POP_JUMP_IF:
        step(machine)
    machine.frame.index += 1
    unknown = machine.frame.stack[-1]
    found = assertions.expected_truth(machine, operation, unknown)
    assert (found, asked) == ((unknown, []) if expected is None else (expected, [expected]))


def compile_again(function):
    """The function without what pytest makes of `assert`."""
    namespace = {}
    exec(textwrap.dedent(inspect.getsource(function)), namespace)
    return namespace[function.__name__]
