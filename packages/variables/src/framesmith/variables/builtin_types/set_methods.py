"""Rows for the methods of `set` and `frozenset`, and their constructors.

The tracker is in `builtin_types.sets`.
"""

from collections.abc import Callable, Hashable, Iterable, Sequence
from typing import Final

from framesmith.variables.builtin_types.iterators import take_items
from framesmith.variables.builtin_types.set_items import is_exact, make_item_key
from framesmith.variables.builtin_types.set_recipes import Content, Items, Operand, items_of_keys
from framesmith.variables.builtin_types.sets import SetTracker, find_set_part, make_set_tracker
from framesmith.variables.builtin_types.unhashable_keys import as_common_item, as_set_item, hash_key_of
from framesmith.variables.builtin_types.unspecialized_keys import is_unspecialized_key
from framesmith.variables.core.base import TraceContext, Tracker
from framesmith.variables.core.constant import Constant
from framesmith.variables.core.raising import raise_observed
from framesmith.variables.core.rows import Rows

ROWS: Final = Rows()

NONE = Constant(None)


def _subset_intersects() -> bool:
    """Whether `issubset` makes an intersection, which stops once all members were met (since CPython 3.12)."""
    items = iter((1, 2))
    {1}.issubset(items)
    return next(items, None) is not None


_SUBSET_INTERSECTS: Final = _subset_intersects()


def operand(tx: TraceContext, iterable: Tracker, met_by: SetTracker | None = None) -> Operand:
    """An argument of a set method, which may be any iterable; `met_by`: the set that an intersection is made with."""
    found = find_set_part(tx, iterable)
    if found is not None:
        return found.operand(tx)
    items, keys = list[Tracker](), list[Hashable]()
    use = as_set_item if met_by is None else as_common_item
    members = frozenset() if met_by is None else met_by.read_all(tx)
    met = set[Hashable]()
    for item in take_items(tx, iterable):
        items.append(item.realize())
        keys.append(make_item_key(hash_key_of(tx, items[-1], use)))
        if keys[-1] in members:
            met.add(keys[-1])
            # an intersection takes no more once all members were met
            if len(met) == len(members):
                break
    # a real dict is given for a dict: C code then takes its keys without hashing them, and presizes
    return _operand_of(dict.fromkeys(keys) if iterable.python_type is dict else keys, items, keys)


def _operand_of(
    given: list[Hashable] | dict[Hashable, None],
    items: Sequence[Tracker],
    keys: Sequence[Hashable] | None = None,
) -> Operand:
    """The operand that C code reads as `given`; `keys`: the item keys of the items, where `given` may hold fewer."""
    # by identity of the key, since of two equal items the set keeps one or the other, object included
    trackers = {id(key): item for key, item in zip(given if keys is None else keys, items, strict=True)}
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
            if other.python_type is dict or find_set_part(tx, other) is not None:
                self.update(tx, symbol, operand(tx, other))
            else:
                _update_by_items(tx, self, symbol, other)
        return NONE


def _update_by_items(tx: TraceContext, self: SetTracker, symbol: str, iterable: Tracker) -> None:
    """`self |= iterable` or `self -= iterable` as C code does it: the set holds what each item did before the next one
    is computed, so that code of the iterable sees it, and an error leaves it."""
    # the items of these exist already: one operation that stands for many
    is_plain = iterable.python_type in (list, tuple)
    if is_plain and not self.has_unread_items:
        items = [item.realize() for item in take_items(tx, iterable)]
        if not any(is_unspecialized_key(item) for item in items):
            _update_at_once(tx, self, symbol, items)
            return
    for item in take_items(tx, iterable):
        if symbol == "|":
            self.add(tx, item)
        else:
            self.discard_key(tx, make_item_key(hash_key_of(tx, item.realize(), as_set_item)))


def _update_at_once(tx: TraceContext, self: SetTracker, symbol: str, items: Sequence[Tracker]) -> None:
    keys = list[Hashable]()
    try:
        for item in items:
            keys.append(make_item_key(hash_key_of(tx, item, as_set_item)))
    finally:
        # those before an item without a hash have been used
        self.update(tx, symbol, _operand_of(keys, items[: len(keys)]))


def _register_combination(name: str) -> None:
    @ROWS.call(getattr(set, name), getattr(frozenset, name))
    def combine(tx: TraceContext, self: Tracker, /, *others: Tracker) -> Tracker:
        result = require_set(tx, self)
        # without operands each of the three is a copy
        if not others:
            return result.copy(tx, frozenset if issubclass(result.cls, frozenset) else set)
        for other in others:
            met_by = result if name == "intersection" else None
            result = result.combine(tx, _method(name), operand(tx, other, met_by))
        return result


def _method(name: str) -> Callable[..., Content]:
    def call(content: Content, keys: Iterable[Hashable]) -> Content:
        found: Content = getattr(content, name)(keys)
        return found

    return call


def _register_test(name: str, stops_at: bool | None = None) -> None:
    """A question about another set or iterable; `stops_at`: whether an item that is (or is not) a member ends it."""

    @ROWS.call(getattr(set, name), getattr(frozenset, name))
    def test(tx: TraceContext, self: Tracker, other: Tracker, /) -> Tracker:
        content = require_set(tx, self).read_all(tx)
        if stops_at is None or find_set_part(tx, other) is not None:
            met_by = require_set(tx, self) if name == "issubset" and _SUBSET_INTERSECTS else None
            return Constant(bool(getattr(content, name)(operand(tx, other, met_by).keys)))
        keys = (make_item_key(hash_key_of(tx, item.realize(), as_set_item)) for item in take_items(tx, other))
        # the items behind that one stay in an iterator
        return Constant(all((key in content) is not stops_at for key in keys))


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
    met_by, operands = self, list[Operand]()
    for other in others:
        operands.append(operand(tx, other, met_by))
        met_by = met_by.combine(tx, _method("intersection"), operands[-1])
    # C code changes the set once all are read, so an error leaves it as it was
    for given in operands:
        self.update(tx, "&", given)
    return NONE


@ROWS.call(set.symmetric_difference, frozenset.symmetric_difference)
def set_symmetric_difference(tx: TraceContext, self: Tracker, other: Tracker, /) -> Tracker:
    """`self.symmetric_difference(other)`."""
    return require_set(tx, self).combine(tx, _method("symmetric_difference"), operand(tx, other))


for _name in ("union", "intersection", "difference"):
    _register_combination(_name)
_register_test("issubset")
_register_test("issuperset", stops_at=False)
_register_test("isdisjoint", stops_at=True)
