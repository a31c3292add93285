"""From generated source lines to code objects and functions that carry the user's name, file and lines.

What the text needs beside its parameters is in closure cells, where the garbage collector sees it (the constants
of a code object it does not see).
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from types import CodeType, FunctionType
from typing import final

from framesmith.bytecode.relocate import relocate_lines
from framesmith.frontend.generated.verification import verify_if_enabled
from framesmith.frontend.hidden_frames import HIDDEN
from framesmith.guards.names import PREFIX

_OUTER = f"{PREFIX}outer"

Line = tuple[str, int]
"""A line of generated text and the user's line that it represents."""

_OWN = re.compile(f"(user)*{PREFIX}")


def spelling(name: str) -> str:
    """How generated text spells a variable of the user's: names like our own get a prefix, different for each name."""
    return f"user{name}" if _OWN.match(name) else name


@final
@dataclass(frozen=True, slots=True)
class Identity:
    """The name, file and first line that generated code takes on."""

    name: str
    qualname: str
    filename: str
    firstlineno: int

    @staticmethod
    def of(code: CodeType) -> "Identity":
        """Those of the user's code object."""
        return Identity(code.co_name, code.co_qualname, code.co_filename, code.co_firstlineno)

    def as_hidden(self) -> "Identity":
        """The same for code that runs between the user's functions: counts of frames pass over it (ADR 0016)."""
        return replace(self, filename=HIDDEN)


def generated_code(
    parameters: str, lines: Sequence[Line], identity: Identity, freevars: tuple[str, ...]
) -> CodeType:
    """A code object with exactly these free variables; the caller makes a function of it with its own cells."""
    lines = [(f"if 0: {', '.join(freevars)}", identity.firstlineno), *lines]
    module = compile(write_module(parameters, lines, freevars), identity.filename, "exec")
    outer = next(constant for constant in module.co_consts if isinstance(constant, CodeType))
    inner = next(constant for constant in outer.co_consts if isinstance(constant, CodeType))
    return set_user_lines(inner, lines, identity)


def generated_function(
    parameters: str,
    lines: Sequence[Line],
    constants: Mapping[str, object],
    identity: Identity,
    namespace: dict[str, object],
) -> FunctionType:
    """A function over `namespace` with the constants in its closure."""
    names = tuple(constants)
    module = compile(write_module(parameters, lines, names), identity.filename, "exec")
    outer = FunctionType(next(c for c in module.co_consts if isinstance(c, CodeType)), namespace)
    function = outer(*constants.values())
    assert isinstance(function, FunctionType)
    function.__code__ = set_user_lines(function.__code__, lines, identity)
    function.__name__, function.__qualname__ = identity.name, identity.qualname
    return function


def set_user_lines(code: CodeType, lines: Sequence[Line], identity: Identity) -> CodeType:
    """The code with the user's name and lines."""
    named = code.replace(co_name=identity.name, co_qualname=identity.qualname)
    return verify_if_enabled(relocate_lines(named, user_lines(lines, identity), identity.firstlineno))


def write_module(parameters: str, lines: Sequence[Line], names: tuple[str, ...]) -> str:
    """`def outer(names): def entry(parameters): lines; return entry`, the body from the third line on."""
    body = "\n".join(f"  {line}" for line, _ in lines)
    return f"def {_OUTER}({', '.join(names)}):\n def {PREFIX}entry({parameters}):\n{body}\n return {PREFIX}entry\n"


def user_lines(lines: Sequence[Line], identity: Identity) -> list[int]:
    """The user's line for each line of the generated text."""
    return [identity.firstlineno, identity.firstlineno, *(line for _, line in lines)]
