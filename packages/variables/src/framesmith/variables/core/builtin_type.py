"""`BuiltinType`: the row of one builtin type, with all that modules beyond its own ask about it.

The rows of single types stand beside their trackers.
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Final, TypeAlias, final

from framesmith.guards import Source
from framesmith.guards.class_lookup import flags_of, resolution_order
from framesmith.variables.core.base import TraceContext, Tracker
from framesmith.variables.core.folding import Builder
from framesmith.variables.core.registry import Registry, Table
from framesmith.variables.core.wrap_rules import WrapRule

Join: TypeAlias = Callable[[TraceContext, Iterable[Tracker]], str]
"""The texts of several values, with commas between them."""
Text: TypeAlias = Callable[[TraceContext, Tracker, Join], str]
PartWrapper: TypeAlias = Callable[[TraceContext, object, Source, type], Tracker]
"""`wrap_part(tx, instance, source, class)`: the tracker of the builtin part of an instance, whose type is guarded."""
_BASETYPE: Final = 1 << 10  # Py_TPFLAGS_BASETYPE


@final
@dataclass(frozen=True, slots=True)
class BuiltinPart:
    """The builtin part of an instance of a subclass.

    `plain` copies it into a plain value, without running overrides of the subclass. `wrap` makes its tracker without a
    copy (None: the plain value is wrapped). Where `__new__` leaves the part empty: `empty` makes the tracker of a new one,
    and an entry puts the items into a new instance by `fill(instance, plain value)`, which calls no override. Where these
    are None the part is immutable: `__new__` takes the plain value.
    """

    plain: Callable[[object], object]
    wrap: PartWrapper | None = None
    empty: Callable[[], Tracker] | None = None
    fill: Callable[..., object] | None = None


@final
@dataclass(frozen=True, slots=True)
class BuiltinType:
    """A type written in C whose operators its tracker models.

    `trackers` are those that its methods accept as receiver, any other breaks the graph; none named means all are
    accepted. `wrap` makes the tracker of an existing value, `build` that of a new one, `text` writes its `repr`.
    `iterators` are the types of its own iterators, forwards and backwards. `part` says how an instance of a subclass
    holds its value; None where such instances are not modelled.

    `reduce` gives what `__reduce_ex__` gives for a value of exactly this type, if the type has a `__reduce__` of its own.

    `special_methods`: those that are slots of the tracker when they are called by name; None means all. `is_pure`: calls of its
    C methods with known operands may run while tracing. `holds_items`: it is a container; `is_mutable`: it may change.
    """

    cls: type
    trackers: tuple[type[Tracker], ...]
    wrap: WrapRule | None = None
    build: Builder | None = None
    text: Text | None = None
    iterators: tuple[type, ...] = ()
    part: BuiltinPart | None = None
    special_methods: tuple[str, ...] | None = None
    reduce: Callable[[TraceContext, Tracker], Tracker] | None = None
    is_pure: bool = False
    holds_items: bool = False
    is_mutable: bool = False

    @property
    def is_base(self) -> bool:
        """Whether a class may derive from it."""
        return bool(flags_of(self.cls) & _BASETYPE)


BUILTIN_TYPES: Final = Table[type, BuiltinType]("builtin types")
CONTAINERS: Final = Table[type, None]("builtin containers")
"""The builtin types that hold items: those whose row says so."""


@final
@dataclass(frozen=True, slots=True)
class GenericAccess:
    """The `__getattribute__`, `__setattr__` or `__delattr__` of a type in C that does what that of `object` does."""

    name: str
    descriptor: object


GENERIC_ACCESS: Final = Table[object, GenericAccess]("generic attribute access")
ACCESS_METHODS: Final = ("__getattribute__", "__setattr__", "__delattr__")


def builtin_type(tx: TraceContext, cls: type) -> BuiltinType | None:
    """The row of the first builtin type along the resolution order of a class, or None."""
    rows = tx.registry[BUILTIN_TYPES]
    # a class of another metaclass is none of them, and might be hashed by the user's code
    return next((rows[base] for base in resolution_order(cls) if type(base) is type and base in rows), None)


def is_generic_access(registry: Registry, found: object, name: str) -> bool:
    """Whether what a class stores as this method of attribute access comes from `object` or a builtin type."""
    row = registry[GENERIC_ACCESS].get(found)
    return row is not None and row.name == name
