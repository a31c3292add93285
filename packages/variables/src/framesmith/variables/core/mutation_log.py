"""`MutationLog`: the existing objects that a trace changed, in order, so that the entry can make the same changes after the graph.

The log stands below trackers, which import it: of a tracker it knows no more than that it has a source (`Sourced`). How a
change is written is `Tracker.replay`; when, `write_changes` in the frontend.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Generic, Protocol, TypeVar, final

import torch
from torch import fx

from framesmith.graph import GraphBreak
from framesmith.guards import Source
from framesmith.variables.core.ambient import AmbientState
from framesmith.variables.core.fake_trackers import FakeTrackers
from framesmith.variables.core.made_classes import MadeClass
from framesmith.variables.core.override_state import OverrideState


class Sourced(Protocol):
    """A tracker, as far as the log asks: it has a source if it stands for an existing object."""

    @property
    def source(self) -> Source | None:
        """Where the object comes from; None for one created in the trace."""


V = TypeVar("V", bound=Sourced)
Read = TypeVar("Read", contravariant=True)


class ReadWatcher(Protocol[Read]):
    """Is told what a stretch of the trace reads. Implemented by `higher_order.state_reads`.

    `step`: that of the trace in which the stretch is, if it has to run natively where something of it changes afterwards.
    """

    step: int | None

    def see(self, values: Sequence[Read]) -> None:
        """The trace has these values at hand."""
        ...

    def see_name(self, stored: Mapping[str, Read | None], name: str) -> None:
        """The trace reads a name of an existing namespace or tensor; `stored`: what it has stored there itself."""
        ...

    def is_outdated(self) -> bool:
        """Whether the trace has changed since what was read."""
        ...

    def is_used_by(self, outputs: Iterable[torch.Tensor]) -> bool:
        """Whether a backward pass from these tensors runs what was read for."""
        ...


class Launch(Protocol):
    """Something that the trace began and that another step ends. Implemented by `distributed.works` and
    `torch_contexts.dual_levels`.

    `step`: that which began it; `ended`: that which ended it; `escapes`: an object for it is needed after the graph.
    """

    step: int
    ended: int | None
    escapes: bool

    @property
    def position(self) -> str | None:
        """Where an operation stands that is recorded now, if its failure could not be made up for behind the graph; else None."""
        ...

    def explain(self) -> GraphBreak:
        """The break at which it begins natively."""
        ...


class ChangedClass(Protocol[V]):
    """A class with attributes that the trace stored (None: deleted)."""

    changes: dict[str, V | None]


@final
class MutationLog(Generic[V]):
    """What the trace changed: existing objects in order of their first change, classes, and settings of torch (`ambient`);
    `overrides` says whether torch asks subclasses at the present point.

    `results` are the trackers of fake tensors. `asked_classes` are the pairs of classes whose `issubclass` is guarded.

    `moved` are the nodes that copied a tensor into a new parameter, which eager gives the tensor's own memory.

    `asked_gradients` are the nodes of results whose own gradient the program asks for after the graph, by a hook say.

    `content_reads` are the tensors whose content the guards read, where the graph had written to others before.

    `has_identity_keys`: `id(x)` of an existing object, or the number of the thread, was looked up as a key, unread;
    `exact_identities`: it is to be read. `has_number_keys`: a symbolic number was.

    `says_compiling`: what `is_compiling()` gives (`tell_compiling`); `was_told_compiling`: code asked, and it was true.

    `called` is what the present operation of the program calls, until the call has begun; `must_not_break`: a graph break is an error;
    `keeps_reads`: the operation that breaks the graph has run, so the trace, which saw what was before, is not made again;
    `find_outdated` gives the guards so far that do not hold any more: code that ran for real has changed what the trace has read.

    `has_state_numbers`: a symbolic number was read from something else than an argument, so that the entry will load it.

    `made_classes` are the classes that the trace made itself, by `id`; one that it changes counts among `classes` too.

    `told_apart` are the pairs of trackers, by `id`, of which the program asked whether they are one object.

    `let_go` are values that an object let go of in the present step, which may end with that.

    `readers` are told what the trace reads while they watch; `native_reads` are those of Python code that the graph runs as it is.

    `awaited_gradients`: tensors, by `id`, to which the backward pass that is traced gives a gradient at a time that is not known.

    `launches` are what the trace began and another step has to end.

    `version` grows with every change to any tracker, new objects included: two equal versions mean that nothing
    changed in between. `changed_at` has the version of the last change of each tracker, by its id.
    """

    def __init__(self) -> None:
        self.version = 0
        # an id may be used again after its tracker died; the new one then counts as changed, which only keeps
        # a call from being repeated (`blocks.moments`)
        self.changed_at: dict[int, int] = {}
        self.ambient = AmbientState[V]()
        self.overrides = OverrideState()
        self.classes: dict[type, ChangedClass[V]] = {}
        self.asked_classes: set[tuple[type, type]] = set()
        self.made_classes: dict[int, MadeClass] = {}
        self.exact_identities = False
        self.has_identity_keys = False
        self.has_number_keys = False
        self.awaited_gradients: frozenset[int] = frozenset()
        self.has_state_numbers = False
        self.says_compiling = True
        self.was_told_compiling = False
        self.called: V | None = None
        self.must_not_break = self.keeps_reads = False
        self.find_outdated: Callable[[], frozenset[int]] = frozenset
        self.results: FakeTrackers[V] = FakeTrackers()
        self.moved: list[fx.Node] = []
        self.asked_gradients: list[fx.Node] = []
        self.content_reads: dict[Source, None] = {}
        self._changed: dict[int, V] = {}
        self._keys: dict[int, V] = {}
        self._identity_uses = 0
        self.told_apart: list[tuple[int, int]] = []
        self._watching: list[list[V]] = []
        self.let_go: list[V] = []
        self.readers: list[ReadWatcher[V]] = []
        self.native_reads: list[ReadWatcher[V]] = []
        self.launches: list[Launch] = []
        self.on_change: Callable[[V], None] | None = None  # told before it changes
        self.on_reference: Callable[[V], None] | None = None  # told to what a weak reference was made

    def note(self, tracker: V) -> None:
        """Record that `tracker` is about to change."""
        self.version += 1
        self.changed_at[id(tracker)] = self.version
        # before it counts as changed: who is told asks whether this is the first change, and what it still holds
        if self.on_change is not None:
            self.on_change(tracker)
        for noted in self._watching:
            noted.append(tracker)
        # an object made in the trace is written as it is at the end; nothing of it has to be replayed
        if tracker.source is not None:
            self._changed.setdefault(id(tracker), tracker)

    def tell_compiling(self) -> bool:
        """The answer to `is_compiling()`: true, unless the program raises for it."""
        self.was_told_compiling |= self.says_compiling
        return self.says_compiling

    def note_class(self, made: MadeClass) -> None:
        """Record a class that the trace made: a call that makes one is not repeated."""
        self.version += 1
        self.made_classes[id(made.cls)] = made

    def note_reference(self, target: V) -> None:
        """Record that a weak reference to a value was made."""
        if self.on_reference is not None:
            self.on_reference(target)

    def watch(self) -> list[V]:
        """A list of the trackers that change from now on, new objects included; the caller may empty it."""
        noted: list[V] = []
        self._watching.append(noted)
        return noted

    @contextmanager
    def watch_changes(self, noted: list[V] | None = None) -> Iterator[list[V]]:
        """A list of the trackers that are changed while the `with` block runs; new objects are included. `noted` is the list, to which each
        is appended before it changes."""
        noted = [] if noted is None else noted
        self._watching.append(noted)
        try:
            yield noted
        finally:
            self._watching.pop()

    @contextmanager
    def await_gradients(self, tensors: Iterable[V]) -> Iterator[None]:
        """Nothing may read the gradients of these tensors while the `with` block runs."""
        before, self.awaited_gradients = self.awaited_gradients, frozenset(map(id, tensors))
        try:
            yield
        finally:
            self.awaited_gradients = before

    @contextmanager
    def watch_reads(self, reader: ReadWatcher[V]) -> Iterator[None]:
        """Tell `reader` what frames read that begin and end while the `with` block runs."""
        self.readers.append(reader)
        try:
            yield
        finally:
            self.readers.pop()

    def changed_trackers(self) -> tuple[V, ...]:
        """Existing objects that the entry must bring up to date, in order of first change."""
        return tuple(self._changed.values())

    def forget(self, tracker: V) -> None:
        """Leave out the changes of a tracker, which have left the object as it was."""
        self._changed.pop(id(tracker), None)

    @property
    def has_changes(self) -> bool:
        """Whether an existing object or a class was changed."""
        return bool(self._changed) or bool(self.classes)

    @property
    def keys(self) -> int:
        """How often the identity of an existing object was used."""
        return self._identity_uses

    def note_key(self, tracker: V) -> None:
        """Record that the trace used an existing object's identity, as
        a key or a number: it must stay distinct from the others."""
        if tracker.source is not None:
            self._identity_uses += 1
            self._keys.setdefault(id(tracker), tracker)

    def distinct_trackers(self) -> tuple[V, ...]:
        """Existing objects whose identity was used, which have to be guarded as distinct."""
        return tuple(self._keys.values())

    def release(self) -> None:
        """Drop all references: the trace has ended."""
        self._changed.clear()
        self.changed_at.clear()
        self.classes.clear()
        self.asked_classes.clear()
        self.made_classes.clear()
        self.moved.clear()
        self.asked_gradients.clear()
        self.content_reads.clear()
        self.on_change = self.on_reference = self.called = None
        self.find_outdated = frozenset
        self._keys.clear()
        self._watching.clear()
        self.told_apart.clear()
        self.native_reads.clear()
        self.launches.clear()
        self.results.release()

    def has_changed_any(self) -> bool:
        """Whether an existing object has a change that is not replayed yet."""
        return bool(self._changed)

    def is_changed(self, tracker: V) -> bool:
        """Whether an existing object has a change that is not replayed yet."""
        return id(tracker) in self._changed
