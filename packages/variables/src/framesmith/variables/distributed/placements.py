"""How a `DTensor` is laid out over processes: placements (`Shard(0)`, `Replicate()` ...) and its specification, known by value.

Each `DTensor` has objects of its own that are equal to those of others, so that a guard compares what they hold, and the mesh alone
by identity.
"""

from collections.abc import Hashable
from typing import Final, final

import torch
from torch.distributed.tensor import Partial, Replicate, Shard
from torch.distributed.tensor._dtensor_spec import DTensorSpec
from torch.distributed.tensor.placement_types import _StridedShard

from framesmith.graph import GraphBreak
from framesmith.graph.breaks.break_kinds import UNSUPPORTED_VALUE
from framesmith.guards import Source
from framesmith.guards.comparison import same_constant
from framesmith.guards.kinds import EqualTo, TypeIs, WeaklyIdentical
from framesmith.guards.sources import Attribute, CallResult, Pinned
from framesmith.variables.core import Constant, TraceContext, Tracker, Writer, from_python
from framesmith.variables.core.base import Arguments, Keywords
from framesmith.variables.core.folding import fold
from framesmith.variables.core.known_value import KnownValue
from framesmith.variables.core.rows import Rows

ROWS: Final = Rows()

_FIELDS: Final[dict[type, tuple[str, ...]]] = {
    Shard: ("dim",),
    Replicate: (),
    Partial: ("reduce_op",),
    _StridedShard: ("dim", "split_factor"),
}
"""The classes of placements, with what their constructors take."""
_QUESTIONS: Final = frozenset({"is_shard", "is_replicate", "is_partial", "__str__", "__repr__"})
_MESH: Final = "mesh"
_OF_NO_VALUE: Final = frozenset({_MESH, "_hash"})  # the latter is computed when it is needed


@final
class PlacementTracker(KnownValue[object]):
    """A placement, which never changes. Invariant: its class is one of torch's own, and existing ones are guarded by value."""

    equals_itself = True

    def begin_attribute(self, tx: TraceContext, name: str) -> Tracker:
        """What it was made with, or a question that C code answers."""
        if name in _FIELDS[type(self.value)]:
            return from_python(tx, getattr(self.value, name))
        return (
            PlacementQuestion(self, name)
            if name in _QUESTIONS
            else self.unsupported(f"reading attribute {name!r}")
        )

    def compare(self, tx: TraceContext, symbol: str, other: Tracker) -> Tracker | None:
        """`==` and `!=` with another placement."""
        if symbol not in ("==", "!=") or not isinstance(other, PlacementTracker):
            return self.unsupported(f"{symbol} with {other.describe()}")
        are_equal = describe_placement(self.value) == describe_placement(other.value)
        return Constant(are_equal is (symbol == "=="))

    def is_same(self, tx: TraceContext, other: Tracker) -> bool:
        """`self is other`. Which of two equal ones are one object differs from call to call."""
        if other is self or not isinstance(other, PlacementTracker):
            return other is self
        if describe_placement(self.value) != describe_placement(other.value):
            return False
        return self.unsupported("an identity test with an equal one")

    def hash_key(self, tx: TraceContext) -> Hashable:
        """Equal ones hash alike."""
        return ("placement", describe_placement(self.value))

    def reconstruct(self, writer: Writer) -> str:
        """A new one, as the program has made it."""
        kind, *values = describe_placement(self.value)
        assert isinstance(kind, type)
        given = ", ".join(f"{name}={value!r}" for name, value in zip(_FIELDS[kind], values, strict=True))
        return writer.define(self, f"{writer.constant(kind, kind.__name__)}({given})", "placement")


@final
class PlacementQuestion(Tracker):
    """A bound method of a placement (`is_shard` ...) that is answered while tracing. It is only called."""

    source = None

    def __init__(self, placement: PlacementTracker, name: str) -> None:
        self.placement = placement
        self.name = name

    @property
    def python_type(self) -> type:
        """That of a bound method, which may be one in C."""
        return type(getattr(self.placement.value, self.name))

    def begin_call(self, tx: TraceContext, args: Arguments, kwargs: Keywords) -> Tracker:
        """The answer."""
        return fold(tx, getattr(self.placement.value, self.name), args, kwargs)


@final
class SpecTracker(KnownValue[DTensorSpec]):
    """The specification that a `DTensor` holds: its mesh, placements, and sizes. Existing ones are guarded by value."""

    def begin_attribute(self, tx: TraceContext, name: str) -> Tracker:
        """The mesh, the placements; of the rest what is a plain value."""
        found = getattr(self.value, name, None)
        if name not in vars(self.value) or name == "_hash":
            return self.unsupported(f"reading attribute {name!r}")
        if self.source is not None:
            return tx.wrap(found, Attribute(self.source, name))
        return tx.wrap(found, Pinned(found, _MESH)) if name == _MESH else from_python(tx, found)

    def reconstruct(self, writer: Writer) -> str:
        """There is none: the tensor of which it is leaves the graph, and has one."""
        return self.unsupported("use after the graph")


def describe_placement(value: object) -> tuple[object, ...]:
    """The class of a placement and what it was made with. Raises ValueError for what is none of torch's own, or holds more."""
    fields = _FIELDS.get(type(value))
    if fields is None or vars(value):
        raise ValueError(value)
    return (type(value), *[getattr(value, name) for name in fields])


def describe_spec(spec: object) -> object:
    """All that a specification holds but for its mesh, as plain values; None if it holds something else."""
    try:
        return tuple(
            (name, _describe(value)) for name, value in vars(spec).items() if name not in _OF_NO_VALUE
        )
    except ValueError:
        return None


@final
class LayoutAsked:
    """Asks whether another specification holds the same: True, or what it holds. Most hold the very tuples, which never change."""

    __slots__ = ("__name__", "_description", "_fields")

    def __init__(self, spec: DTensorSpec) -> None:
        self.__name__: str = "layout"
        self._fields = {name: value for name, value in vars(spec).items() if name not in _OF_NO_VALUE}
        self._description = describe_spec(spec)

    def __call__(self, spec: object) -> object:
        held = vars(spec)
        if all(held.get(name, held) is value for name, value in self._fields.items()):
            return True
        found = describe_spec(spec)
        return same_constant(found, self._description) or found


def _describe(value: object) -> object:
    if isinstance(value, tuple):
        return (type(value).__name__, *map(_describe, value))
    if type(value) in _FIELDS:
        return describe_placement(value)
    if value is None or type(value) in (int, bool, str, torch.dtype):
        return value
    raise ValueError(value)


def wrap_placement(tx: TraceContext, value: object, source: Source) -> Tracker:
    """An existing placement."""
    tx.guard(source, TypeIs(type(value)))
    try:
        found = describe_placement(value)
    except ValueError:
        raise GraphBreak(UNSUPPORTED_VALUE, f"{source.text()}, a placement that holds more") from None
    tx.guard(CallResult(source, describe_placement), EqualTo(found))
    return PlacementTracker(value, source)


@ROWS.wrap(DTensorSpec)
def wrap_spec(tx: TraceContext, value: object, source: Source) -> Tracker:
    """The specification of an existing tensor."""
    assert isinstance(value, DTensorSpec)
    if describe_spec(value) is None:
        raise GraphBreak(
            UNSUPPORTED_VALUE, f"{source.text()}, a specification with sizes or placements of other kinds"
        )
    tx.guard(source, TypeIs(DTensorSpec))
    tx.guard(CallResult(source, LayoutAsked(value)), EqualTo(True))
    tx.guard(Attribute(source, _MESH), WeaklyIdentical.capture(value.mesh))
    return SpecTracker(value, source)


def _new_placement(tx: TraceContext, value: object) -> Tracker:
    return PlacementTracker(value)


def _new_spec(tx: TraceContext, value: object) -> Tracker:
    assert isinstance(value, DTensorSpec)
    return SpecTracker(value)


def _register_constructor(cls: type) -> None:
    def construct(tx: TraceContext, *args: Tracker, **kwargs: Tracker) -> Tracker:
        return fold(tx, cls, args, kwargs)

    ROWS.call(cls)(construct)


for _kind in _FIELDS:
    ROWS.wrap(_kind)(wrap_placement)
    ROWS.build(_new_placement, _kind)
    _register_constructor(_kind)
ROWS.build(_new_spec, DTensorSpec)
