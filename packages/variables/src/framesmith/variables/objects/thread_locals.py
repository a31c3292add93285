"""`threading.local`: the attributes of the thread that runs the call, read and guarded there, and stored after the graph.

A class derived from it is an ordinary object that breaks the graph: its `__init__` runs anew in each thread.
"""

import threading
from collections.abc import Hashable, Iterable, Iterator
from types import NoneType
from typing import Final, final

import torch

from framesmith.guards import Source
from framesmith.guards.kinds import HasInstanceAttribute, Identical
from framesmith.guards.sources import InstanceItem
from framesmith.variables.core import TraceContext, Tracker, Writer
from framesmith.variables.core.known_value import KnownValue
from framesmith.variables.core.raising import raise_observed
from framesmith.variables.core.remains import REMAINS
from framesmith.variables.core.rows import Rows

ROWS: Final = Rows()


@final
class ThreadLocal(KnownValue[threading.local]):
    """An existing `threading.local`. `stored` are the attributes that the trace has set (None: deleted)."""

    tells_changes = False

    def __init__(self, value: threading.local, source: Source) -> None:
        super().__init__(value, source)
        self.stored: dict[str, Tracker | None] = {}

    def is_python_constant(self) -> bool:
        """False: what it holds differs from thread to thread, and from call to call."""
        return False

    def begin_attribute(self, tx: TraceContext, name: str) -> Tracker:
        """An attribute of this thread; AttributeError where it has none of this name."""
        if name.startswith("__"):
            return self.unsupported(f"reading attribute {name!r}")
        found = self._find(tx, name)
        if found is None:
            cls = type(self.value)
            kind = f"{cls.__module__}.{cls.__name__}"
            raise_observed(tx, AttributeError, f"'{kind}' object has no attribute '{name}'")
        return found

    def _find(self, tx: TraceContext, name: str) -> Tracker | None:
        if name in self.stored:
            return self.stored[name]
        held, source = self.value.__dict__, self.source
        assert source is not None
        tx.guard(self, HasInstanceAttribute(name, name in held))
        return tx.wrap(held[name], InstanceItem(source, name)) if name in held else None

    def set_attribute(self, tx: TraceContext, name: str, value: Tracker) -> None:
        """`self.name = value`, for this thread."""
        if name.startswith("__"):
            self.unsupported(f"storing attribute {name!r}")
        self._check_end(tx, name)
        tx.changes.note(self)
        self.stored[name] = value

    def delete_attribute(self, tx: TraceContext, name: str) -> None:
        """`del self.name`; AttributeError where this thread has none of this name."""
        if name.startswith("__") or self._find(tx, name) is None:
            self.unsupported(f"deleting attribute {name!r}")
        self._check_end(tx, name)
        tx.changes.note(self)
        self.stored[name] = None

    def _check_end(self, tx: TraceContext, name: str) -> None:
        """Break the graph where the program may see that a value ends, of which this thread's attribute is the last holder."""
        held = self.value.__dict__.get(name)
        if name not in self.stored and not isinstance(held, torch.Tensor | int | float | str | NoneType):
            self.unsupported(f"replacing attribute {name!r}, a {type(held).__name__}")
        tx.guard(self, HasInstanceAttribute(name, name in self.value.__dict__))

    def hash_key(self, tx: TraceContext) -> Hashable:
        """By identity."""
        return ("object", self.value)

    def children(self) -> Iterator[Tracker]:
        """What the trace stored."""
        return (value for value in self.stored.values() if value is not None)

    def replay(self, writer: Writer) -> None:
        """Set and delete the attributes."""
        assert self.source is not None
        place = writer.load(self.source)
        for name, value in self.stored.items():
            if value is not None:
                writer.statement(
                    f"{writer.constant(setattr, 'setattr')}({place}, {name!r}, {writer.value(value)})"
                )
            else:
                writer.statement(f"{writer.constant(drop, 'drop')}({place}, {name!r})")


def drop(owner: threading.local, name: str) -> None:
    """Delete an attribute, which is not there if the trace has stored it before."""
    owner.__dict__.pop(name, None)


@ROWS.wrap(threading.local)
def wrap_thread_local(tx: TraceContext, value: object, source: Source) -> Tracker:
    """An existing one, guarded by identity, and its attributes when they are read."""
    assert isinstance(value, threading.local)
    tx.guard(source, Identical(value))
    return ThreadLocal(value, source)


@ROWS.entry(REMAINS, ThreadLocal)
def remains(tracker: ThreadLocal) -> Iterable[object]:
    """The attributes of this thread that the trace did not store or delete."""
    return [value for name, value in tracker.value.__dict__.items() if name not in tracker.stored]
