"""`config.verify_code` bites: whatever is emitted wrong is refused before it can run."""

import dataclasses
import opcode
from types import CodeType

import pytest
import torch

from framesmith import frontend
from framesmith.frontend.generated import dispatcher, functions
from framesmith.frontend.resuming import native


def cut(code: CodeType) -> CodeType:
    """The same code with its last instruction blanked: control runs off the end."""
    return code.replace(co_code=code.co_code[:-2] + bytes([opcode.opmap["NOP"], 0]))


def shallow(code: CodeType) -> CodeType:
    """The same code with a stack size of 0."""
    return code.replace(co_stacksize=0)


def after_a_break(x: torch.Tensor, box: list[str]) -> torch.Tensor:
    print(end="")
    return x + len(box[0])


def twice(x: torch.Tensor) -> torch.Tensor:
    return x * 2


@pytest.mark.parametrize("spoil", [cut, shallow])
@pytest.mark.parametrize(("ruined", "name"), [(0, "dispatcher"), (1, "entry"), (2, "attempt")])
def test_each_generated_function_is_verified(monkeypatch, spoil, ruined, name) -> None:
    """The first code made is the dispatcher, the next one the entry, then the attempt with the guards."""
    made = []

    def relocate(code: CodeType, lines: object, firstlineno: int) -> CodeType:
        made.append(code)
        return spoil(code) if len(made) == ruined + 1 else code

    monkeypatch.setattr(functions, "relocate_lines", relocate)
    monkeypatch.setattr(dispatcher, "_codes", {})  # an earlier test's dispatcher may be alive still
    with frontend.config.patch(verify_code=True), pytest.raises(frontend.UnsoundCode, match="code of twice"):
        frontend.compile(twice, backend="eager")(torch.ones(2))


def test_a_native_continuation_is_verified(monkeypatch) -> None:
    whole = native.resume_function
    monkeypatch.setattr(native, "resume_function", lambda *args: shallow(whole(*args)))
    compiled = frontend.compile(after_a_break, backend="eager")
    with frontend.config.patch(verify_code=True, recompile_limit=1):
        compiled(torch.ones(2), ["a"])
        with pytest.raises(frontend.UnsoundCode, match="stacksize"):
            compiled(torch.ones(2), ["bb"])  # the continuation has its entry already, so it goes on natively


def test_guards_are_verified(monkeypatch) -> None:
    whole = dispatcher.compile_guards

    def spoilt(*args: object, **kwargs: object) -> object:
        program = whole(*args, **kwargs)
        return dataclasses.replace(program, condition=f"{program.condition} and nobody")

    monkeypatch.setattr(dispatcher, "compile_guards", spoilt)
    with frontend.config.patch(verify_code=True), pytest.raises(frontend.UnsoundCode, match="nobody"):
        frontend.compile(twice, backend="eager")(torch.ones(2))


def test_without_the_option_nothing_is_verified(monkeypatch) -> None:
    monkeypatch.setattr(
        "framesmith.frontend.generated.verification.verify", lambda code: pytest.fail("verified")
    )
    assert torch.equal(frontend.compile(twice, backend="eager")(torch.ones(2)), torch.full((2,), 2.0))
