"""Module namespaces: the globals of the traced functions, and builtins behind them."""

import builtins
import types
from collections.abc import Iterable
from dataclasses import dataclass
from types import ModuleType
from typing import Final, final

from framesmith.graph import GraphBreak
from framesmith.graph.breaks.break_kinds import IMPORT, UNSUPPORTED_VALUE
from framesmith.guards import Source
from framesmith.guards.kinds import HasKey, Identical
from framesmith.guards.sources import Item, Pinned
from framesmith.guards.words import a_type
from framesmith.variables.core.attribute_errors import missing_name
from framesmith.variables.core.base import TraceContext, Tracker, Writer
from framesmith.variables.core.remains import REMAINS
from framesmith.variables.core.restored_values import is_same_value
from framesmith.variables.core.rows import Rows
from framesmith.variables.core.wrap_rules import wrap_found

ROWS: Final = Rows()

_LAZY: Final = getattr(types, "LazyImportType", None)
"""The type of a global variable whose module is not imported yet; None before Python 3.15."""


@final
class NamespaceTracker(Tracker):
    """The globals dictionary of a module. Invariant: `pending` holds the stores of the trace, which replay makes."""

    def __init__(self, value: dict[str, object], source: Source) -> None:
        self.value = value
        self.source = source
        self.pending: dict[str, Tracker | None] = {}
        self._loaded: dict[str, Tracker] = {}

    @property
    def python_type(self) -> type:
        """`dict`."""
        return dict

    def find(self, tx: TraceContext, name: str) -> Tracker | None:
        """The global variable `name`, or None when it is missing, which is guarded."""
        # None here means deleted: the builtins come next, as in CPython
        if name in self.pending:
            return self.pending[name]
        assert self.source is not None
        # one lazy tracker for each name: what it was realized to is kept, and the guard is not added again
        if name in self._loaded:
            return self._loaded[name]
        if name not in self.value:
            tx.note("is not there", self.source, name)
            tx.guard(self, HasKey(name, False))
            return None
        self._check_imported(tx, name)
        found = wrap_found(tx, self.value[name], Item(self.source, name))
        self._loaded[name] = found
        return found

    def _check_imported(self, tx: TraceContext, name: str) -> None:
        """Break at a `lazy import` (PEP 810): reading the variable imports the module and stores it."""
        value = self.value[name]
        if _LAZY is not None and type(value) is _LAZY:
            assert self.source is not None
            tx.guard(Item(self.source, name), Identical(value), "the import has not been made")
            raise GraphBreak(IMPORT, f"the lazy import of {name}")

    def load(self, tx: TraceContext, name: str) -> Tracker:
        """`name` as LOAD_GLOBAL reads it: globals, then builtins, then NameError."""
        found = self.find(tx, name)
        if found is not None:
            return found
        scope = builtins_of(self.value)
        if name in scope:
            return wrap_found(tx, scope[name], Item(Pinned(scope, "builtins"), name))
        tx.note("is not there", Pinned(scope, "builtins"), name)
        tx.guard(Pinned(scope, "builtins"), HasKey(name, False))
        return missing_name(tx, name)

    def store(self, tx: TraceContext, name: str, value: Tracker | None) -> None:
        """Bind or (None) delete a global variable."""
        tx.changes.note(self)
        # replay must not delete what the real dictionary does not have
        if value is None and name not in self.value:
            self.pending.pop(name, None)  # stored and deleted within the trace
        else:
            self.pending[name] = value

    def is_restored(self) -> bool:
        """Whether all global variables are what they were."""
        assert self.source is not None
        return all(
            value is not None
            and name in self.value
            and is_same_value(value, self.value[name], Item(self.source, name))
            for name, value in self.pending.items()
        )

    def replay(self, writer: Writer) -> None:
        """Store into and delete from the real dictionary."""
        # a constant: an entry belongs to code with these very globals (ADR 0022)
        place = writer.constant(self.value, "globals")
        for name, value in self.pending.items():
            if value is None:
                writer.statement(f"del {place}[{name!r}]")
            else:
                writer.statement(f"{place}[{name!r}] = {writer.value(value)}")


def builtins_of(namespace: dict[str, object]) -> dict[str, object]:
    """The builtins that code with these globals sees (CPython: `__builtins__`, a module or a dict)."""
    # CPython looks the builtins up in the globals when the function is made, and accepts a module there
    scope = namespace.get("__builtins__", builtins)
    if isinstance(scope, ModuleType):
        return scope.__dict__
    return scope if isinstance(scope, dict) else builtins.__dict__


@final
@dataclass(frozen=True, slots=True, eq=False)
class Globals:
    """Marks a dictionary that is wrapped as a namespace rather than as an ordinary dict."""

    value: dict[str, object]


@ROWS.wrap(Globals)
def wrap_namespace(tx: TraceContext, value: object, source: Source) -> Tracker:
    """The namespace of a module, without a guard: the dictionary
    is a constant of the entry; what is read from it is guarded."""
    assert isinstance(value, Globals)
    return NamespaceTracker(value.value, source)


def namespace_of(tx: TraceContext, value: dict[str, object]) -> NamespaceTracker:
    """The tracker of a globals dictionary: one per dictionary and trace.

    Breaks the graph for a subclass of dict: CPython asks its `__getitem__` for each name.
    """
    if type(value) is not dict:
        raise GraphBreak(UNSUPPORTED_VALUE, f"a function whose globals are {a_type(type(value))}")
    tracker = tx.wrap(Globals(value), Pinned(value, str(value.get("__name__", "globals"))))
    assert isinstance(tracker, NamespaceTracker)
    return tracker


@ROWS.entry(REMAINS, NamespaceTracker)
def namespace_remains(tracker: NamespaceTracker) -> Iterable[object]:
    """The values of the names that the trace did not store or delete."""
    return [value for name, value in tracker.value.items() if name not in tracker.pending]
