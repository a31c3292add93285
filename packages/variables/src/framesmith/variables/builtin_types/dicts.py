"""`dict`, `OrderedDict` and `defaultdict`: the tracker. The types are described in `dict_types`, methods in `dict_methods`, views in `dict_views`.

An existing dict is read key by key: a look-up by a constant key is guarded by the presence of that key only. Asking
for all keys (iteration, comparison, a key that is no constant) guards the keys and their order: `run_pending`.
"""

import weakref
from collections import OrderedDict, defaultdict
from collections.abc import Hashable, Iterable, Iterator
from typing import Final, final

from framesmith.guards import Source
from framesmith.guards.class_lookup import defines, owner_of
from framesmith.guards.comparison import is_plain_constant
from framesmith.guards.kinds import HasKey, KeysAre, LengthIs
from framesmith.guards.sources import DictKeyAt, Item
from framesmith.variables.builtin_types.absent_numbers import is_absent_number
from framesmith.variables.builtin_types.dict_copies import (
    check_ordered_update,
    copy_default,
    copy_ordered,
    merge_into_copy,
    native_kind,
)
from framesmith.variables.builtin_types.dict_items import (
    DictItem,
    DictItems,
    compare_values,
    update_pair,
)
from framesmith.variables.builtin_types.dict_iterators import KEY_ITERATOR, ORDERED_ITERATOR, DictIterator
from framesmith.variables.builtin_types.dict_order import copies_items, items_in_order, place_of
from framesmith.variables.builtin_types.dict_writing import PLAIN_KINDS, write_dict_changes, write_new_dict
from framesmith.variables.builtin_types.iterators import take_items
from framesmith.variables.builtin_types.odict_attributes import Attributes, own_attribute, write_attributes
from framesmith.variables.builtin_types.sequences import raise_unhashable
from framesmith.variables.builtin_types.unhashable_keys import as_dict_key, hash_key_of
from framesmith.variables.builtin_types.unspecialized_keys import check_storable, is_unspecialized_key
from framesmith.variables.core.base import TraceContext, Tracker, Writer
from framesmith.variables.core.builtin_methods import builtin_attribute
from framesmith.variables.core.constant import Constant, constant_key
from framesmith.variables.core.cpython_messages import find_error_text
from framesmith.variables.core.folding import from_python
from framesmith.variables.core.raising import raise_observed
from framesmith.variables.core.unspecialized import break_on_changing_value, require_specializable
from framesmith.variables.core.wrap_rules import lazy
from framesmith.variables.operations.index import known_equal

# of the classes whose `__iter__` is C code
_NATIVE_MODULES: Final = ("builtins", "collections")
_ABSENT: Final = object()
_NO_ATTRIBUTE: Final = find_error_text(setattr, {}, "{}", None)


@final
class DictTracker(Tracker):
    """A dict. Invariant: `known_items` holds the items known in the trace, in order once `is_complete`; `dropped`
    holds the keys of the existing dict that were deleted at some time. `deferred_stores` are the last stores, from the
    first unspecialized key on: a look-up compares with them one by one (ADR 0010)."""

    tells_changes = True

    def __init__(
        self,
        source: Source | None = None,
        cls: type = dict,
        value: "dict[object, object] | None" = None,
        factory: Tracker | None = None,
    ) -> None:
        self.source = source
        self.cls = cls
        self.value = value
        self.factory = factory
        self._owner: weakref.ReferenceType[Tracker] | None = None
        self.state = DictItems()
        self.dropped: dict[Hashable, Tracker] = {}
        self.deferred_stores: list[tuple[Tracker, Tracker]] = []
        self.attributes: Attributes = {}
        self.is_complete = value is None
        self._visiting = False
        self._plain: bool | None = None

    @property
    def python_type(self) -> type:
        """The type of the real object: `dict` or a derived class."""
        return self.cls

    @property
    def owner(self) -> Tracker | None:
        """The instance of a derived class that has these items; held weakly, since it holds this (ADR 0014)."""
        if self._owner is None:
            return None
        owner = self._owner()
        return self.unsupported("the content of an object that is gone") if owner is None else owner

    @owner.setter
    def owner(self, owner: Tracker) -> None:
        self._owner = weakref.ref(owner)

    @property
    def known_items(self) -> dict[Hashable, DictItem]:
        """The known items, by hash key."""
        return self.state.by_name

    # -- reading -----------------------------------------------------------------------------------
    def read_all(self, tx: TraceContext) -> dict[Hashable, DictItem]:
        """All items in order; guards the keys of an existing dict, or its length and each key."""
        if self.is_complete:
            return self.known_items
        assert self.value is not None and self.source is not None
        # before the tracker changes: it may break the graph
        self._check_readable(tx)
        self.is_complete = True
        items = items_in_order(self.value)
        keys = [key for key, _ in items]
        tx.note("has its keys or length", self.source)
        exact = all(map(is_plain_constant, keys))
        # keys that are no plain constants are read by their position, and guarded one by one
        tx.guard(self, KeysAre(tuple(keys)) if exact else LengthIs(len(keys)))
        known, self.state.by_name = self.known_items, {}
        # the items that are known come into the order of the real dict
        for index, (key, held) in enumerate(items):
            tracker = from_python(tx, key) if exact else from_key(tx, self, index, key)
            name = tracker.hash_key(tx)
            item = known.get(name)
            if item is not None and item.original:
                item.key, item.rank = tracker, index  # it was looked up by an equal key: 1 for True
                self.known_items[name] = item
            elif name not in self.dropped:
                place = place_of(self.source, index, key, exact)
                value = lazy(tx, held, place)
                self.known_items[name] = DictItem(tracker, value, True, rank=index)
        # what the trace added comes behind all that was there, in the order of storing
        self.known_items.update({name: item for name, item in known.items() if not item.original})
        return self.known_items

    def _check_readable(self, tx: TraceContext) -> None:
        require_specializable(tx, self)
        if self.deferred_stores:
            break_on_changing_value(self.describe())

    def find(self, tx: TraceContext, key: Tracker) -> DictItem | None:
        """The item of a key, or None; guards that an existing dict has the key, or has not."""
        key = key.realize()
        # the last store under an equal key counts
        for stored, given in reversed(self.deferred_stores):
            if known_equal(tx, stored, key):
                return DictItem(key, given)
        # those that were looked up in the existing dict are among its keys
        besides = [one.key for one in self.known_items.values() if self.is_complete or not one.original]
        if is_absent_number(tx, key, self, None if self.is_complete else self.value, besides):
            return None
        name = hash_key_of(tx, key, as_dict_key, self.cls)
        item = self.known_items.get(name)
        # a key that was deleted is missing, whatever the real dict still holds
        if item is not None or self.is_complete or name in self.dropped:
            return item
        # a guard on one key must run no `__eq__` or `__hash__` of the user: neither of this key ...
        if not isinstance(key, Constant) or not is_plain_constant(key.value):
            return self.read_all(tx).get(name)
        assert self.value is not None and self.source is not None
        if self._plain is None:
            # ... nor of one that the dict holds; asked once, as the program does not change it during the trace
            self._plain = all(map(is_plain_constant, list(dict.keys(self.value))))
        if not self._plain:
            return self.read_all(tx).get(name)
        value = dict.get(self.value, key.value, _ABSENT)
        if value is _ABSENT:
            # the absence of this one key is guarded, so that the dict may grow by others
            tx.note("is not there", self.source, key.value)
            tx.guard(self, HasKey(key.value, False))
            return None
        tx.guard(self, HasKey(key.value, True))
        item = DictItem(key, lazy(tx, value, Item(self.source, key.value)), True)
        self.known_items[name] = item
        return item

    def get_item(self, tx: TraceContext, key: Tracker) -> Tracker | None:
        """The value of a key, or None when the key is missing; does not call `__missing__`."""
        item = self.find(tx, key)
        return None if item is None else item.value

    def items(self, tx: TraceContext | None = None) -> list[tuple[Tracker, Tracker]]:
        """All pairs, in order. Without a context the dict must be complete already."""
        if tx is not None:
            self.read_all(tx)
        assert self.is_complete
        return [(item.key, item.value) for item in self.known_items.values()]

    def size(self, tx: TraceContext) -> int:
        """The number of items; guards the length of an existing dict."""
        if self.is_complete:
            return len(self.known_items)
        assert self.value is not None
        # before anything is guarded: it may break the graph
        self._check_readable(tx)
        tx.note("has its keys or length", self.source)
        tx.guard(self, LengthIs(dict.__len__(self.value)))
        # `known_items` lacks the items of the real dict that were not read; `dropped` are gone from it
        new = sum(not item.original for item in self.known_items.values())
        return dict.__len__(self.value) - len(self.dropped) + new

    # -- changing ----------------------------------------------------------------------------------
    def store(self, tx: TraceContext, key: Tracker, value: Tracker) -> None:
        """`dict.__setitem__`: a key that is present keeps its position and its first key object."""
        if self.deferred_stores or is_unspecialized_key(key.realize()):
            self._store_without_lookup(tx, key.realize(), value)
            return
        # before the change is noted, since it may break the graph
        item = self.find(tx, key)
        tx.changes.note(self)
        if item is None:
            self.state.add(key.realize().hash_key(tx), key.realize(), value)
        else:
            # the key object stays the first one, as in CPython
            item.value, item.changed = value, True

    def _store_without_lookup(self, tx: TraceContext, key: Tracker, value: Tracker) -> None:
        native = self.cls in PLAIN_KINDS and not self.is_complete
        check_storable(key, dict.keys(self.value or {}) if native else None)
        tx.changes.note(self)
        self.state.structure += 1
        self.deferred_stores.append((key, value))

    def remove(self, tx: TraceContext, key: Tracker) -> Tracker | None:
        """Delete a key and return its value; None when it is missing."""
        if self.deferred_stores:
            self._check_readable(tx)
        item = self.find(tx, key)
        if item is None:
            return None
        tx.changes.note(self)
        self.state.structure += 1
        name = key.realize().hash_key(tx)
        del self.known_items[name]
        # only what the real dict has is deleted by replay
        if item.original:
            self.dropped[name] = item.key
        return item.value

    def clear(self, tx: TraceContext) -> None:
        """Delete all items."""
        for item in list(self.read_all(tx).values()):
            self.remove(tx, item.key)
        tx.changes.note(self)

    def move(self, tx: TraceContext, key: Tracker, last: bool) -> bool:
        """Move a key to the end or to the front; False when it is missing."""
        known_items = self.read_all(tx)
        name = hash_key_of(tx, key.realize(), as_dict_key, self.cls)
        if name not in known_items:
            return False
        tx.changes.note(self)
        self.state.moves += 1
        item = known_items.pop(name)
        rest = {} if last else dict(known_items)
        if not last:
            known_items.clear()
        known_items[name] = item
        known_items.update(rest)
        return True

    # -- slots -------------------------------------------------------------------------------------
    def is_python_constant(self) -> bool:
        """Whether all keys and values are known; False for an existing dict that was not read whole."""
        # a dict that holds itself is no constant; no defaultdict is built as one
        if self._visiting or not self.is_complete or self.cls is defaultdict:
            return False
        self._visiting = True
        try:
            return all(tracker.is_python_constant() for tracker in self.children())
        finally:
            self._visiting = False

    def as_python_constant(self) -> object:
        """A new dict of the values."""
        pairs = [(k.as_python_constant(), v.as_python_constant()) for k, v in self.items()]
        return OrderedDict(pairs) if self.cls is OrderedDict else dict(pairs)

    def begin_attribute(self, tx: TraceContext, name: str) -> Tracker:
        """Methods, `default_factory`, and the items of an OrderedDict's `__dict__`."""
        if self.cls is OrderedDict:
            own = own_attribute(tx, self.value, self.source, self.attributes, name)
            if own is not None:
                return own
        if name == "default_factory" and self.cls is defaultdict:
            return self.factory or Constant(None)
        return builtin_attribute(tx, self, name, own_was_read=self.cls is OrderedDict)

    def set_attribute(self, tx: TraceContext, name: str, value: Tracker) -> None:
        """An OrderedDict takes names that its class lacks; AttributeError for a dict, else a graph break."""
        # a name of the class may be a data descriptor or read-only
        if self.cls is OrderedDict and not hasattr(OrderedDict, name):
            tx.changes.note(self)
            self.attributes[name] = value
            return
        if self.cls is not dict:
            self.unsupported(f"storing attribute {name!r}")
        text = f"'dict' object attribute '{name}' is read-only"
        raise_observed(tx, AttributeError, text if hasattr(dict, name) else _NO_ATTRIBUTE.replace("{}", name))

    def iterate(self, tx: TraceContext) -> Tracker:
        """`iter(self)`: the keys."""
        self.read_all(tx)
        kind = ORDERED_ITERATOR if issubclass(self.cls, OrderedDict) else KEY_ITERATOR
        return DictIterator(self, self.state, lambda item: item.key, kind, "{iter}({0})")

    def length(self, tx: TraceContext) -> Tracker:
        """`len(self)`."""
        return Constant(self.size(tx))

    def truth(self, tx: TraceContext) -> bool:
        """`bool(self)`: whether there are items; guards the length of an existing dict."""
        return bool(self.size(tx))

    def contains(self, tx: TraceContext, item: Tracker) -> Tracker:
        """`key in self`, by hash and equality."""
        return Constant(self.find(tx, item) is not None)

    def subscript(self, tx: TraceContext, key: Tracker) -> Tracker:
        """`self[key]`; a missing key calls `__missing__`, of the derived class if it defines one."""
        item = self.find(tx, key)
        if item is not None:
            return item.value
        if self.owner is not None and defines(self.owner.python_type, "__missing__"):
            return self.owner.special_attribute(tx, "__missing__").call(tx, [key], {})
        return self.missing(tx, key)

    def missing(self, tx: TraceContext, key: Tracker) -> Tracker:
        """`defaultdict.__missing__`: stores and returns a value of the factory; KeyError for other dicts."""
        factory = None if self.factory is None else self.factory.realize()
        if factory is None or (isinstance(factory, Constant) and factory.value is None):
            raise_observed(tx, KeyError, key)
        value = factory.call(tx, [], {})
        # C code stores by `self[key] = value`, so a `__setitem__` of a derived class runs
        (self.owner or self).set_subscript(tx, key, value)
        return value

    def set_subscript(self, tx: TraceContext, key: Tracker, value: Tracker) -> None:
        """`self[key] = value`."""
        self.store(tx, key, value)

    def delete_subscript(self, tx: TraceContext, key: Tracker) -> None:
        """`del self[key]`."""
        if self.remove(tx, key) is None:
            raise_observed(tx, KeyError, key)

    def binary(self, tx: TraceContext, symbol: str, other: Tracker) -> Tracker | None:
        """`self | other`: a copy, updated with another dict; None (NotImplemented) otherwise."""
        right = other.builtin_part_or_self(tx)
        if symbol != "|" or not isinstance(right, DictTracker):
            return None
        return self._merge(tx, self, right)

    def reflected(self, tx: TraceContext, symbol: str, other: Tracker) -> Tracker | None:
        """`dict | self` for the derived types, whose type the result has."""
        left = other.builtin_part_or_self(tx)
        if symbol != "|" or not isinstance(left, DictTracker) or native_kind(self.cls) is dict:
            return None
        # as `dict | OrderedDict` gives an OrderedDict, by the reflected method of the derived type
        return left._merge(tx, left if native_kind(left.cls) is native_kind(self.cls) else self, self)

    def _merge(self, tx: TraceContext, like: "DictTracker", right: "DictTracker") -> Tracker:
        """`self | right`, of the type of `like`, which is one of them."""
        cls = native_kind(like.cls)
        # methods of the derived types copy by calling the class of the instance
        if cls is not dict and like.owner is not None:
            factory = like.factory or Constant(None)
            return merge_into_copy(tx, like.owner, factory, self.owner or self, right.owner or right)
        merged = make_dict_tracker((), cls, like.factory)
        merged.merge(tx, self.owner or self)
        merged.merge(tx, right.owner or right)
        return merged

    def inplace(self, tx: TraceContext, symbol: str, other: Tracker) -> Tracker | None:
        """`self |= other` updates from a mapping or pairs."""
        if symbol != "|":
            return None
        if self.owner is not None and native_kind(self.cls) is OrderedDict:
            check_ordered_update(self.owner)
        self.merge(tx, other)
        return self

    def copy(self, tx: TraceContext) -> Tracker:
        """A new dict with the same items: an OrderedDict, a defaultdict, or else a plain dict."""
        cls = native_kind(self.cls)
        if cls is OrderedDict and self.owner is not None:
            return copy_ordered(tx, self.owner, [item.key for item in self.read_all(tx).values()])
        if cls is defaultdict and self.owner is not None:
            return copy_default(tx, self.owner, self.factory or Constant(None), self.owner)
        holder = self.cls if self.owner is None else self.owner.python_type
        iterates = owner_of(holder, "__iter__")
        # C code reads past the class only where iteration is that of C code
        if iterates.__module__ not in _NATIVE_MODULES:  # `dict_merge` calls keys() and __getitem__
            self.unsupported("copying it by an __iter__ of its own")
        result = DictTracker(None, cls, None, self.factory)
        for name, item in self.read_all(tx).items():
            result.state.add(name, item.key, item.value)
        return result

    def merge(self, tx: TraceContext, other: Tracker) -> None:
        """`self.update(other)`: a mapping, anything with `keys()`, or an iterable of pairs."""
        other = other.realize()
        right = other.builtin_part_or_self(tx)
        # `keys` and `__getitem__` of a subclass are called unless C code copies its items directly
        if isinstance(right, DictTracker) and (other is right or copies_items(other.python_type)):
            for key, value in right.items(tx):
                self.store(tx, key, value)
        elif defines(other.python_type, "keys"):
            keys = other.attribute(tx, "keys").call(tx, [], {})
            for key in take_items(tx, keys):
                self.store(tx, key, other.subscript(tx, key.realize()))
        else:
            for index, pair in enumerate(take_items(tx, other)):
                self.store(tx, *update_pair(tx, self.cls, index, pair.realize()))

    def compare(self, tx: TraceContext, symbol: str, other: Tracker) -> Tracker | None:
        """`==` and `!=`: equal items in any order, for two OrderedDicts in the same order."""
        right = other.builtin_part_or_self(tx)
        if symbol not in ("==", "!=") or not isinstance(right, DictTracker):
            return None
        return Constant(self._equals(tx, right) == (symbol == "=="))

    def _equals(self, tx: TraceContext, other: "DictTracker") -> bool:
        mine, theirs = self.read_all(tx), other.read_all(tx)
        if len(mine) != len(theirs):
            return False
        if (same := compare_values(tx, mine, theirs)) is None:
            return self.unsupported("comparing it with a dict while code of the user changes one of them")
        # two of them are equal only in the same order; with a plain dict the order does not count
        ordered = issubclass(self.cls, OrderedDict) and issubclass(other.cls, OrderedDict)
        return same and (not ordered or list(mine) == list(theirs))

    def hash_key(self, tx: TraceContext) -> Hashable:
        """Dicts have no hash."""
        return raise_unhashable(tx, self)

    def children(self) -> Iterator[Tracker]:
        """The known keys and values, the default factory, and the attributes of an OrderedDict."""
        for pair in self.deferred_stores:
            yield from pair
        for item in self.known_items.values():
            yield item.key
            yield item.value
        if self.factory is not None:
            yield self.factory
        yield from self.attributes.values()

    # -- after the graph ---------------------------------------------------------------------------
    def reconstruct(self, writer: Writer) -> str:
        """A dict display; a dict that holds itself, or has attributes, is made empty and then filled."""
        if self.cls not in PLAIN_KINDS:
            self.unsupported("building it again after the graph")
        return write_new_dict(writer, self, self.cls, self.factory, self.state, self.attributes)

    def is_restored(self) -> bool:
        """Whether the items of the existing dict, and their order, are what they were."""
        if (
            self.value is None
            or self.source is None
            # a key that was deleted and stored again has another place in the order
            or self.dropped
            or self.deferred_stores
            or self.attributes
            or self.state.moves
        ):
            return False
        return all(item.is_restored(self.value, self.source) for item in self.known_items.values())

    def replay(self, writer: Writer) -> None:
        """Deletions first, then changed values, new items in order, moves, and deferred stores."""
        assert self.source is not None
        place = writer.load(self.source)
        write_dict_changes(writer, place, self.cls, self.dropped.values(), self.state, self.deferred_stores)
        write_attributes(place, self.attributes, writer)


def from_key(tx: TraceContext, owner: DictTracker, index: int, key: object) -> Tracker:
    """A key of an existing dict that is no plain constant, read by its position."""
    assert owner.source is not None
    return lazy(tx, key, DictKeyAt(owner.source, index)).realize()


def make_dict_tracker(
    pairs: Iterable[tuple[Tracker, Tracker]], cls: type = dict, factory: Tracker | None = None
) -> DictTracker:
    """A dict created in the trace, from pairs whose keys are constants; use `store` for other keys."""
    result = DictTracker(None, cls, None, factory)
    for key, value in pairs:
        key = key.realize()
        if not key.is_python_constant():
            # other keys need `store`, which looks for equal ones
            key.unsupported("use as a key")
        name = constant_key(key.as_python_constant())
        if name in result.known_items:
            result.known_items[name].value = value
        else:
            result.state.add(name, key, value)
    return result
