"""Signposts made from the tables: what a user calls, opcodes and operations, guards and sources, wrap rules, break kinds.

BINARY_OP       read by `operation_tables`, as the operation BINARY, executed by a step in `tracing.opcodes`, which uses
                functions of `variables`
"""

import functools
import inspect
import re
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from types import FunctionType
from typing import Final, final

import framesmith.guards.kinds as guard_kinds
import framesmith.guards.sources as guard_sources
from framesmith.bytecode import operation_tables
from framesmith.bytecode.meaning import Kind
from framesmith.frontend.registry import REGISTRY
from framesmith.frontend.signposts.definitions import definitions, path_in_package, where_it_lies
from framesmith.frontend.tracing.opcodes.catalog import OPCODES
from framesmith.graph.breaks.breaks import BreakKind
from framesmith.variables.callables.functions import DIRECTIVES
from framesmith.variables.core.table import CALLS, callable_name
from framesmith.variables.core.wrap_rules import EXACT

_ABOVE_CORE: Final = re.compile(r"framesmith\.variables\.(?!core\b)")

_PUBLIC: Final = {
    "torch._VariableFunctionsClass.": "torch.",
    "torch._C.TensorBase.": "torch.Tensor.",
    "torch._tensor.Tensor.": "torch.Tensor.",
}


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
        return f"{self.name}: {self.what}, {where_it_lies(self.file)}:{self.line}"


@functools.cache
def break_constants() -> dict[str, tuple[str, str, int]]:
    """The constant, file and line of each kind of graph break, by its id: in the catalogue, or beside the code that raises it."""
    found = {}
    for name, module in sorted(sys.modules.items()):
        if not name.startswith("framesmith."):
            continue
        # the type: `isinstance` asks what torch has deprecated for its class, which warns
        kinds = [(key, one) for key, one in vars(module).items() if type(one) is BreakKind]
        if not kinds:
            continue
        lines = inspect.getsource(module).splitlines()
        for constant, kind in kinds:
            places = [number for number, text in enumerate(lines, 1) if f'"{kind.id}"' in text]
            if places:
                found[kind.id] = constant, path_in_package(str(module.__file__)), places[0]
    return found


def signposts() -> Iterator[Signpost]:
    """All of them, generated from the tables."""
    registry = REGISTRY.current()
    for row in registry[CALLS].values():
        yield signpost_at(public_name(row.key), "call", row.function)
    for named, directive in registry[DIRECTIVES].items():
        yield signpost_at(".".join(named), "call", directive)
    for kind, step in OPCODES.steps.items():
        yield signpost_at(kind.name, "operation", step)
    yield from native_opcodes()
    for name in guard_kinds.__all__:
        yield signpost_at(name, "guard, made and checked", getattr(guard_kinds, name))
    for name in guard_sources.__all__:
        yield signpost_at(name, "source", getattr(guard_sources, name))
    for kind_of_value, rule in registry[EXACT].items():
        yield signpost_at(kind_of_value.__name__, "wrapping of existing values", rule)
    for identifier, (_, file, line) in break_constants().items():
        yield Signpost(identifier, "graph break", file, line)


def public_name(key: object) -> str:
    """The name of a callable as users write it: `torch.add`, `Tensor.add_`."""
    name = callable_name(key)
    for inner, public in _PUBLIC.items():
        if name.startswith(inner):
            return public + name.removeprefix(inner)
    return name


def native_opcodes() -> Iterator[Signpost]:
    """The opcodes of this Python, through the operation that they are read as."""
    table = inspect.getsource(operation_tables).splitlines()
    for name, kind in operation_tables.PASSED.items():
        yield _row(table, name, f"opcode, read as {Kind(kind).name}")
        yield from step_signposts(name, Kind(kind))
    for name, fixed in operation_tables.FIXED.items():
        kinds = [Kind(operation[0]) for operation in fixed]
        yield _row(table, name, f"opcode, read as {', '.join(kind.name for kind in kinds)}")
        for kind in dict.fromkeys(kinds):
            yield from step_signposts(name, kind)
    for name, rule in operation_tables.RULES.items():
        yield signpost_at(name, f"opcode, read by (row in line {_row(table, name, '').line})", rule)
        for kind in kinds_of(rule):
            yield from step_signposts(name, kind)


def _row(table: list[str], name: str, what: str) -> Signpost:
    """The row of an opcode in the table of operations."""
    line = next((number for number, text in enumerate(table, 1) if f'"{name}"' in text), 1)
    return Signpost(name, what, path_in_package(operation_tables.__file__), line)


def step_signposts(name: str, kind: Kind) -> Iterator[Signpost]:
    """The step that executes an operation."""
    if kind in OPCODES.steps:
        yield Signpost(
            name, f"opcode, may be read as {kind.name}: executed by", *file_and_line(OPCODES.steps[kind])
        )


def signposts_of_step(kind: Kind) -> Iterator[Signpost]:
    """What the step of an operation uses: functions of `variables`, and their use of `variables.operations`."""
    todo, seen = [(OPCODES.steps[kind], 0)], set[object]()
    while todo:
        code, depth = todo.pop(0)
        for function in _functions_in(code):
            if function in seen or (depth and ".operations." not in function.__module__):
                continue
            seen.add(function)
            yield signpost_at(kind.name, f"operation, uses {function.__name__}", function)
            todo += [(function, depth + 1)] if not depth else []


def _functions_in(code: Callable[..., object]) -> Iterator[FunctionType]:
    """The functions of `variables`, above its core, that the code of a function names."""
    if not isinstance(code, FunctionType):
        return
    for name in code.__code__.co_names:
        found = code.__globals__.get(name)
        if isinstance(found, FunctionType) and _ABOVE_CORE.match(found.__module__):
            yield found


def kinds_of(rule: Callable[..., object]) -> list[Kind]:
    """The operations that a rule of reading can give: those that its code names."""
    names = inspect.unwrap(rule).__code__.co_names if isinstance(rule, FunctionType) else ()
    return [Kind[name] for name in names if name in Kind.__members__ and Kind[name] in OPCODES.steps]


def signpost_at(name: str, what: str, code: Callable[..., object]) -> Signpost:
    """The signpost of a function or class."""
    return Signpost(name, what, *file_and_line(code))


def file_and_line(code: Callable[..., object]) -> tuple[str, int]:
    """File, from the package's folder on, and line of a function or class."""
    code = inspect.unwrap(code)
    if isinstance(code, FunctionType):
        return path_in_package(code.__code__.co_filename), code.__code__.co_firstlineno
    return _line_of_class(code)


@functools.lru_cache(maxsize=4096)
def _line_of_class(code: Callable[..., object]) -> tuple[str, int]:
    """The same for what has no code."""
    module = sys.modules.get(getattr(code, "__module__", None) or "")
    file = path_in_package(getattr(module, "__file__", None) or "?")
    # inspect would parse the whole file
    places = definitions().get(getattr(code, "__qualname__", ""), ())
    line = next((line for one, line in places if one == file), None)
    if line is not None:
        return file, line
    try:
        return path_in_package(inspect.getsourcefile(code) or "?"), inspect.getsourcelines(code)[1]
    except (OSError, TypeError):
        return "?", 0
