"""The whole standard library through the reader and the writer.

One sixteenth of the files by default; all of them with FRAMESMITH_WHOLE_STANDARD_LIBRARY=1 in the environment.
"""

import os
import sysconfig
import types
import warnings
from collections.abc import Iterator
from pathlib import Path

import pytest

from framesmith.bytecode import stack_depth
from framesmith.bytecode.assemble import assemble
from framesmith.bytecode.disassemble import disassemble
from framesmith.bytecode.meaning import Kind, read, stack_depths
from framesmith.bytecode.stack_contents import stack_items
from framesmith.bytecode.verify import verify

PARTS = 16
WHOLE = bool(os.environ.get("FRAMESMITH_WHOLE_STANDARD_LIBRARY"))
CHOSEN = range(PARTS) if WHOLE else [3]
ATTRIBUTES = [
    name
    for name in dir(types.CodeType)
    if name.startswith("co_") and not callable(getattr(types.CodeType, name)) and name not in ("co_lnotab",)
]


def codes(code: types.CodeType) -> Iterator[types.CodeType]:
    yield code
    for constant in code.co_consts:
        if isinstance(constant, types.CodeType):
            yield from codes(constant)


def library(part: int) -> Iterator[types.CodeType]:
    root = Path(sysconfig.get_paths()["stdlib"])
    files = sorted(
        path for path in root.rglob("*.py") if path.is_file() and "site-packages" not in path.parts
    )
    for path in files[part::PARTS]:
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                code = compile(path.read_bytes(), str(path), "exec", dont_inherit=True)
        except (SyntaxError, ValueError):
            continue  # test data that is no Python on purpose
        yield from codes(code)


@pytest.mark.parametrize("part", CHOSEN)
def test_assembling_what_was_taken_apart_gives_the_same_code(part: int) -> None:
    count = 0
    for code in library(part):
        made = assemble(disassemble(code))
        for name in ATTRIBUTES:
            if name != "co_consts":
                assert getattr(made, name) == getattr(code, name), (name, code)
        assert len(made.co_consts) == len(code.co_consts)
        assert all(one is other for one, other in zip(made.co_consts, code.co_consts, strict=True))
        assert list(made.co_positions()) == list(code.co_positions())
        count += 1
    assert count > 500
    print(f"{count} code objects")


@pytest.mark.parametrize("part", CHOSEN)
def test_every_instruction_has_a_meaning_and_the_depths_agree(part: int) -> None:
    for code in library(part):
        reading, parts = read(code), disassemble(code)
        native, neutral = stack_depth.depths(parts), stack_depths(reading)
        assert stack_depth.highest(parts) <= code.co_stacksize
        assert [None if one is None else len(one) for one in stack_items(code)] == list(neutral), code
        for index in range(len(native)):
            first = reading.first_operation_of(index)
            if first == len(neutral) or reading.operations[first].instruction != index:
                continue
            if neutral[first] is None:
                # END_FOR and the POP_TOP after it: jumped to natively, jumped over neutrally
                before = parts.instructions[index - 1].name
                assert native[index] is None or "END_FOR" in (parts.instructions[index].name, before)
            else:
                assert native[index] == neutral[first], (code, index)
        live = [reading.live_locals(index) for index in range(len(reading.operations))]
        assert all(
            operation.argument in live[index]
            for index, operation in enumerate(reading.operations)
            if operation.kind is Kind.LOAD_LOCAL
        )


@pytest.mark.parametrize("part", CHOSEN)
def test_the_verifier_has_nothing_to_say_about_compiled_code(part: int) -> None:
    for code in library(part):
        assert verify(code) == [], code
