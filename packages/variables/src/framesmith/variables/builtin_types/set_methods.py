"""Rows for the methods of `set` and `frozenset`, and their constructors.

The tracker is in `builtin_types.sets`.
"""

from collections.abc import Callable, Hashable, Iterable
from typing import Final

from framesmith.variables.builtin_types.iterators import take_items
from framesmith.variables.builtin_types.set_items import is_exact, make_item_key
from framesmith.variables.builtin_types.set_recipes import Content, Items, Operand, items_of_keys
from framesmith.variables.builtin_types.sets import SetTracker, find_set_part, make_set_tracker
from framesmith.variables.builtin_types.unhashable_keys import Use, as_common_item, as_set_item, hash_key_of
from framesmith.variables.core.base import TraceContext, Tracker
from framesmith.variables.core.constant import Constant
from framesmith.variables.core.raising import raise_observed
from framesmith.variables.core.rows import Rows

ROWS: Final = Rows()

NONE = Constant(None)


def operand(tx: TraceContext, iterable: Tracker, use: Use = as_set_item) -> Operand:
    """An argument of a set method, which may be any iterable; `use`: what the method does with an item."""
    found = find_set_part(tx, iterable)
    if found is not None:
        return found.operand(tx)
    items, keys = list[Tracker](), list[Hashable]()
    for item in take_items(tx, iterable):
        items.append(item.realize())
        keys.append(make_item_key(hash_key_of(tx, items[-1], use)))
    # by identity of the key, since of two equal items the set keeps one or the other, object included
    trackers = {id(key): item for key, item in zip(keys, items, strict=True)}
    # a real dict is given for a dict: C code then takes its keys without hashing them, and presizes
    given = dict.fromkeys(keys) if iterable.python_type is dict else keys
    return Operand(given, trackers, items_of_keys(given, trackers))


def require_set(tx: TraceContext, self: Tracker) -> SetTracker:
    """The set part of `self`; breaks the graph when it has none."""
    found = find_set_part(tx, self)
    if found is None:
        return self.unsupported("use as a set")
    return found


@ROWS.call(set)
def call_set(tx: TraceContext, iterable: Tracker | None = None, /) -> Tracker:
    """`set([iterable])`."""
    if iterable is None:
        return SetTracker()
    return make_set(tx, iterable, set)


@ROWS.call(frozenset)
def call_frozenset(tx: TraceContext, iterable: Tracker | None = None, /) -> Tracker:
    """`frozenset([iterable])`: an exact frozenset is returned itself."""
    if iterable is None:
        return SetTracker(None, frozenset)
    return iterable if iterable.python_type is frozenset else make_set(tx, iterable, frozenset)


def make_set(tx: TraceContext, iterable: Tracker, cls: type) -> SetTracker:
    """A new set: a copy of a set or frozenset, or of the items of any iterable."""
    found = find_set_part(tx, iterable)
    if found is not None:
        return found.copy(tx, cls)
    made = make_set_tracker(tx, take_items(tx, iterable))
    is_dict = iterable.python_type is dict
    # items added one by one are the recipe already
    if cls is set and not is_dict:
        return made
    # CPython presizes a set that is made from a dict: the same constructor call gives the same order
    result = SetTracker(None, cls)
    result.members = made.members
    result.content = cls(dict.fromkeys(made.members) if is_dict else [*made.members])
    result.record_construction(Items(tuple(made.members.values()), is_dict))
    return result


@ROWS.call(set.add)
def set_add(tx: TraceContext, self: SetTracker, item: Tracker, /) -> Tracker:
    """`self.add(item)`."""
    self.add(tx, item)
    return NONE


@ROWS.call(set.discard)
def set_discard(tx: TraceContext, self: SetTracker, item: Tracker, /) -> Tracker:
    """`self.discard(item)`."""
    self.discard(tx, item)
    return NONE


@ROWS.call(set.remove)
def set_remove(tx: TraceContext, self: SetTracker, item: Tracker, /) -> Tracker:
    """`self.remove(item)`."""
    if not self.discard(tx, item):
        raise_observed(tx, KeyError, item)
    return NONE


@ROWS.call(set.pop)
def set_pop(tx: TraceContext, self: SetTracker, /) -> Tracker:
    """`self.pop()`: the first at or after the finger that the last `pop` left (CPython `set_pop`); breaks the graph if
    one of several members is not known."""
    # only the history of a set tells where its finger is, and that of an existing one is not known
    if self.source is not None and self.size(tx) > 1:
        self.unsupported("popping one of several items of an existing set")
    members = self.members_in_order(tx)
    if not members:
        raise_observed(tx, KeyError, "pop from an empty set")
    # which member comes first depends on hashes; only those of constants and classes are certain
    if len(members) > 1 and not all(map(is_exact, self.content)):
        self.unsupported("popping an arbitrary item")
    return self.pop(tx)


@ROWS.call(set.clear)
def set_clear(tx: TraceContext, self: SetTracker, /) -> Tracker:
    """`self.clear()`."""
    self.clear(tx)
    return NONE


@ROWS.call(set.copy)
def set_copy(tx: TraceContext, self: SetTracker, /) -> Tracker:
    """`self.copy()`."""
    return self.copy(tx, set)


@ROWS.call(frozenset.copy)
def frozenset_copy(tx: TraceContext, self: Tracker, /) -> Tracker:
    """`self.copy()`: an exact frozenset itself."""
    return self if self.python_type is frozenset else require_set(tx, self).copy(tx, frozenset)


def _updates(method: Callable[..., None], symbol: str) -> None:
    @ROWS.call(method)
    def change(tx: TraceContext, self: SetTracker, /, *others: Tracker) -> Tracker:
        for other in others:
            self.update(tx, symbol, operand(tx, other))
        return NONE


def _register_combination(name: str) -> None:
    @ROWS.call(getattr(set, name), getattr(frozenset, name))
    def combine(tx: TraceContext, self: Tracker, /, *others: Tracker) -> Tracker:
        result = require_set(tx, self)
        # without operands each of the three is a copy
        if not others:
            return result.copy(tx, frozenset if issubclass(result.cls, frozenset) else set)
        use = as_common_item if name == "intersection" else as_set_item
        for other in others:
            result = result.combine(tx, _method(name), operand(tx, other, use))
        return result


def _method(name: str) -> Callable[..., Content]:
    def call(content: Content, keys: Iterable[Hashable]) -> Content:
        found: Content = getattr(content, name)(keys)
        return found

    return call


def _register_test(name: str) -> None:
    @ROWS.call(getattr(set, name), getattr(frozenset, name))
    def test(tx: TraceContext, self: Tracker, other: Tracker, /) -> Tracker:
        content = require_set(tx, self).read_all(tx)
        return Constant(bool(getattr(content, name)(operand(tx, other).keys)))


_updates(set.update, "|")
_updates(set.difference_update, "-")


@ROWS.call(set.symmetric_difference_update)
def set_symmetric_update(tx: TraceContext, self: SetTracker, other: Tracker, /) -> Tracker:
    """`self.symmetric_difference_update(other)`."""
    self.update(tx, "^", operand(tx, other))
    return NONE


@ROWS.call(set.intersection_update)
def set_intersection_update(tx: TraceContext, self: SetTracker, /, *others: Tracker) -> Tracker:
    """`self.intersection_update(*others)`."""
    for other in others:
        self.update(tx, "&", operand(tx, other, as_common_item))
    return NONE


@ROWS.call(set.symmetric_difference, frozenset.symmetric_difference)
def set_symmetric_difference(tx: TraceContext, self: Tracker, other: Tracker, /) -> Tracker:
    """`self.symmetric_difference(other)`."""
    return require_set(tx, self).combine(tx, _method("symmetric_difference"), operand(tx, other))


for _name in ("union", "intersection", "difference"):
    _register_combination(_name)
for _name in ("issubset", "issuperset", "isdisjoint"):
    _register_test(_name)
