"""`Tracker`, the symbolic stand-in for one Python value, and `TraceContext`, what it may use while a trace runs.

`Tracker`, the protocols through which it calls upward, and `TraceContext` refer to each other, so they live
together. No concrete tracker lives here.
"""

from abc import abstractmethod
from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from types import (
    CodeType,
    GetSetDescriptorType,
    MemberDescriptorType,
    MethodDescriptorType,
    WrapperDescriptorType,
)
from typing import ClassVar, Final, NoReturn, Protocol, final

import torch
from torch import fx

from framesmith.graph import GraphBreak, Recorder
from framesmith.graph.breaks.break_kinds import OPERATION_RAISES, UNSUPPORTED_VALUE
from framesmith.graph.shapes.dynamic_dims import DynamicPolicy
from framesmith.guards import Guard, GuardSet, Reason, Source
from framesmith.guards.class_lookup import class_name, defines
from framesmith.guards.kinds import Claim, DistinctObjects, SameObject
from framesmith.variables.core.mutation_log import MutationLog
from framesmith.variables.core.registry import Registry

FieldDescriptor = MemberDescriptorType | GetSetDescriptorType
NativeMethod = MethodDescriptorType | WrapperDescriptorType
Arguments = Sequence["Tracker"]
Keywords = Mapping[str, "Tracker"]


class Tracker:
    """A symbolic Python value. What CPython has as a type slot is a method here.

    Invariant: `python_type` is the exact `type()` of the value at run time. A slot that is not overridden breaks the graph; it never
    guesses. Slots receive *realized* operands, or pass them on.
    `builtin_part`, if any, tracks the builtin part of the value, whose class then derives from a builtin type.
    `has_special_methods`: the class of the value fills the slots (`objects.special_methods`). `tells_changes`: the mutation log is told
    before `known_children` gives others, but for such as existed before; `was_reached`: see `IncrementalReachability`.
    """

    source: Source | None = None
    builtin_part: "Tracker | None" = None
    has_special_methods: bool = False
    tells_changes: ClassVar[bool] = False
    was_reached: bool = False

    @property
    @abstractmethod
    def python_type(self) -> type:
        """The exact type of the value."""

    @property
    def iterates_in_python(self) -> bool:
        """Whether iteration runs Python code in frames of its own, in which the graph may break."""
        return False

    @property
    def is_run_time_number(self) -> bool:
        """Whether this is a number that may differ from call to call in the same entry."""
        return False

    @property
    def is_unread(self) -> bool:
        """Whether this is an existing immutable value, or a text
        made of such, of which the trace knows only the type."""
        return False

    def realize(self) -> "Tracker":
        """The tracker with its type known; only a lazy tracker returns another object."""
        return self

    def builtin_part_or_self(self, tx: "TraceContext") -> "Tracker":
        """The tracker of the builtin part, on which C code of the builtin type
        works: `self`, except for an instance of a subclass of a builtin type."""
        return self

    def is_instance_of(self, cls: type) -> bool | None:
        """The result of `isinstance(self, cls)` where the tracker
        knows it; None where the class's own check decides."""
        return None

    # -- constants ---------------------------------------------------------------------------------
    def is_python_constant(self) -> bool:
        """Whether the whole value, members included, is known while tracing."""
        return False

    def as_python_constant(self) -> object:
        """The value itself (a fresh object for containers). Only when `is_python_constant()`."""
        return self.unsupported("a constant")

    # -- slots -------------------------------------------------------------------------------------
    def read_field(self, tx: "TraceContext", descriptor: FieldDescriptor) -> "Tracker":
        """The value of a slot or C-level field of this object."""
        return self.unsupported(f"reading attribute {descriptor.__name__!r}")

    def store_field(self, tx: "TraceContext", descriptor: FieldDescriptor, value: "Tracker | None") -> None:
        """Set (None: delete) a slot or C-level field of this object."""
        self.unsupported(f"storing attribute {descriptor.__name__!r}")

    def store_own(self, tx: "TraceContext", name: str, value: "Tracker") -> None:
        """Store into the object's own dictionary, as a cached property does."""
        self.unsupported(f"storing attribute {name!r}")

    def bind_native(self, tx: "TraceContext", descriptor: NativeMethod) -> "Tracker | None":
        """The bound method for a method in C of the class, where it is another than usual; else None."""
        return None

    # Where Python code may run, a tracker overrides the `begin_` form, which may leave a frame to the symbolic
    # interpreter, so that a graph break inside it can be continued; the other form is derived from it (ADR 0019).
    def begin_attribute(self, tx: "TraceContext", name: str) -> "Tracker | PendingCall":
        """`self.name`; raises `ObservedException(AttributeError)` where eager raises AttributeError.

        A Python call in tail position (a property) may be left pending.
        """
        return self.unsupported(f"reading attribute {name!r}")

    @final
    def attribute(self, tx: "TraceContext", name: str) -> "Tracker":
        """`self.name`, run to its end."""
        return run_pending(tx, self.begin_attribute(tx, name)).realize()

    def special_attribute(self, tx: "TraceContext", name: str) -> "Tracker":
        """The bound special method, looked up on the type as `with` and operators do."""
        return self.attribute(tx, name)

    def set_attribute(self, tx: "TraceContext", name: str, value: "Tracker") -> None:
        """`self.name = value`."""
        self.unsupported(f"storing attribute {name!r}")

    def delete_attribute(self, tx: "TraceContext", name: str) -> None:
        """`del self.name`."""
        self.unsupported(f"deleting attribute {name!r}")

    def begin_call(self, tx: "TraceContext", args: Arguments, kwargs: Keywords) -> "Tracker | PendingCall":
        """`self(*args, **kwargs)`; a Python call in tail position may be left pending."""
        return self.unsupported("calling it", "__call__")

    @final
    def call(self, tx: "TraceContext", args: Arguments, kwargs: Keywords) -> "Tracker":
        """`self(*args, **kwargs)`, run to its end."""
        return run_pending(tx, self.begin_call(tx, args, kwargs))

    def iterate(self, tx: "TraceContext") -> "Tracker":
        """`iter(self)`."""
        return self.unsupported("iterating over it")

    def begin_advance(self, tx: "TraceContext") -> "Tracker | PendingCall | None":
        """`next(self)`; None when exhausted. A StopIteration, also of a frame that is left pending, means exhausted too."""
        return self.unsupported("calling next() on it")

    @final
    def advance(self, tx: "TraceContext") -> "Tracker | None":
        """`next(self)`, run to its end; None when exhausted, also by a StopIteration of a function that C code calls."""
        try:
            begun = self.begin_advance(tx)
        except RaisedInProgram as error:
            if not error.ends_iteration:
                raise
            return None
        # a frame may return any value of the program, so its end is told by a tracker that is none
        if not isinstance(begun, PendingCall):
            return begun
        found = tx.inline(replace(begun, otherwise=_EXHAUSTED))
        return None if found is _EXHAUSTED else found

    def length(self, tx: "TraceContext") -> "Tracker":
        """`len(self)`."""
        return self.unsupported("taking its length")

    def ask_length(self, tx: "TraceContext") -> "Tracker | None":
        """What C code asks that allocates memory for all items before it takes them; None for a value whose answer runs
        no code of the user, or that has none (`PyObject_LengthHint`)."""
        return None

    def truth(self, tx: "TraceContext") -> "bool | Tracker":
        """`bool(self)`: a bool when known (and guarded), else the tracker of a tensor or symbolic value."""
        return self.unsupported("taking its truth value")

    def contains(self, tx: "TraceContext", item: "Tracker") -> "Tracker":
        """`item in self`."""
        return self.unsupported("a membership test", "__contains__", "__iter__", "__getitem__")

    def subscript(self, tx: "TraceContext", key: "Tracker") -> "Tracker":
        """`self[key]`."""
        return self.unsupported("subscripting it")

    def set_subscript(self, tx: "TraceContext", key: "Tracker", value: "Tracker") -> None:
        """`self[key] = value`."""
        self.unsupported("storing an item")

    def delete_subscript(self, tx: "TraceContext", key: "Tracker") -> None:
        """`del self[key]`."""
        self.unsupported("deleting an item")

    # None from an operator or a comparison is no verdict yet: where the method of the type was not modelled,
    # `operations.declining` breaks the graph instead of letting both sides decline into a TypeError.
    def binary(self, tx: "TraceContext", symbol: str, other: "Tracker") -> "Tracker | None":
        """`self <symbol> other` as the left operand; None means NotImplemented."""
        return None

    def reflected(self, tx: "TraceContext", symbol: str, other: "Tracker") -> "Tracker | None":
        """`other <symbol> self` as the right operand; None means NotImplemented."""
        return None

    def begin_special(self, tx: "TraceContext", name: str, args: Arguments) -> "Tracker | PendingCall | None":
        """Call a special method that is a Python function of the class; None when there is none."""
        return None

    def operator_method(self, tx: "TraceContext", symbol: str, in_place: bool) -> "Tracker | None":
        """The bound method of an operator if it is a Python function
        of the class, else None; its result may be NotImplemented."""
        return None

    def reflects_first(self, tx: "TraceContext", symbol: str, other: "Tracker") -> bool:
        """Whether the reflected method goes first, when this is an
        instance of a subclass of the left operand's type."""
        return True

    def inplace(self, tx: "TraceContext", symbol: str, other: "Tracker") -> "Tracker | None":
        """`self <symbol>= other`; None means NotImplemented, so that `binary` is tried next."""
        return None

    def unary(self, tx: "TraceContext", symbol: str) -> "Tracker":
        """`-self`, `~self`, `+self`."""
        return self.unsupported(f"unary {symbol}")

    def compare(self, tx: "TraceContext", symbol: str, other: "Tracker") -> "Tracker | None":
        """`self <symbol> other` for a rich comparison; None means NotImplemented."""
        return None

    def is_same(self, tx: "TraceContext", other: "Tracker") -> bool:
        """`self is other`. The default is right where an object has one tracker; it guards that the answer stays so."""
        guard_distinct(tx, self, other)
        return self is other

    def hash_key(self, tx: "TraceContext") -> Hashable:
        """A key, equal for equal values, under which the tracker of a dict or set stores this one."""
        return self.unsupported("hashing it")

    # -- after the graph ---------------------------------------------------------------------------
    def reconstruct(self, writer: "Writer") -> str:
        """Emit code that builds the value; return an expression for it. Called once per tracker and entry. Values with a source
        are loaded by the writer and never come here."""
        return self.unsupported("building it again after the graph")

    def replay(self, writer: "Writer") -> None:
        """Emit code that brings the existing object (one with a source) to the state it has in the trace."""
        self.unsupported("replaying changes to it")

    def is_restored(self) -> bool:
        """Whether the changes of the trace left the existing object as it was; False where that is not known."""
        return False

    def children(self) -> Iterator["Tracker"]:
        """The trackers that this one holds, which must be reconstructed with it."""
        return iter(())

    # -- errors ------------------------------------------------------------------------------------
    def known_children(self) -> "Iterator[Tracker]":
        """As `children`, without reading items of an existing object that the trace has not read."""
        return self.children()

    def unsupported(self, doing: str, *methods: str) -> NoReturn:
        """Break the graph, naming value and operation. `methods`: CPython refuses a class that has none of them."""
        if methods and not any(defines(self.python_type, name) for name in methods):
            raise GraphBreak(OPERATION_RAISES, f"{self.describe()} does not support {doing}")
        raise GraphBreak(UNSUPPORTED_VALUE, f"{self.describe()} does not support {doing} while tracing")

    def describe(self) -> str:
        """The value for messages: its type and source."""
        place = f" ({self.source.text()})" if self.source is not None else ""
        return f"{class_name(self.python_type)}{place}"

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {self.describe()}>"


@final
@dataclass(frozen=True, slots=True)
class SkippedFrame:
    """A frame that eager has and the trace has not, since all that it does is known: it calls what is traced.

    It waits in the first line of its code that reads `callee`, or in that line. What names its callers names it as well.
    """

    function: Callable[..., object]
    callee: str | int


@final
@dataclass(frozen=True, slots=True)
class PendingFrame:
    """A Python frame ready to run: code with its fast locals bound.

    `replacement`, when given, is what the caller receives instead of the returned value: the new
    instance after `__init__`, None after `__setattr__`. `otherwise` is what it receives when the frame raises StopIteration.
    `on_return` is told what the frame returns. `skipped`: the frames between the caller and this one, the outermost first.
    """

    code: CodeType
    namespace: "Tracker"
    arguments: Mapping[str, Tracker]
    closure: tuple["Tracker", ...]
    function: Tracker
    replacement: Tracker | None = None
    otherwise: Tracker | None = None
    on_return: Callable[[Tracker], None] | None = None
    skipped: tuple[SkippedFrame, ...] = ()


@final
@dataclass(frozen=True, slots=True)
class PendingStep:
    """A suspended generator, to be resumed with a value. `otherwise` is what the caller receives when it ends."""

    generator: Tracker
    value: Tracker
    otherwise: Tracker | None = None


class RaisedInProgram(Exception):
    """The base of `ObservedException`, which holds what the user's program raises; here for `advance` alone."""

    @property
    def ends_iteration(self) -> bool:
        """Whether it is a StopIteration."""
        return False


@final
class _Exhausted(Tracker):
    """Stands for the end of an iteration that is run to its end; no value of the program."""

    @property
    def python_type(self) -> type:
        """That of a marker."""
        return type(self)


_EXHAUSTED: Final = _Exhausted()
PendingCall = PendingFrame | PendingStep
"""Python code that the symbolic interpreter runs in a frame of its own, so that the graph can break in there."""


class InlineCall(Protocol):
    """Runs a Python frame symbolically to its end. Implemented by the symbolic interpreter."""

    def __call__(self, pending: PendingCall) -> Tracker:
        """The returned value; `pending.otherwise`, if given, when a StopIteration leaves the frame. Raises
        `ObservedException` for any other user-level exception."""
        ...


class CallModule(Protocol):
    """Decides how the call of a module, or of a marked function, is traced. Implemented by `variables.blocks`."""

    @property
    def noted(self) -> Sequence[object]:
        """The calls that have not ended. If there are any, `see` has to be told."""

    def __call__(
        self,
        tx: "TraceContext",
        module: Tracker,
        args: Arguments,
        kwargs: Keywords,
        begin: "Callable[[], Tracker | PendingCall | None]",
    ) -> "Tracker | PendingCall | None":
        """The result, if an earlier call of an equal module could be repeated; else what `begin` gives."""

    def see(self, values: Sequence[Tracker]) -> None:
        """The next operation of the trace has these values at hand."""

    def call_region(
        self,
        tx: "TraceContext",
        function: Tracker,
        args: Arguments,
        kwargs: Keywords,
        begin: "Callable[[], Tracker | PendingCall]",
    ) -> "Tracker | PendingCall":
        """The result, if an earlier call of the same function could be repeated; else what `begin` gives."""


class Wrap(Protocol):
    """Returns the tracker of a real value read from a source, with the guards that it needs.

    `policy` says which sizes and numbers become symbolic, and which values a trace must not read.
    """

    @property
    def policy(self) -> DynamicPolicy:
        """The specialization policy of the trace."""
        ...

    def __call__(self, value: object, source: Source) -> Tracker:
        """One tracker per object; a second source for the same object adds an aliasing guard."""
        ...


class Writer(Protocol):
    """Receives the Python source of an entry while values are reconstructed."""

    @property
    def registry(self) -> Registry:
        """The rows, for values that are built as the row of their type says."""
        ...

    def load(self, source: Source) -> str:
        """An expression for the value at `source` as it was when the entry began."""
        ...

    def constant(self, value: object, hint: str) -> str:
        """A name in the entry that is bound to this object."""
        ...

    def node(self, node: fx.Node) -> str:
        """An expression for the run-time result of a graph node (it becomes a graph output)."""
        ...

    def value(self, tracker: Tracker) -> str:
        """An expression for any tracker; each is built once."""

    def define(self, tracker: Tracker, expression: str, hint: str) -> str:
        """Assign `expression` to a fresh variable, which is used for `tracker` from now on; so reference cycles can be
        built. Does not return where what `tracker` holds has built it meanwhile: `value` gives that one."""

    def statement(self, text: str) -> None:
        """Append one statement."""


_READ: Final = Reason("the trace read it")


@final
@dataclass(frozen=True, slots=True)
class TraceContext:
    """Everything that a tracker may use while tracing. `call_module`: None where each call of a module is traced.

    `lookups` are the answers of `objects.lookup.find` so far, by the class's id and the name; each holds its class, so
    that the id stays its own.
    """

    graph: Recorder
    guards: GuardSet
    changes: "MutationLog[Tracker]"
    registry: Registry
    wrap: Wrap
    inline: InlineCall
    call_module: CallModule | None = None
    lookups: dict[tuple[int, str], tuple[type, object]] = field(default_factory=dict)

    def guard(self, tracker_or_source: Tracker | Source | None, claim: Claim, why: str = "") -> None:
        """Add a guard on a value; does nothing for a value created in the trace, which has no source."""
        source = tracker_or_source.source if isinstance(tracker_or_source, Tracker) else tracker_or_source
        if source is not None:
            self.guards.require(source, claim, Reason(why) if why else _READ)

    def note(self, what: str, source: Source | None, name: object = None) -> None:
        """Record what was read of the real world, for the check that a guard covers it (`guards.facts`)."""
        if self.guards.facts is not None:
            self.guards.facts.note(what, source, name)


def run_pending(tx: TraceContext, outcome: Tracker | PendingCall) -> Tracker:
    """The result of a call or an attribute that was begun: a pending call is run to its end."""
    return tx.inline(outcome) if isinstance(outcome, PendingCall) else outcome


def guard_distinct(tx: TraceContext, one: Tracker, other: Tracker) -> None:
    """Guard that two trackers of one type are two objects: a later call may pass one object twice.

    Tensors need none, since one guard covers all tensors of an entry.
    """
    # an object made in the trace is another one in each call, whatever is passed in
    if one is other or one.source is None or other.source is None:
        return
    # values of two types are two objects, and both types are guarded
    if one.python_type is other.python_type and not issubclass(one.python_type, torch.Tensor):
        pair = DistinctObjects((one.source, other.source))
        tx.guards.add(Guard.relation(pair, Reason("the trace told them apart", None)))


def same_value(tx: TraceContext, one: Tracker, value: object, other: Tracker) -> bool:
    """Whether `other` is a second tracker of the existing object `value`
    of the first; if so, guards that both stay the same object."""
    # a tracker without `value` gives None here as well, which must not count as the same object
    if one is other or value is None or getattr(other, "value", None) is not value:
        return one is other
    if one.source is not None and other.source is not None:
        tx.guards.add(
            Guard.relation(SameObject(one.source, other.source), Reason("two names for one object", None))
        )
    return True
