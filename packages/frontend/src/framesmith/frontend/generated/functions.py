"""From generated source lines to code objects and functions that carry the user's name, file and lines.

What the text needs beside its parameters is in closure cells, where the garbage collector sees it (the constants
of a code object it does not see). Functions that share an entry have one code object, a *template*: most of the cells are
shared as well, and those whose contents each function has of its own are added when the template is bound. What the
lines say is written by `generated.source_writer` and `generated.dispatcher`.
"""

import __future__

import inspect
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import reduce
from operator import or_
from types import CellType, CodeType, FunctionType
from typing import Final, final

from framesmith.bytecode.relocate import relocate_lines
from framesmith.frontend.generated.verification import verify_if_enabled
from framesmith.frontend.hidden_frames import HIDDEN, HIDDEN_NAME
from framesmith.guards.family_checks import FamilyCheck
from framesmith.guards.names import PREFIX
from framesmith.guards.sources import Own

# CO_NESTED is the flag of an old future statement, which says something about the code itself
_FUTURE: Final = (
    reduce(or_, (getattr(__future__, name).compiler_flag for name in __future__.all_feature_names))
    & ~inspect.CO_NESTED
)
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
    """The name, file, first line and future statements that generated code takes on."""

    name: str
    qualname: str
    filename: str
    firstlineno: int
    future: int
    """The flags of `from __future__ import ...`: `compile` takes them from the frame that calls it."""

    @staticmethod
    def of(code: CodeType) -> "Identity":
        """Those of the user's code object."""
        future = code.co_flags & _FUTURE
        return Identity(code.co_name, code.co_qualname, code.co_filename, code.co_firstlineno, future)

    def as_hidden(self) -> "Identity":
        """The same for code that runs between the user's functions: counts of frames pass over it (ADR 0016), and a
        debugger shows one frame with the name of the user's function."""
        return replace(self, name=HIDDEN_NAME, filename=HIDDEN)


def generate_code(
    parameters: str, lines: Sequence[Line], identity: Identity, freevars: tuple[str, ...]
) -> CodeType:
    """A code object with exactly these free variables; the caller makes a function of it with its own cells."""
    # a name that is mentioned is a free variable, also in a branch which CPython drops
    lines = [(f"if 0: {', '.join(freevars)}", identity.firstlineno), *lines]
    return _compile_function(parameters, lines, identity, freevars)


def _compile_function(
    parameters: str, lines: Sequence[Line], identity: Identity, names: tuple[str, ...]
) -> CodeType:
    """The code of a function; those of the names that it reads are its free variables."""
    module = compile(write_module(parameters, lines, names), identity.filename, "exec")
    outer = next(constant for constant in module.co_consts if isinstance(constant, CodeType))
    inner = next(constant for constant in outer.co_consts if isinstance(constant, CodeType))
    return set_user_lines(inner, lines, identity)


@final
@dataclass(frozen=True, slots=True, eq=False)
class Template:
    """A generated function before it is bound: its code, and the cells that all functions made from it share.

    `open`: the names whose cells are given when it is bound.
    """

    code: CodeType
    cells: Mapping[str, CellType]
    open: Mapping[str, Own]

    def bind(
        self,
        namespace: dict[str, object],
        own: Mapping[Own, CellType] | None = None,
        more: Mapping[str, object] | None = None,
    ) -> FunctionType:
        """A function over `namespace`; `own` has the cells of the function that it is made for, `more` are values by name."""
        cells = dict(self.cells)
        if self.open:
            assert own is not None, "an entry that reads what each function has of its own is bound to one"
            cells.update((name, own[source]) for name, source in self.open.items())
        cells.update((name, CellType(value)) for name, value in (more or {}).items())
        closure = tuple([cells[name] for name in self.code.co_freevars])
        return FunctionType(self.code, namespace, self.code.co_name, None, closure)


def generate_template(
    parameters: str,
    lines: Sequence[Line],
    constants: Mapping[str, object],
    identity: Identity,
    more: Iterable[str] = (),
) -> Template:
    """The template of a function with the constants in its closure. `more`: names that are given when it is bound.

    A constant that is an `Own` source is a placeholder for what each function has of its own.
    """
    names = (*constants, *more)
    code = _compile_function(parameters, lines, identity, names)
    given = {name: value for name, value in constants.items() if name in code.co_freevars}
    open_names = {name: value for name, value in given.items() if type(value) is Own}
    cells = {name: CellType(value) for name, value in given.items() if name not in open_names}
    return Template(code, cells, open_names)


def generate_function(
    parameters: str,
    lines: Sequence[Line],
    constants: Mapping[str, object],
    identity: Identity,
    namespace: dict[str, object],
) -> FunctionType:
    """A function over `namespace` with the constants in its closure."""
    return generate_template(parameters, lines, constants, identity).bind(namespace)


def bind_families(constants: Mapping[str, object], identity: Identity) -> dict[str, object]:
    """The constants of a guard program, with functions in place of the texts of family checks."""
    hidden = identity.as_hidden()
    return {
        name: (
            generate_function(
                value.parameters,
                [(line, hidden.firstlineno) for line in value.lines],
                value.constants,
                hidden,
                # an empty namespace: all that a check names is among its constants
                {},
            )
            if type(value) is FamilyCheck
            else value
        )
        for name, value in constants.items()
    }


def set_user_lines(code: CodeType, lines: Sequence[Line], identity: Identity) -> CodeType:
    """The code with the user's name and lines."""
    flags = code.co_flags | identity.future
    named = code.replace(co_name=identity.name, co_qualname=identity.qualname, co_flags=flags)
    return verify_if_enabled(relocate_lines(named, user_lines(lines, identity), identity.firstlineno))


def write_module(parameters: str, lines: Sequence[Line], names: tuple[str, ...]) -> str:
    """`def outer(names): def entry(parameters): lines; return entry`, the body from the third line on."""
    body = "\n".join(f"  {line}" for line, _ in lines)
    return f"def {_OUTER}({', '.join(names)}):\n def {PREFIX}entry({parameters}):\n{body}\n return {PREFIX}entry\n"


def user_lines(lines: Sequence[Line], identity: Identity) -> list[int]:
    """The user's line for each line of the generated text."""
    return [identity.firstlineno, identity.firstlineno, *(line for _, line in lines)]
