"""Rows for the special methods of builtin types called by name: `list.__len__`, `dict.__getitem__`, `int.__add__`.

Each calls the slot of the tracker, or the operator. They are reached by `super().__setitem__(...)` in a subclass
of a builtin type, or by `operator.methodcaller("__len__")`. What the slots do is in the trackers; operators are in
`operations`.
"""

import functools
from collections.abc import Callable, Iterable
from types import MappingProxyType
from typing import Final

import torch

from framesmith.guards.class_lookup import static_lookup
from framesmith.variables.builtin_types.dict_views import VIEW_TYPES
from framesmith.variables.callables.type_texts import format_value, repr_of, str_of
from framesmith.variables.core.base import TraceContext, Tracker
from framesmith.variables.core.builtin_type import BUILTIN_TYPES, BuiltinType
from framesmith.variables.core.constant import Constant
from framesmith.variables.core.folding import fold, foldable_operands
from framesmith.variables.core.raising import raise_observed
from framesmith.variables.core.registry import Priority
from framesmith.variables.core.rows import Rows
from framesmith.variables.core.table import callable_name
from framesmith.variables.operations.binary import METHODS as BINARY
from framesmith.variables.operations.binary import sequence_base, unsupported_operands
from framesmith.variables.operations.compare import METHODS as COMPARISONS
from framesmith.variables.operations.hashing import hash_of
from framesmith.variables.operations.index import index_of
from framesmith.variables.operations.truth import known_truth

ROWS: Final = Rows()

NONE: Final = Constant(None)
NOT_IMPLEMENTED: Final = Constant(NotImplemented)
RowFunction = Callable[..., Tracker]


def _or_not_implemented(result: Tracker | None) -> Tracker:
    return NOT_IMPLEMENTED if result is None else result


def slot_length(tx: TraceContext, self: Tracker, /) -> Tracker:
    """`__len__`."""
    return self.length(tx)


def slot_iterate(tx: TraceContext, self: Tracker, /) -> Tracker:
    """`__iter__`."""
    return self.iterate(tx)


def slot_advance(tx: TraceContext, self: Tracker, /) -> Tracker:
    """`__next__`."""
    # a frame is run to its end: called by name, its StopIteration has to be raised here
    found = self.advance(tx)
    return raise_observed(tx, StopIteration) if found is None else found


def slot_contains(tx: TraceContext, self: Tracker, item: Tracker, /) -> Tracker:
    """`__contains__`."""
    return self.contains(tx, item)


def slot_subscript(tx: TraceContext, self: Tracker, key: Tracker, /) -> Tracker:
    """`__getitem__`."""
    return self.subscript(tx, key)


def slot_set_subscript(tx: TraceContext, self: Tracker, key: Tracker, value: Tracker, /) -> Tracker:
    """`__setitem__`."""
    self.set_subscript(tx, key, value)
    return NONE


def slot_delete_subscript(tx: TraceContext, self: Tracker, key: Tracker, /) -> Tracker:
    """`__delitem__`."""
    self.delete_subscript(tx, key)
    return NONE


def slot_bool(tx: TraceContext, self: Tracker, /) -> Tracker:
    """`__bool__`."""
    return Constant(known_truth(tx, self))


def slot_hash(tx: TraceContext, self: Tracker, /) -> Tracker:
    """`__hash__`; known for constants."""
    return hash_of(tx, self)


SLOTS: Final[dict[str, RowFunction]] = {
    "__len__": slot_length,
    "__iter__": slot_iterate,
    "__next__": slot_advance,
    "__contains__": slot_contains,
    "__getitem__": slot_subscript,
    "__setitem__": slot_set_subscript,
    "__delitem__": slot_delete_subscript,
    "__bool__": slot_bool,
    "__hash__": slot_hash,
    "__repr__": repr_of,
    "__str__": str_of,
    "__format__": format_value,
}
CONTAINERS: Final[tuple[type, ...]] = (MappingProxyType, torch.Size, *VIEW_TYPES.values())
"""Types whose special methods all have a row, besides those that have a row of their own as a `BuiltinType`."""


def _binary(symbol: str) -> RowFunction:
    def row_function(tx: TraceContext, self: Tracker, other: Tracker, /) -> Tracker:
        return _or_not_implemented(self.binary(tx, symbol, other))

    return row_function


def _reflected(symbol: str) -> RowFunction:
    def row_function(tx: TraceContext, self: Tracker, other: Tracker, /) -> Tracker:
        return _or_not_implemented(self.reflected(tx, symbol, other))

    return row_function


def _inplace(symbol: str) -> RowFunction:
    def row_function(tx: TraceContext, self: Tracker, other: Tracker, /) -> Tracker:
        return _or_not_implemented(self.inplace(tx, symbol, other))

    return row_function


def _compare(symbol: str) -> RowFunction:
    def row_function(tx: TraceContext, self: Tracker, other: Tracker, /) -> Tracker:
        return _or_not_implemented(self.compare(tx, symbol, other))

    return row_function


def _sequence(symbol: str) -> RowFunction:
    """The row of `+` or `*` of a sequence, whose C slot raises TypeError and never returns NotImplemented."""

    def row_function(tx: TraceContext, self: Tracker, other: Tracker, /) -> Tracker:
        result = self.binary(tx, symbol, other)
        if result is not None:
            return result
        if symbol == "*":
            return _repeat(tx, self.binary, other)
        return raise_observed(tx, TypeError, unsupported_operands(symbol, self, other))

    return row_function


def _repeat(
    tx: TraceContext, slot: Callable[[TraceContext, str, Tracker], Tracker | None], other: Tracker
) -> Tracker:
    """The repetition by what the operand has as its `__index__`; unlike the operator, the method asks no `__rmul__` of it."""
    result = slot(tx, "*", Constant(index_of(tx, other)))
    assert result is not None
    return result


def _repeat_in_place(tx: TraceContext, self: Tracker, other: Tracker, /) -> Tracker:
    """The row of `__imul__` of a sequence."""
    return self.inplace(tx, "*", other) or _repeat(tx, self.inplace, other)


def _row_functions() -> dict[str, RowFunction]:
    found = dict(SLOTS)
    for symbol, name in BINARY.items():
        found[f"__{name}__"] = _binary(symbol)
        found[f"__r{name}__"] = _reflected(symbol)
        found[f"__i{name}__"] = _inplace(symbol)
    for symbol, name in COMPARISONS.items():
        found[name] = _compare(symbol)
    return found


HANDLERS: Final = _row_functions()
_TEXTS: Final = ("__repr__", "__str__", "__format__", "__hash__")
SEQUENCE_SLOTS: Final = {
    "__add__": _sequence("+"),
    "__mul__": _sequence("*"),
    "__rmul__": _sequence("*"),
    "__imul__": _repeat_in_place,
}


@functools.cache
def _text_of(cls: type, name: str, row_function: RowFunction) -> RowFunction:
    """The row of `cls.__repr__` and the like: of a value whose class overrides the method, the text is that of `cls`."""
    descriptor = cls.__dict__[name]

    def text_of(tx: TraceContext, self: Tracker, /, *rest: Tracker) -> Tracker:
        value = self.realize()
        # the text of this class is the value's own
        if value.python_type is cls or static_lookup(value.python_type, name) is descriptor:
            return row_function(tx, value, *rest)
        operands = (value, *(operand.realize() for operand in rest))
        if foldable_operands(*operands):
            return fold(tx, descriptor, operands)
        # a text of the base shows the builtin part, not what the class adds
        part = value.builtin_part_or_self(tx)
        if part.python_type is not cls:
            return value.unsupported(f"calling {callable_name(descriptor)}")
        return row_function(tx, part, *rest)

    return text_of


def _iterator_types() -> set[type]:
    """The types of builtin iterators that belong to no builtin type; their trackers need a row for `__next__`."""
    return {zip, enumerate, map, filter, type(iter(list, ()))}


def register(rows: Rows, cls: type, names: Iterable[str]) -> None:
    """Add rows for those of the special methods that `cls` itself defines. A row of the method's own counts before them."""
    is_sequence = sequence_base(cls) is cls
    for name in names:
        descriptor = cls.__dict__.get(name)
        if descriptor is not None:
            sequence = SEQUENCE_SLOTS.get(name) if is_sequence else None
            handler = sequence or HANDLERS[name]
            if name in _TEXTS:
                handler = _text_of(cls, name, handler)
            # a row that is written for the method counts more
            rows.call(descriptor, priority=Priority.GENERAL)(handler)


@ROWS.for_each(BUILTIN_TYPES)
def special_methods(row: BuiltinType) -> Rows:
    """The special methods of a builtin type and of its iterators."""
    rows = Rows()
    register(rows, row.cls, HANDLERS if row.special_methods is None else row.special_methods)
    for iterator in row.iterators:
        register(rows, iterator, ("__iter__", "__next__"))
    return rows


for _kind in CONTAINERS:
    register(ROWS, _kind, HANDLERS)
for _kind in _iterator_types():
    register(ROWS, _kind, ("__iter__", "__next__"))
