"""`python -m framesmith.frontend.where list.append LOAD_ATTR`: file and line of the code that handles a thing.

Known are: what a user calls (`list.append`, `torch.add`), operations (`BINARY`), native opcodes (`BINARY_OP`), kinds
of guards and sources, and graph breaks by their id.
"""

import inspect
import os
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from types import FunctionType
from typing import final

import framesmith.guards.kinds as guard_kinds
import framesmith.guards.sources as guard_sources
from framesmith.bytecode import operation_tables
from framesmith.bytecode.meaning import Kind
from framesmith.frontend.registry import REGISTRY
from framesmith.frontend.tracing.opcodes import catalog as opcodes
from framesmith.frontend.tracing.opcodes.table import steps
from framesmith.graph import break_kinds
from framesmith.graph.breaks import BreakKind
from framesmith.variables.callables.functions import DIRECTIVES
from framesmith.variables.core.table import CALLS, callable_name
from framesmith.variables.core.wrap_rules import EXACT

CATALOGS = opcodes.FAMILIES


@final
@dataclass(frozen=True, slots=True)
class Signpost:
    """Where one thing is handled."""

    name: str
    what: str
    file: str
    line: int

    def text(self) -> str:
        """`name: what, file:line`."""
        return f"{self.name}: {self.what}, {self.file}:{self.line}"


def signposts() -> Iterator[Signpost]:
    """All of them, generated from the tables."""
    registry = REGISTRY.current()
    for row in registry[CALLS].values():
        yield at(
            callable_name(row.key).replace("torch._VariableFunctionsClass.", "torch."), "call", row.handler
        )
    for named, directive in registry[DIRECTIVES].items():
        yield at(".".join(named), "call", directive)
    for kind, step in steps().items():
        yield at(kind.name, "operation", step)
    yield from native_opcodes()
    for name in guard_kinds.__all__:
        yield at(name, "guard, made and checked", getattr(guard_kinds, name))
    for name in guard_sources.__all__:
        yield at(name, "source", getattr(guard_sources, name))
    for kind_of_value, rule in registry[EXACT].items():
        yield at(kind_of_value.__name__, "wrapping of existing values", rule)
    lines = inspect.getsource(break_kinds).splitlines()
    for value in vars(break_kinds).values():
        if isinstance(value, BreakKind):
            line = next(i for i, text in enumerate(lines, 1) if f'"{value.id}"' in text)
            yield Signpost(value.id, "graph break", short(break_kinds.__file__), line)


def native_opcodes() -> Iterator[Signpost]:
    """The opcodes of this Python, through the operation that they are read as."""
    for name, kind in operation_tables.PASSED.items():
        yield Signpost(name, f"opcode, read as {kind.name}", *place(steps()[Kind(kind)]))
    for name, fixed in operation_tables.FIXED.items():
        for operation in fixed[:1]:
            yield Signpost(
                name, f"opcode, read as {Kind(operation[0]).name}", *place(steps()[Kind(operation[0])])
            )
    for name, rule in operation_tables.RULES.items():
        yield at(name, "opcode, read by", rule)
        for kind in kinds_of(rule):
            yield Signpost(name, f"opcode, may be read as {kind.name}", *place(steps()[kind]))


def kinds_of(rule: Callable[..., object]) -> list[Kind]:
    """The operations that a rule of reading can give: those that its code names."""
    names = inspect.unwrap(rule).__code__.co_names if isinstance(rule, FunctionType) else ()
    return [Kind[name] for name in names if name in Kind.__members__ and Kind[name] in steps()]


def at(name: str, what: str, code: Callable[..., object]) -> Signpost:
    """The signpost of a function or class."""
    return Signpost(name, what, *place(code))


def place(code: Callable[..., object]) -> tuple[str, int]:
    """File, from the package's folder on, and line of a function or class."""
    code = inspect.unwrap(code)
    if isinstance(code, FunctionType):
        return short(code.__code__.co_filename), code.__code__.co_firstlineno
    try:
        file = inspect.getsourcefile(code) or "?"
        line = inspect.getsourcelines(code)[1]
    except (OSError, TypeError):
        return "?", 0
    return short(file), line


def short(file: str) -> str:
    """The path from `framesmith/` on."""
    return file[file.rfind(f"framesmith{os.sep}") :] if f"framesmith{os.sep}" in file else file


def find(name: str) -> list[Signpost]:
    """Signposts with this name; without an exact match, those that contain it."""
    everything = list(signposts())
    exact = [post for post in everything if name == post.name]
    return exact or [post for post in everything if name.lower() in post.name.lower()]


def main(arguments: list[str]) -> int:
    """Print file and line of each thing named in the arguments; returns 1 when one is not known, else 0."""
    missing = 0
    for name in arguments:
        found = find(name)
        for post in found:
            print(post.text())
        if not found:
            missing = 1
            print(f"{name}: no table of framesmith knows it")
    return missing


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
