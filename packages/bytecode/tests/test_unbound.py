"""`verify` finds loads that do not look, of locals that may have no value: from 3.12 on they crash, before they raise."""

import sys
from types import FunctionType

import pytest

from framesmith.bytecode import Emitter, assemble, disassemble, insert_before, verify
from framesmith.bytecode.emitting import variables

LOADS_LOOK = sys.version_info < (3, 12)


def twice(a):
    b = a + 1
    a.append(b)
    return b


def looped(items, *rest, key=None, **more):
    for item in items:
        found = item
        if key:
            continue
        del item
    try:
        return found, item, rest, more
    except NameError as error:
        return error.name


def comprehended(items):
    x = [x for x in items if x]
    try:
        return [y for y in x], y  # noqa: F821
    except NameError:
        return x


def loads_of(parts, name):
    return [
        one for one in parts.instructions if one.name.startswith("LOAD_FAST") and name in str(one.argument)
    ]


def assert_found(parts, name):
    code = assemble(parts)
    if LOADS_LOOK:
        assert verify(code) == []
        with pytest.raises(UnboundLocalError, match=name):
            FunctionType(code, {})([])
        return
    problems = verify(code)
    assert {problem.check for problem in problems} == {"unbound"}
    assert f"reads the local {name!r}" in problems[0].message
    assert "LOAD_FAST_CHECK" in problems[0].message


def test_a_deleted_local():
    parts = disassemble(twice.__code__)
    emitter = Emitter.within(parts)
    variables.delete(emitter, "b")
    insert_before(parts, loads_of(parts, "b")[-1], emitter.instructions)
    if LOADS_LOOK:
        code = assemble(parts)
        assert verify(code) == []
        with pytest.raises(UnboundLocalError, match="b"):
            FunctionType(code, {})(Number())
    else:
        assert_found(parts, "b")


def test_a_store_that_was_taken_away():
    parts = disassemble(twice.__code__)
    store = next(one for one in parts.instructions if one.name.startswith("STORE_FAST"))
    assert store.name == "STORE_FAST"
    store.name, store.argument = "POP_TOP", None
    if LOADS_LOOK:
        with pytest.raises(UnboundLocalError, match="b"):
            FunctionType(assemble(parts), {})(Number())
    else:
        assert_found(parts, "b")


def test_a_store_on_one_path_only():
    def stored(a):
        b = None
        if a:
            b = a
        return b

    parts = disassemble(stored.__code__)
    first = next(one for one in parts.instructions if one.name == "STORE_FAST")
    first.name, first.argument = "POP_TOP", None
    assert_found(parts, "b")


@pytest.mark.parametrize("function", [twice, looped, comprehended], ids=lambda one: one.__name__)
def test_what_the_compiler_writes_passes(function):
    assert verify(function.__code__) == []


def test_a_load_that_looks_passes():
    parts = disassemble(twice.__code__)
    emitter = Emitter.within(parts)
    variables.delete(emitter, "b")
    insert_before(parts, loads_of(parts, "b")[-1], emitter.instructions)
    for load in loads_of(parts, "b")[-1:]:
        load.name = "LOAD_FAST" if LOADS_LOOK else "LOAD_FAST_CHECK"
    code = assemble(parts)
    assert verify(code) == []
    with pytest.raises(UnboundLocalError, match="b"):
        FunctionType(code, {})(Number())


class Number:
    """What `twice` takes."""

    def __add__(self, other):
        return other

    def append(self, other):
        return None
