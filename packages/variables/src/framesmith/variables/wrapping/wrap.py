"""`wrap(value, source)`: one tracker for each object, with guards on aliasing.

The rules themselves are next to the trackers (`core.wrap_rules` declares their tables).
"""

from collections.abc import Iterable, Iterator
from typing import final

from framesmith.graph import GraphBreak
from framesmith.graph.breaks.break_kinds import UNSUPPORTED_VALUE
from framesmith.graph.shapes.dynamic_dims import DynamicPolicy, StaticPolicy
from framesmith.guards import Guard, Reason, Source
from framesmith.guards.class_lookup import static_lookup
from framesmith.guards.kinds import SameObject
from framesmith.guards.words import a_type
from framesmith.variables.builtin_types.namespaces import Globals
from framesmith.variables.core.base import TraceContext, Tracker
from framesmith.variables.core.constant import Constant
from framesmith.variables.core.structure import guard_structure
from framesmith.variables.core.wrap_rules import WrapRules


def _compares_classes(metaclass: type) -> bool:
    """Whether looking a class up in a table runs user code, through its metaclass."""
    return any(
        static_lookup(metaclass, name) is not static_lookup(type, name) for name in ("__hash__", "__eq__")
    )


@final
class Wrapper:
    """The `Wrap` protocol for one trace.

    Invariant: an object with identity gets one tracker per trace; wrapping it again from another
    source adds a guard that both sources give the same object. `policy` says what becomes symbolic and what is not read.
    `noted` are objects that guards speak of and that need no tracker so far: one that is wrapped gets its own source.
    """

    def __init__(self, policy: DynamicPolicy | None = None) -> None:
        self.policy = policy or StaticPolicy()
        self._context: TraceContext | None = None
        self._rules = WrapRules()
        self._by_source: dict[Source, Tracker] = {}
        self._by_identity: dict[int, tuple[object, Tracker]] = {}
        self._places: dict[int, int] = {}  # by the identity of the tracker: the object's
        self.noted: dict[Source, object] = {}
        self._notes: dict[int, Source] = {}

    def attach(self, tx: TraceContext) -> None:
        """Set the context that rules receive; the context holds this wrapper in turn."""
        self._context = tx

    def release(self) -> None:
        """Drop the user's objects and the context: the trace has ended."""
        self._context = None
        self._rules.release()
        self._by_source.clear()
        self._by_identity.clear()
        self._places.clear()
        self.noted.clear()
        self._notes.clear()

    def __call__(self, value: object, source: Source) -> Tracker:
        """The tracker of `value`, read from `source`; breaks the graph if no rule wraps it."""
        assert self._context is not None
        # by source first: a source gives the same object throughout a trace
        found = self._by_source.get(source)
        if found is not None:
            return found
        # an object that was noted at another source is wrapped from there, since guards speak of that one
        known = self._by_identity.get(id(value)) or self._wrap_noted(value, source)
        if known is not None:
            tracker = known[1]
            if tracker.source is not None and tracker.source != source:
                self._context.guards.add(
                    Guard.relation(
                        SameObject(tracker.source, source), Reason("two names for one object", None)
                    )
                )
            self._by_source[source] = tracker
            return tracker
        is_class = issubclass(type(value), type)
        # the tables of rules are keyed by classes: a look-up hashes and compares them
        for metaclass in (type(type(value)), *([type(value)] if is_class else [])):
            if metaclass is not type and _compares_classes(metaclass):
                raise GraphBreak(
                    UNSUPPORTED_VALUE, f"the metaclass of {source.text()} compares or hashes classes"
                )
        rule = self._rules.find(self._context.registry, value)
        if rule is None:
            raise GraphBreak(UNSUPPORTED_VALUE, f"no rule wraps {a_type(type(value))} ({source.text()})")
        tracker = rule(self._context, value, source)
        self._by_source[source] = tracker
        # `Globals` is a marker of ours, whose type no program sees
        if not tracker.is_unread and type(value) is not Globals:
            self._context.note("has its type", source)
        # of the value's class, and below of a class that is the value: special methods decide what the trackers do
        guard_structure(self._context, tracker.python_type)
        if is_class:
            assert isinstance(value, type)
            guard_structure(self._context, value)
        is_value = isinstance(tracker, Constant) or tracker.is_unread or type(value) in (int, float)
        if not is_value:  # values have no identity
            self._by_identity[id(value)] = (value, tracker)
            self._places[id(tracker)] = id(value)
        return tracker

    def _wrap_noted(self, value: object, source: Source) -> tuple[object, Tracker] | None:
        """Wrap an object that was noted at another source from there, which is its first one."""
        first = self._notes.get(id(value)) if self._notes else None
        if first is None or first == source:
            return None
        self(value, first)
        return self._by_identity.get(id(value))

    # -- what was read, for calls that are repeated (`variables.blocks`) ------------------------------
    def adopt(self, value: object, source: Source, tracker: Tracker) -> None:
        """Take the tracker of an object that is new to the trace, made by something else than a wrap rule."""
        self._by_source[source] = tracker
        self._by_identity[id(value)] = (value, tracker)
        self._places[id(tracker)] = id(value)

    def note(self, value: object, source: Source) -> None:
        """Note an object with an identity that has no tracker yet."""
        self.noted[source] = value
        self._notes.setdefault(id(value), source)

    def first_source(self, value: object) -> Source | None:
        """Where an object was read first; None for one that is new to the trace."""
        known = self._by_identity.get(id(value))
        return self._notes.get(id(value)) if known is None else known[1].source

    def sources(self) -> Iterable[Source]:
        """Where objects and values were read."""
        return (*self._by_source, *self.noted)

    def find(self, source: Source) -> Tracker | None:
        """The tracker of what was wrapped at a source."""
        return self._by_source.get(source)

    def object_of(self, tracker: Tracker) -> tuple[object] | None:
        """The existing object of a tracker; None for a value without identity."""
        place = self._places.get(id(tracker))
        return None if place is None else (self._by_identity[place][0],)

    def object_at(self, source: Source) -> tuple[object] | None:
        """The existing object that was read or noted at a source; None for a value without identity."""
        tracker = self._by_source.get(source)
        if tracker is not None:
            return self.object_of(tracker)
        return (self.noted[source],) if source in self.noted else None

    def has_changes(self) -> bool:
        """Whether the trace has changed any existing object."""
        assert self._context is not None
        return self._context.changes.has_changed_any()

    def has_changed(self, value: object) -> bool:
        """Whether the trace has changed an existing object."""
        known = self._by_identity.get(id(value))
        assert self._context is not None
        return known is not None and self._context.changes.is_changed(known[1])

    def objects(self) -> Iterator[tuple[Source, type]]:
        """Where objects with an identity were first read, and their types."""
        for _, tracker in self._by_identity.values():
            if tracker.source is not None:
                yield tracker.source, tracker.python_type
        for source, value in self.noted.items():
            if id(value) not in self._by_identity:
                yield source, type(value)

    def list_wrapped_objects(self) -> tuple[tuple[object, Tracker], ...]:
        """All wrapped objects with an identity, each with its tracker."""
        return tuple(self._by_identity.values())
