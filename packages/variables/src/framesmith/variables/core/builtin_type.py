"""`BuiltinType`: the row of one builtin type, with all that modules beyond its own ask about it."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Final, TypeAlias, final

from framesmith.guards.class_lookup import resolution_order
from framesmith.variables.core.base import TraceContext, Tracker
from framesmith.variables.core.folding import Builder
from framesmith.variables.core.registry import Table
from framesmith.variables.core.wrap_rules import WrapRule

Join: TypeAlias = Callable[[TraceContext, Iterable[Tracker]], str]
"""The texts of several values, with commas between them."""
Text: TypeAlias = Callable[[TraceContext, Tracker, Join], str]


@final
@dataclass(frozen=True, slots=True)
class BuiltinType:
    """A type written in C whose special methods and operators its tracker models.

    `trackers` are those that its methods accept as receiver; any other receiver breaks the graph. `wrap` makes the
    tracker of an existing value, `build` that of a new one, `text` writes its `repr`. `iterators` are the types of its
    own iterators, forwards and backwards. `is_sequence`: `+` and `*` are slots of a sequence, which raise TypeError where
    slots of a number return NotImplemented; `grows_in_place`: so are `+=` and `*=`.
    """

    kind: type
    trackers: tuple[type[Tracker], ...]
    wrap: WrapRule | None = None
    build: Builder | None = None
    text: Text | None = None
    iterators: tuple[type, ...] = ()
    is_sequence: bool = False
    grows_in_place: bool = False


BUILTIN_TYPES: Final = Table[type, BuiltinType]("builtin types")


def builtin_type(tx: TraceContext, kind: type) -> BuiltinType | None:
    """The row of the first builtin type along the resolution order of a class, or None."""
    rows = tx.registry[BUILTIN_TYPES]
    return next((rows[base] for base in resolution_order(kind) if base in rows), None)
