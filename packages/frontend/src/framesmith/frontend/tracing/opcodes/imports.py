"""Imports and pattern matching.

Modules as values: `variables.objects.python_modules`.
"""

import importlib.util
import sys
from collections.abc import Iterable
from dataclasses import dataclass
from types import MappingProxyType, ModuleType
from typing import Final, final

from framesmith.bytecode.meaning import Kind, Operation
from framesmith.frontend.tracing.machine import Machine
from framesmith.frontend.tracing.opcodes.stack import name_of
from framesmith.frontend.tracing.opcodes.table import Bind, NativeForm, OpcodeRows
from framesmith.graph import GraphBreak
from framesmith.graph.breaks.break_kinds import IMPORT, OPERATION_RAISES, UNSUPPORTED_OPCODE
from framesmith.guards.class_lookup import MISSING, flags_of, is_immutable, qualified_name, static_lookup
from framesmith.guards.imported import find_loaded
from framesmith.guards.kinds import EqualTo, HasKey, Identical
from framesmith.guards.sources import CallResult, Item, Pinned
from framesmith.variables.builtin_types.iterators import unpack
from framesmith.variables.builtin_types.namespaces import builtins_of
from framesmith.variables.builtin_types.tuples import TupleTracker
from framesmith.variables.callables.type_functions import isinstance_
from framesmith.variables.core import Constant, ObservedException, TraceContext, Tracker
from framesmith.variables.core.base import run_pending
from framesmith.variables.core.raising import raise_observed

ROWS: Final = OpcodeRows()

_MODULES: Final = Pinned(sys.modules, "sys.modules")


@ROWS.opcode(Kind.IMPORT_NAME)
def import_name(machine: Machine, operation: Operation) -> None:
    """`import a.b`: only a module that is imported already; a first import runs natively."""
    frame = machine.frame
    _check_importer(machine)
    _check_modules(machine)
    wanted = Wanted.of(machine, operation, frame.pop_many(2))
    missing = wanted.find_missing()
    if missing is not None:
        # with fullgraph it is imported before the next trace: by then nothing may have happened that it could see
        first = missing if not _has_effects(machine) else None
        if is_nowhere(missing):
            raise GraphBreak(OPERATION_RAISES, f"there is no module {missing}")
        raise GraphBreak(IMPORT, f"module {missing} is not imported yet", first)
    for name in wanted.list_absent():  # CPython looks for it, finds nothing and goes on
        said = Pinned(name, repr(name))
        machine.tx.guard(CallResult(said, is_nowhere), EqualTo(True), "an import statement finds no module")
    # wrapped for the guard that each is still the module that it is now
    for name in wanted.list_modules():
        find_imported(machine, name)
    frame.push(find_imported(machine, wanted.result))


def _check_importer(machine: Machine) -> None:
    """Break the graph where the statement calls what the program has put in place of `__import__`."""
    scope = builtins_of(machine.frame.namespace.value)
    source = Pinned(scope, "builtins")
    if "__import__" not in scope:
        machine.tx.guard(source, HasKey("__import__", False))
        raise_observed(machine.tx, ImportError, "__import__ not found")  # ceval.c
    machine.tx.guard(Item(source, "__import__"), Identical(scope["__import__"]))
    if scope["__import__"] is not __import__:
        raise GraphBreak(IMPORT, "__import__ is replaced")


def _check_modules(machine: Machine) -> None:
    """Break the graph where the program has changed `sys.modules`, which the entry does behind its graph."""
    if any(getattr(one, "value", None) is sys.modules for one in machine.tx.changes.changed_trackers()):
        raise GraphBreak(IMPORT, "sys.modules was changed before")


def _has_effects(machine: Machine) -> bool:
    """Whether the program did something that a module could see which is imported now."""
    tx = machine.tx
    return tx.changes.has_changes or tx.changes.ambient.version > 0 or tx.graph.has_changes


@final
@dataclass(frozen=True, slots=True)
class Wanted:
    """What an import statement asks for: a module by its full name, names of it, and the module that is its result."""

    module: str
    names: tuple[str, ...]
    result: str

    @staticmethod
    def of(machine: Machine, operation: Operation, operands: Iterable[Tracker]) -> "Wanted":
        """Read the operands of IMPORT_NAME: the level and the names after `from`."""
        level, names = (value.as_python_constant() for value in operands)
        name = full = name_of(operation)
        assert isinstance(level, int) and isinstance(names, tuple | None)
        if level:
            package = machine.frame.namespace.load(machine.tx, "__package__").as_python_constant()
            if type(package) is not str or len(package.split(".")) < level or not package:
                # CPython finds the package out otherwise, or raises
                raise GraphBreak(IMPORT, f"a relative import in the package {package!r}")
            full = importlib.util.resolve_name("." * level + name, package)
        return Wanted(full, names or (), full if names or level else name.partition(".")[0])

    def find_missing(self) -> str | None:
        """The first module that is not imported yet: the module itself, or a submodule that the package does not hold
        (`_handle_fromlist`). One that another thread is importing is not yet imported: the statement waits for it."""
        if not _is_there(self.module):
            return self.module
        # the dictionary, since `hasattr` would run a `__getattr__` of the module
        held: dict[str, object] = getattr(sys.modules[self.module], "__dict__", {})
        for name in self.names if "__path__" in held else ():
            inside = f"{self.module}.{name}"
            if name not in held and not _is_there(inside) and inside not in self.list_absent():
                return inside
        return None

    def list_absent(self) -> list[str]:
        """Names of a package that it does not hold, and that are no modules: IMPORT_FROM raises for them."""
        held: dict[str, object] = getattr(sys.modules[self.module], "__dict__", {})
        if "__path__" not in held or "__getattr__" in held:  # what computes attributes is asked for each
            return []
        inside = [f"{self.module}.{name}" for name in self.names if name not in held and name != "*"]
        return [name for name in inside if name not in sys.modules and is_nowhere(name)]

    def list_modules(self) -> list[str]:
        """The modules that the statement finds in `sys.modules`: itself, and submodules that the package does not hold."""
        held: dict[str, object] = getattr(sys.modules[self.module], "__dict__", {})
        inside = [f"{self.module}.{name}" for name in self.names if "__path__" in held and name not in held]
        absent = self.list_absent()
        return [self.module, *(name for name in inside if name not in absent)]


def is_nowhere(name: str) -> bool:
    """Whether no finder knows the module or the first of its packages that is not imported: importing it raises."""
    parts = name.split(".")
    packages = [".".join(parts[: count + 1]) for count in range(len(parts))]
    first = next((one for one in packages if sys.modules.get(one) is None), name)
    try:
        return importlib.util.find_spec(first) is None
    except ModuleNotFoundError:  # its parent is no package
        return True
    except Exception:  # a finder of the program fails, as it will at the import
        return False


def _is_there(name: str) -> bool:
    """Whether an import statement finds this in `sys.modules` and neither executes code nor waits for another thread."""
    held: object = sys.modules.get(name)  # None says that it must not be imported
    return held is not None and (not isinstance(held, ModuleType) or find_loaded(name) is not None)


def find_imported(machine: Machine, name: str) -> Tracker:
    """The module in `sys.modules`."""
    module = sys.modules[name]
    if not isinstance(module, ModuleType):
        raise GraphBreak(IMPORT, f"sys.modules[{name!r}] is not a module")
    return machine.tx.wrap(module, Item(_MODULES, name))


@ROWS.opcode(Kind.IMPORT_FROM)
def import_from(machine: Machine, operation: Operation) -> None:
    """`from a import name`: an attribute, else a submodule that is imported already."""
    frame = machine.frame
    module = frame.stack[-1].realize()
    name = name_of(operation)
    value = getattr(module, "value", None)
    try:
        frame.push(module.attribute(machine.tx, name))
    except ObservedException:
        _check_modules(machine)
        full = f"{value.__name__}.{name}" if isinstance(value, ModuleType) else ""
        if full not in sys.modules:
            raise GraphBreak(OPERATION_RAISES, f"{name} cannot be imported") from None
        frame.push(find_imported(machine, full))


# Py_TPFLAGS_SEQUENCE and Py_TPFLAGS_MAPPING in Include/object.h
_PATTERN_FLAGS: Final = {Kind.MATCH_SEQUENCE: 1 << 5, Kind.MATCH_MAPPING: 1 << 6}


def read_pattern_flags(cls: type) -> int:
    """What sequence and mapping patterns ask a class for (PEP 634)."""
    return flags_of(cls) & sum(_PATTERN_FLAGS.values())


@ROWS.opcode(Kind.MATCH_MAPPING, Kind.MATCH_SEQUENCE)
def match_kind(machine: Machine, operation: Operation) -> None:
    """Whether the subject is a mapping or sequence in the sense of PEP 634."""
    cls = machine.frame.stack[-1].realize().python_type
    flags = read_pattern_flags(cls)
    if not is_immutable(cls):  # `Sequence.register(cls)` sets one, also on what derives from it
        source = CallResult(Pinned(cls, qualified_name(cls)), read_pattern_flags)
        machine.tx.guard(source, EqualTo(flags), "a pattern asks whether it is a sequence or a mapping")
    machine.frame.push(Constant(bool(flags & _PATTERN_FLAGS[operation.kind])))


@ROWS.opcode(Kind.GET_LEN)
def get_len(machine: Machine, operation: Operation) -> None:
    """Push the length of the subject."""
    machine.frame.push(machine.frame.stack[-1].realize().length(machine.tx))


@ROWS.opcode(Kind.MATCH_KEYS)
def match_keys(machine: Machine, operation: Operation) -> None:
    """Push the values under the keys on top, or None."""
    frame, tx = machine.frame, machine.tx
    subject, keys = frame.stack[-2].realize(), frame.stack[-1].realize()
    cls = subject.python_type
    # CPython asks `subject.get(key, default)`: what dict and mappingproxy do there is known
    if issubclass(cls, dict):
        if static_lookup(cls, "get") is not dict.get:
            raise GraphBreak(
                UNSUPPORTED_OPCODE, f"matching the keys of {subject.describe()} by its own get()"
            )
        subject = subject.builtin_part_or_self(tx)
    elif static_lookup(cls, "get") is not static_lookup(MappingProxyType, "get"):
        raise GraphBreak(UNSUPPORTED_OPCODE, f"matching the keys of {subject.describe()}")
    found: list[Tracker] = []
    wanted = unpack(tx, keys)
    _check_duplicates(wanted, "the same key")
    for key in wanted:
        present = subject.contains(tx, key.realize())
        if not present.as_python_constant():
            frame.push(Constant(None))
            return
        found.append(subject.subscript(tx, key.realize()))
    frame.push(TupleTracker(found))


def _check_duplicates(keys: Iterable[Tracker], what: str) -> None:
    """Break the graph where a pattern asks for the same thing twice, for which CPython raises."""
    values = [key.realize().as_python_constant() for key in keys]
    if len(values) != len(set(values)):
        raise GraphBreak(OPERATION_RAISES, f"a pattern that has {what} twice")


@ROWS.opcode(Kind.MATCH_CLASS)
def match_class(machine: Machine, operation: Operation) -> None:
    """`case Point(x, y=z)`: push the matched attributes, or None."""
    frame = machine.frame
    subject, kind, names = (value.realize() for value in frame.pop_many(3))
    target = kind.as_python_constant() if kind.is_python_constant() else getattr(kind, "value", None)
    keywords = names.as_python_constant()
    if not isinstance(target, type):
        raise GraphBreak(OPERATION_RAISES, "matching against what is no class")
    if not run_pending(machine.tx, isinstance_(machine.tx, subject, kind)).as_python_constant():
        frame.push(Constant(None))
        return
    frame.push(class_attributes(machine, subject, kind, target, operation, keywords))


# Those with the flag _Py_TPFLAGS_MATCH_SELF: `case int(x)` binds the subject itself.
SELF_MATCHING = (bool, bytearray, bytes, dict, float, frozenset, int, list, set, str, tuple)


def class_attributes(
    machine: Machine, subject: Tracker, kind: Tracker, target: type, operation: Operation, keywords: object
) -> Tracker:
    """The tuple of attributes that a class pattern binds (PEP 634), or None when one is missing."""
    assert isinstance(operation.argument, int) and isinstance(keywords, tuple)
    match_args = positional_names(machine.tx, kind) if operation.argument else ()
    if match_args is MISSING and operation.argument == 1 and issubclass(target, SELF_MATCHING):
        positional: list[Tracker] = [subject]
        names = list(keywords)
    else:
        positional = []
        match_args = () if match_args is MISSING else match_args
        if type(match_args) is not tuple or not all(type(name) is str for name in match_args):
            raise GraphBreak(OPERATION_RAISES, f"{target.__name__}.__match_args__ is no tuple of names")
        if operation.argument > len(match_args):
            raise GraphBreak(
                OPERATION_RAISES, f"{target.__name__}() accepts {len(match_args)} positional sub-patterns"
            )
        names = [*match_args[: operation.argument], *keywords]
    if len(names) != len(set(names)):
        raise GraphBreak(OPERATION_RAISES, "a pattern that has the same attribute twice")
    values: list[Tracker] = list(positional)
    for name in names:
        try:
            values.append(subject.attribute(machine.tx, name))
        except ObservedException as error:
            if not issubclass(error.exception.python_type, AttributeError):
                raise
            return Constant(None)
    return TupleTracker(values)


def positional_names(tx: TraceContext, kind: Tracker) -> object:
    """`__match_args__` of the class; MISSING where it has none, which is not the same as None."""
    try:
        return kind.attribute(tx, "__match_args__").realize().as_python_constant()
    except ObservedException as error:
        if not issubclass(error.exception.python_type, AttributeError):
            raise
        return MISSING


def _import_form(operation: Operation, operands: list[str | None], bind: Bind) -> NativeForm:
    """The import itself. An entry with a first import serves as long as the module is not imported."""
    missing = Wanted.of(bind.machine, operation, bind.operands).find_missing()
    if missing is not None and missing not in sys.modules:
        bind.machine.tx.guard(_MODULES, HasKey(missing, False))
    name = name_of(operation)
    scope = bind(builtins_of(bind.machine.frame.namespace.value), "builtins")
    return NativeForm.of(
        f"{scope}['__import__']({name!r}, {bind.globals()}, None, {operands[1]}, {operands[0]})"
    )


ROWS.native(Kind.IMPORT_NAME, _import_form)
