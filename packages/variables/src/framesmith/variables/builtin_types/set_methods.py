"""Rows for the methods of `set` and `frozenset`, and their constructors."""

from collections.abc import Callable

from framesmith.variables.builtin_types.iterators import unpack
from framesmith.variables.builtin_types.sets import SetTracker, as_set, new_set
from framesmith.variables.core.base import TraceContext, Tracker
from framesmith.variables.core.constant import Constant
from framesmith.variables.core.raising import raise_observed
from framesmith.variables.core.table import CALLABLES
from framesmith.variables.operations.compare import FUNCTIONS

NONE = Constant(None)


def operand(tx: TraceContext, iterable: Tracker) -> SetTracker:
    """An argument of a set method as a set: any iterable will do."""
    found = as_set(iterable)
    return new_set(tx, unpack(tx, iterable)) if found is None else found


@CALLABLES.row(set)
def call_set(tx: TraceContext, iterable: Tracker | None = None, /) -> Tracker:
    """`set([iterable])`."""
    if iterable is None:
        return SetTracker()
    found = as_set(iterable)
    return new_set(tx, unpack(tx, iterable)) if found is None else found.copy(tx, set)


@CALLABLES.row(frozenset)
def call_frozenset(tx: TraceContext, iterable: Tracker | None = None, /) -> Tracker:
    """`frozenset([iterable])`: a frozenset is given back as it is."""
    if iterable is None:
        return SetTracker(None, frozenset)
    if iterable.python_type is frozenset:
        return iterable
    return operand(tx, iterable).copy(tx, frozenset)


@CALLABLES.row(set.add)
def set_add(tx: TraceContext, self: SetTracker, item: Tracker, /) -> Tracker:
    """`self.add(item)`."""
    self.add(tx, item)
    return NONE


@CALLABLES.row(set.discard)
def set_discard(tx: TraceContext, self: SetTracker, item: Tracker, /) -> Tracker:
    """`self.discard(item)`."""
    self.discard(tx, item)
    return NONE


@CALLABLES.row(set.remove)
def set_remove(tx: TraceContext, self: SetTracker, item: Tracker, /) -> Tracker:
    """`self.remove(item)`."""
    if not self.discard(tx, item):
        raise_observed(KeyError, item)
    return NONE


@CALLABLES.row(set.pop)
def set_pop(tx: TraceContext, self: SetTracker, /) -> Tracker:
    """`self.pop()`: the first in iteration order, which for several items only the real set knows."""
    members = self.in_order(tx)
    if not members:
        raise_observed(KeyError, "pop from an empty set")
    if len(members) > 1 and not all(member.is_python_constant() for member in members):
        self.unsupported("popping an arbitrary item")
    name = self.change(tx).pop()
    return self.members.pop(name)


@CALLABLES.row(set.clear)
def set_clear(tx: TraceContext, self: SetTracker, /) -> Tracker:
    """`self.clear()`."""
    self.change(tx).clear()
    self.members = {}
    return NONE


@CALLABLES.row(set.copy)
def set_copy(tx: TraceContext, self: SetTracker, /) -> Tracker:
    """`self.copy()`."""
    return self.copy(tx, set)


@CALLABLES.row(frozenset.copy)
def frozenset_copy(tx: TraceContext, self: Tracker, /) -> Tracker:
    """`self.copy()`: itself."""
    return self if self.python_type is frozenset else operand(tx, self).copy(tx, frozenset)


def _updates(method: Callable[..., None], symbol: str) -> None:
    @CALLABLES.row(method)
    def change(tx: TraceContext, self: SetTracker, /, *others: Tracker) -> Tracker:
        for other in others:
            self.update(tx, symbol, operand(tx, other))
        return NONE


def _combines(symbol: str, *methods: Callable[..., object]) -> None:
    @CALLABLES.row(*methods)
    def combine(tx: TraceContext, self: Tracker, /, *others: Tracker) -> Tracker:
        result = operand(tx, self)
        kind = frozenset if issubclass(result.kind, frozenset) else set
        if not others:
            return result.copy(tx, kind)
        for other in others:
            result = result.combined(tx, symbol, operand(tx, other))
        return result


def _compares(symbol: str, *methods: Callable[..., bool]) -> None:
    @CALLABLES.row(*methods)
    def test(tx: TraceContext, self: Tracker, other: Tracker, /) -> Tracker:
        left, right = operand(tx, self), operand(tx, other)
        return Constant(bool(FUNCTIONS[symbol](left.complete(tx), right.complete(tx))))


_updates(set.update, "|")
_updates(set.difference_update, "-")


@CALLABLES.row(set.symmetric_difference_update)
def set_symmetric_update(tx: TraceContext, self: SetTracker, other: Tracker, /) -> Tracker:
    """`self.symmetric_difference_update(other)`."""
    self.update(tx, "^", operand(tx, other))
    return NONE


@CALLABLES.row(set.intersection_update)
def set_intersection_update(tx: TraceContext, self: SetTracker, /, *others: Tracker) -> Tracker:
    """`self.intersection_update(*others)`."""
    for other in others:
        self.update(tx, "&", operand(tx, other))
    return NONE


@CALLABLES.row(set.symmetric_difference, frozenset.symmetric_difference)
def set_symmetric_difference(tx: TraceContext, self: Tracker, other: Tracker, /) -> Tracker:
    """`self.symmetric_difference(other)`."""
    return operand(tx, self).combined(tx, "^", operand(tx, other))


_combines("|", set.union, frozenset.union)
_combines("&", set.intersection, frozenset.intersection)
_combines("-", set.difference, frozenset.difference)
_compares("<=", set.issubset, frozenset.issubset)
_compares(">=", set.issuperset, frozenset.issuperset)


@CALLABLES.row(set.isdisjoint, frozenset.isdisjoint)
def set_isdisjoint(tx: TraceContext, self: Tracker, other: Tracker, /) -> Tracker:
    """`self.isdisjoint(other)`."""
    return Constant(operand(tx, self).complete(tx).isdisjoint(operand(tx, other).complete(tx)))
