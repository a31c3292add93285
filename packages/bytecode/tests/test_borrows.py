"""References that the stack does not own, from Python 3.14 on: a local that is changed under one is found."""

import sys

import pytest

from framesmith.bytecode.disassemble import disassemble
from framesmith.bytecode.instruction import Instruction
from framesmith.bytecode.slots import own_references
from framesmith.bytecode.verify import verify, verify_parts

pytestmark = pytest.mark.skipif(sys.version_info < (3, 14), reason="the stack owns all of its items")


def sample(a, b):
    c = a.method(b)
    return c


def with_body(*rows):
    """The function with another body: name and argument of each instruction."""
    parts = disassemble(sample.__code__)
    begin = parts.instructions[0]
    assert begin.name == "RESUME"
    parts.instructions[:] = [begin, *(Instruction(name, argument) for name, argument in rows)]
    return parts


def messages(parts):
    return [problem.message.partition(": ")[2].splitlines()[0] for problem in verify_parts(parts)]


RETURN = ("RETURN_VALUE", None)
BORROW = ("LOAD_FAST_BORROW", "a")


@pytest.mark.parametrize(
    ("rows", "said"),
    [
        ([BORROW, ("LOAD_FAST", "b"), ("STORE_FAST", "a"), RETURN], "STORE_FAST changes a"),
        ([BORROW, ("DELETE_FAST", "a"), RETURN], "DELETE_FAST changes a"),
        ([BORROW, ("STORE_FAST", "c"), ("LOAD_FAST", "c"), RETURN], "STORE_FAST c stores what is borrowed from a"),
        ([BORROW, ("COPY", 1), ("STORE_FAST", "c"), RETURN], "STORE_FAST c stores what is borrowed from a"),
        (
            [BORROW, ("LOAD_FAST", "b"), ("SWAP", 2), ("STORE_FAST", "c"), RETURN],
            "STORE_FAST c stores what is borrowed from a",
        ),
        (
            [("LOAD_FAST_BORROW_LOAD_FAST_BORROW", ("b", "a")), ("STORE_FAST_LOAD_FAST", ("c", "c")), ("POP_TOP", None), RETURN],
            "STORE_FAST_LOAD_FAST c stores what is borrowed from a",
        ),
        (
            [BORROW, ("LOAD_ATTR", ("method", 1)), ("LOAD_FAST", "b"), ("STORE_FAST", "a"), ("CALL", 0), RETURN],
            "STORE_FAST changes a",
        ),
    ],
)  # fmt: skip
def test_a_local_that_is_changed_meanwhile_is_found(rows, said):
    parts = with_body(*rows)
    assert [message.partition(",")[0].partition(": load")[0] for message in messages(parts)] == [said]
    own_references(parts, frozenset("abc"))
    assert not verify_parts(parts)


@pytest.mark.parametrize(
    "rows",
    [
        [BORROW, ("LOAD_FAST", "b"), ("STORE_FAST", "c"), RETURN],
        [BORROW, ("LOAD_ATTR", ("name", 0)), ("STORE_FAST", "a"), ("LOAD_FAST", "a"), RETURN],
        [BORROW, ("GET_ITER", None), ("STORE_FAST", "a"), ("LOAD_FAST", "a"), RETURN],
    ],
)
def test_what_an_operation_has_taken_is_borrowed_no_more(rows):
    if sys.version_info >= (3, 15):
        rows = [("GET_ITER", 0) if row == ("GET_ITER", None) else row for row in rows]
    assert not verify_parts(with_body(*rows))


def test_the_other_branch_is_looked_at_as_well():
    def branch(a, b):
        print(a, a if b else 1)

    parts = disassemble(branch.__code__)
    assert not verify(branch.__code__)
    place = next(i for i, one in enumerate(parts.instructions) if "JUMP_IF" in one.name)
    store = [Instruction("LOAD_FAST", "b"), Instruction("STORE_FAST", "a")]
    parts.instructions[place - 1 : place - 1] = store
    for one in parts.instructions[:place]:
        if one.name == "LOAD_FAST":
            one.name = "LOAD_FAST_BORROW"
    assert any("changes a" in message or "stores what" in message for message in messages(parts))
