"""`set` and `frozenset`: the tracker. The types are described in `set_types`, methods in `set_methods`.

The iteration order of a set depends on hashes and on its history. A real set of item keys goes through
the same history, so its order is that of eager; where it cannot be known (an existing set of several items that
was changed in place) iteration breaks the graph.
"""

import operator
import sys
from collections.abc import Callable, Hashable, Iterable, Iterator
from typing import Final, final

from framesmith.graph import GraphBreak
from framesmith.graph.breaks.break_kinds import UNKNOWN_ITERATOR
from framesmith.guards import Source
from framesmith.guards.comparison import is_plain_constant
from framesmith.guards.kinds import EqualTo, HasKey, LengthIs
from framesmith.guards.sources import CallResult, SetItemAt
from framesmith.variables.builtin_types.absent_numbers import is_absent_number
from framesmith.variables.builtin_types.sequences import raise_unhashable, reaches_itself
from framesmith.variables.builtin_types.set_items import (
    in_order,
    is_exact,
    is_new_object,
    iterate_natively,
    make_item_key,
)
from framesmith.variables.builtin_types.set_iterators import SetIterator
from framesmith.variables.builtin_types.set_recipes import (
    ChangedSet,
    Content,
    ExistingSet,
    Items,
    Operand,
    Recipe,
    SetChange,
    as_set_recipe,
    choose_members,
    combine_recipes,
    copy_in_order,
    is_kept_by_update,
    items_one_by_one,
    same_layout,
    write_new_set,
)
from framesmith.variables.builtin_types.unhashable_keys import as_set_item, hash_key_of
from framesmith.variables.builtin_types.unspecialized_keys import check_storable, is_unspecialized_key
from framesmith.variables.core.base import TraceContext, Tracker, Writer, same_value
from framesmith.variables.core.builtin_methods import builtin_attribute
from framesmith.variables.core.constant import Constant
from framesmith.variables.core.folding import from_python
from framesmith.variables.core.unspecialized import break_on_changing_value, require_specializable
from framesmith.variables.core.wrap_rules import lazy
from framesmith.variables.operations.compare import FUNCTIONS

OPERATIONS: Final[dict[str, Callable[[Content, Content], Content]]] = {
    "&": operator.and_,
    "|": operator.or_,
    "-": operator.sub,
    "^": operator.xor,
}
UPDATES: Final[dict[str, str]] = {
    "&": "intersection_update",
    "|": "update",
    "-": "difference_update",
    "^": "symmetric_difference_update",
}


@final
class SetTracker(Tracker):
    """A set. Invariant: once `is_complete`, `content` and `members` have the same item keys; `members` gives
    the tracker of each (see `set_items`)."""

    def __init__(
        self,
        source: Source | None = None,
        cls: type = set,
        value: "set[object] | frozenset[object] | None" = None,
    ) -> None:
        self.source = source
        self.cls = cls
        self.value = value
        self.members: dict[Hashable, Tracker] = {}
        self.content: Content = set()
        self.is_complete = value is None
        self.order_known = True
        self.is_mirrored = True  # the content has the layout of the existing set
        self.has_unread_items = False
        self.is_part = False  # of a new instance of a subclass, which an entry fills by `set.update`
        self.start: Recipe = Items(())
        self.log: list[SetChange] = []
        self._visiting = False
        self._hash_key: Hashable = None  # of a frozenset, once asked
        self._frozen: frozenset[object] | None = None  # its value, once asked

    @property
    def python_type(self) -> type:
        """`set`, `frozenset` or the subclass whose builtin part this is."""
        return self.cls

    # -- reading -----------------------------------------------------------------------------------
    def read_all(self, tx: TraceContext) -> Content:
        """All members, by their item keys; guards the members of an existing set in their order."""
        if self.is_complete:
            return self.content
        assert self.value is not None and self.source is not None
        # before the tracker changes: it may break the graph
        self._check_readable(tx)
        self.is_complete = True
        values = [*iterate_natively(self.value)]
        if all(is_plain_constant(value) for value in values):
            tx.guard(CallResult(self.source, in_order), EqualTo(tuple(values)))
            trackers = [from_python(tx, value) for value in values]
            # the real set, unchanged as long as the trace only reads: `change` copies it
            self.content = self.value
            self.members = dict(zip(values, trackers, strict=True))
            self.start = Items(tuple(trackers))
        else:
            tx.guard(self, LengthIs(len(values)))
            places = [SetItemAt(self.source, index) for index in range(len(values))]
            trackers = [lazy(tx, value, place).realize() for value, place in zip(values, places, strict=True)]
            self.members = {make_item_key(tracker.hash_key(tx)): tracker for tracker in trackers}
            self.content = set(self.members)
            self.start = Items(tuple(trackers))
            # with the same order and table size, operations on the item keys order them as those on the real set do
            self.is_mirrored = [*self.content] == [*self.members] and sys.getsizeof(
                self.content
            ) == sys.getsizeof(self.value)
        return self.content

    def _check_readable(self, tx: TraceContext) -> None:
        """Break the graph once the trace has added an unspecialized item: which members there are is not known then."""
        require_specializable(tx, self)
        if self.has_unread_items:
            break_on_changing_value(self.describe())

    def contains_item(self, tx: TraceContext, item: Tracker) -> bool:
        """`item in self`; where only constants of an existing set are asked for, just the answer is guarded."""
        item = item.realize()
        if self.has_unread_items:
            self._check_readable(tx)
        if is_absent_number(tx, item, self, None if self.is_complete else self.value, self.members.values()):
            return False
        key = search_key(tx, item)
        if not self.is_complete and self.value is not None:
            plain = all(is_plain_constant(value) for value in iterate_natively(self.value))
            if plain and isinstance(item, Constant) and is_plain_constant(item.value):
                # no code of the user runs: all are plain constants
                found = item.value in self.value
                tx.guard(self, HasKey(item.value, found))
                return found
        return key in self.read_all(tx)

    def members_in_order(self, tx: TraceContext) -> list[Tracker]:
        """The members in iteration order; breaks the graph where that order is not known."""
        content = self.read_all(tx)
        if not self.order_known and len(content) > 1:
            raise GraphBreak(UNKNOWN_ITERATOR, "the order of an existing set after it was changed")
        # `members` were read in the order of the real set
        if self.value is not None and self.order_known:
            return list(self.members.values())
        if len(content) > 1 and not all(is_exact(item) or is_new_object(item) for item in content):
            raise GraphBreak(UNKNOWN_ITERATOR, "the order of a set whose items are hashed by their address")
        return [self.members[key] for key in content]

    def is_same(self, tx: TraceContext, other: Tracker) -> bool:
        """`self is other`; a constant of the code and an argument may be one object with two trackers."""
        return same_value(tx, self, self.value, other) or super().is_same(tx, other)

    # -- changing ----------------------------------------------------------------------------------
    def change(self, tx: TraceContext) -> set[Hashable]:
        """The content, for a caller that is about to change it; what `value` or a frozenset holds is copied first."""
        content = self.read_all(tx)
        tx.changes.note(self)
        # the table of the real set may hold marks of removed items and more places than that of a copy
        if self.source is not None:
            self.order_known = False
        if content is self.value or not isinstance(content, set):
            content = self.content = set(content)
        return content

    def add(self, tx: TraceContext, item: Tracker) -> None:
        """Add an item; an equal item that is in the set already stays.
        An unspecialized item is added without a look-up (ADR 0010)."""
        if self.has_unread_items or is_unspecialized_key(item.realize()):
            self._add_without_lookup(tx, item.realize())
            return
        key = make_item_key(hash_key_of(tx, item.realize(), as_set_item))
        # a set keeps the first of two equal items
        if key not in self.read_all(tx):
            self.change(tx).add(key)
            self.members[key] = item.realize()
            self._note("add", item)

    def _add_without_lookup(self, tx: TraceContext, item: Tracker) -> None:
        native = self.cls is set and not self.is_complete
        check_storable(item, iterate_natively(self.value or set()) if native else None)
        tx.changes.note(self)
        self.has_unread_items = True
        self._note("add", item)

    def _note(self, method: str, item: Tracker) -> None:
        self.log.append(SetChange(method, Items((item,)), is_one=True))

    def discard(self, tx: TraceContext, item: Tracker) -> bool:
        """Remove an item; False when it was not in the set."""
        return self.discard_key(tx, search_key(tx, item.realize()))

    def discard_key(self, tx: TraceContext, key: Hashable) -> bool:
        """Remove the item with this item key; False when there was none."""
        if key not in self.read_all(tx):
            return False
        self.change(tx).discard(key)
        self._note("discard", self.members.pop(key))
        return True

    def operand(self, tx: TraceContext) -> Operand:
        """This set as the operand of another set."""
        keys = self.read_all(tx)
        # with one item there is only one order
        known = (self.order_known and self.is_mirrored) or len(keys) < 2
        return Operand(keys, self._trackers(), as_set_recipe(self.recipe(), self.cls), known)

    def _trackers(self) -> dict[int, Tracker]:
        """The trackers of the members, by the identity of their item keys."""
        return {id(key): tracker for key, tracker in self.members.items()}

    def combine(
        self,
        tx: TraceContext,
        operation: Callable[..., Content],
        other: Operand,
    ) -> "SetTracker":
        """A new set: the result of `operation` on the two contents."""
        mine = self.operand(tx)
        result = SetTracker(None, frozenset if issubclass(self.cls, frozenset) else set)
        # the real operation on item keys, with its rules for which operand is gone through
        result.content = operation(self.content, other.keys)
        result.order_known = mine.order_known and other.order_known
        result.members = choose_members(result.content, mine.trackers, other.trackers)
        result.record_construction(combine_recipes(operation, mine.recipe, other.recipe))
        return result

    def copy(self, tx: TraceContext, cls: type) -> "SetTracker":
        """A new set with the same members."""
        result, mine = SetTracker(None, cls), self.operand(tx)
        result.content = set(self.content) if cls is set else frozenset(self.content)
        result.members = choose_members(result.content, mine.trackers)
        result.order_known = mine.order_known
        result.record_construction(combine_recipes(cls, mine.recipe, None))
        return result

    def record_construction(self, recipe: Recipe | None) -> None:
        """Record how the set was made: by adding its items one by
        one, where that gives the same order, else by `recipe`."""
        is_known = self.order_known and all(map(is_exact, self.content))
        simple = items_one_by_one(self.content, self.members, self.cls) if is_known else None
        self.start = simple or recipe or Items(tuple(self.members.values()))
        self.order_known = self.order_known and (simple is not None or recipe is not None)

    def recipe(self) -> Recipe:
        """How the set came to its present state. The history of an
        existing set before the trace shows in its order only."""
        if self.value is not None and not self.log:
            # the content is a set made of the items already, unless it is the existing set itself
            listed = [*self.content]
            is_made = self.content is not self.value or same_layout(set(listed), self.content)
            return ExistingSet(
                self, tuple(self.members.values()), lambda: bool(self.log), self.is_mirrored and is_made
            )
        if not self.log:
            return self.start
        return ChangedSet(self.start, tuple(self.log), self.cls, self.start.depth + 1)

    def update(self, tx: TraceContext, symbol: str, other: Operand) -> None:
        """`self <symbol>= other`, in place."""
        if other.keys is self.content:
            self._update_by_itself(tx, symbol)
            return
        # asked before the change: `change` forgets the order of an existing set
        known = len(self.read_all(tx)) < 2 or self.order_known
        mine = self._trackers()
        content = self.change(tx)
        getattr(set, UPDATES[symbol])(content, other.keys)
        self.log.append(SetChange(UPDATES[symbol], other.recipe))
        self.members = choose_members(content, mine, other.trackers)
        self.order_known = known and other.order_known and self.source is None

    def _update_by_itself(self, tx: TraceContext, symbol: str) -> None:
        """`self <symbol>= self`, for which C code has ways of its own: `|` does nothing, `-` and `^` clear."""
        if symbol in ("-", "^"):
            self.clear(tx)
        elif symbol == "&":
            content = self.change(tx)
            content.intersection_update(content)
            self.log.append(SetChange("intersect_with_itself", Items(())))

    def clear(self, tx: TraceContext) -> None:
        """Remove all members."""
        content = self.change(tx)
        # `clear` takes no argument, and each change in the log has one: an intersection with nothing does the same
        self.log.append(SetChange("intersection_update", Items(())))
        content.clear()
        self.members = {}

    def pop(self, tx: TraceContext) -> Tracker:
        """Remove and return the first member. Invariant: there is one, and of a new set all are exact where it has several."""
        key = self.change(tx).pop()
        member = self.members.pop(key)
        # one that is hashed by its address could have left the finger of `set_pop` anywhere
        leaves_finger = self.source is not None or is_exact(key)
        self._note("pop" if leaves_finger else "discard", member)
        return member

    # -- slots -------------------------------------------------------------------------------------
    def is_python_constant(self) -> bool:
        """Whether all members are known, in an order that a copy
        keeps; False for an existing set that was not read whole."""
        if self._visiting or not self.is_complete or not self.order_known:
            return False
        self._visiting = True
        try:
            if not all(member.is_python_constant() for member in self.members.values()):
                return False
        finally:
            self._visiting = False
        # a folded call gets a copy, which has another order if the table of the original is larger
        return self.cls is not set or copy_in_order(self.content, self._values()) is not None

    def _values(self) -> list[object]:
        return [self.members[key].as_python_constant() for key in self.content]

    def as_python_constant(self) -> object:
        """A fresh set of the values."""
        if issubclass(self.cls, frozenset):
            # kept: a nest of n frozensets may hold the same part 2**n times
            if self._frozen is None:
                self._frozen = frozenset(self._values())
            return self._frozen
        made = copy_in_order(self.content, self._values()) if self.cls is set else None
        return self.unsupported("a constant") if made is None else made

    def begin_attribute(self, tx: TraceContext, name: str) -> Tracker:
        """Methods of `set` or `frozenset`."""
        return builtin_attribute(tx, self, name)

    def iterate(self, tx: TraceContext) -> Tracker:
        """`iter(self)`."""
        return SetIterator(self, self, self.members_in_order(tx))

    def length(self, tx: TraceContext) -> Tracker:
        """`len(self)`."""
        return Constant(self.size(tx))

    def truth(self, tx: TraceContext) -> bool:
        """`bool(self)`: whether there are members; guards the size of an existing set that was not read."""
        return self.size(tx) > 0

    def size(self, tx: TraceContext) -> int:
        """The number of members; guards that of an existing set that was not read."""
        if self.is_complete or self.value is None:
            return len(self.content)
        self._check_readable(tx)
        tx.guard(self, LengthIs(len(self.value)))
        return len(self.value)

    def contains(self, tx: TraceContext, item: Tracker) -> Tracker:
        """`item in self`, by hash and equality."""
        return Constant(self.contains_item(tx, item))

    def binary(self, tx: TraceContext, symbol: str, other: Tracker) -> Tracker | None:
        """`& | - ^` with a set."""
        right = find_set_part(tx, other)
        if symbol not in OPERATIONS or right is None:
            return None
        operation: Callable[..., Content] = OPERATIONS[symbol]
        return self.combine(tx, operation, right.operand(tx))

    def inplace(self, tx: TraceContext, symbol: str, other: Tracker) -> Tracker | None:
        """`&= |= -= ^=` change a set; None (NotImplemented) for a frozenset, so that the binary operation is used."""
        right = find_set_part(tx, other)
        if symbol not in OPERATIONS or right is None or issubclass(self.cls, frozenset):
            return None
        self.update(tx, symbol, right.operand(tx))
        return self

    def compare(self, tx: TraceContext, symbol: str, other: Tracker) -> Tracker | None:
        """Subset relations and equality with sets; None (NotImplemented) otherwise."""
        right = find_set_part(tx, other)
        if right is None:
            return None
        return Constant(bool(FUNCTIONS[symbol](self.read_all(tx), right.read_all(tx))))

    def hash_key(self, tx: TraceContext) -> Hashable:
        """A frozenset hashes by its members; TypeError for a set."""
        if not issubclass(self.cls, frozenset):
            return raise_unhashable(tx, self)
        self.read_all(tx)
        # kept, as it is asked for at each look-up and may be a nest
        if self._hash_key is None:
            self._hash_key = (
                "frozenset",
                frozenset([member.hash_key(tx) for member in self.members.values()]),
            )
        return self._hash_key

    def children(self) -> Iterator[Tracker]:
        """The known members, and unspecialized items that were added."""
        yield from self.members.values()
        if self.has_unread_items:
            for change in self.log:
                if isinstance(change.items, Items):
                    yield from change.items.trackers

    # -- after the graph ---------------------------------------------------------------------------
    def reconstruct(self, writer: Writer) -> str:
        """The operations that made it, repeated; a set that contains
        itself through an instance is named before it is filled."""
        if self.cls not in (set, frozenset):
            self.unsupported("building it again after the graph")
        is_exact_order = self.is_part and all(map(is_exact, self.content))
        if is_exact_order and (self._has_popped() or not is_kept_by_update(self.content)):
            self.unsupported("building an instance of a subclass again in its order")
        if self.cls is set and reaches_itself(self):
            name = writer.define(self, f"{writer.constant(set, 'set')}()", "set")
            writer.statement(f"{name}.update({Items(tuple(self.members.values())).text(writer)})")
            return name
        return write_new_set(self._written_recipe(), writer, self.cls)

    def _written_recipe(self) -> Recipe:
        """The recipe, or only the members where it would rebuild removed items that are no constants."""
        recipe = self.recipe()
        held = set(map(id, self.members.values()))
        # an item that has a source or is held exists anyway; another would be built again only to be removed
        written = (item for item in recipe.written_trackers() if item.source is None and id(item) not in held)
        if all(item.is_python_constant() for item in written):
            return recipe
        is_exact_order = all(map(is_exact, self.content))
        simple = items_one_by_one(self.content, self.members, self.cls) if is_exact_order else None
        if is_exact_order and (simple is None or self._has_popped()):
            self.unsupported("building it again in its order")
        return simple or Items(tuple(self.members.values()))

    def _has_popped(self) -> bool:
        """Whether a member was taken by `pop`, so that the next `pop` need not begin with the first one."""
        return any(change.method == "pop" for change in self.log)

    def replay(self, writer: Writer) -> None:
        """The same operations on the real set, so that its order becomes that of an eager run."""
        assert self.source is not None
        place = writer.load(self.source)
        for change in self.log:
            method, _, argument = change.text(writer).partition(", ")
            writer.statement(f"{method}({place}, {argument})")


def search_key(tx: TraceContext, item: Tracker) -> Hashable:
    """The item key of an item that is searched for: CPython searches for a set as for the equal frozenset."""
    part = item.builtin_part_or_self(tx)
    if isinstance(part, SetTracker) and not issubclass(part.cls, frozenset):
        # `{1} in s` is true where `frozenset({1})` is: C code makes one when a set has no hash
        return frozenset(part.read_all(tx))
    return make_item_key(hash_key_of(tx, item, as_set_item))


def find_set_part(tx: TraceContext, tracker: Tracker) -> SetTracker | None:
    """The set part of a tracker, of a constant frozenset too; None when it has none."""
    tracker = tracker.realize().builtin_part_or_self(tx)
    if isinstance(tracker, Constant) and type(tracker.value) is frozenset:
        return build_set(tx, tracker.value)
    return tracker if isinstance(tracker, SetTracker) else None


def make_set_tracker(tx: TraceContext, items: Iterable[Tracker], cls: type = set) -> SetTracker:
    """A set created in the trace."""
    result = SetTracker(None, cls)
    for item in items:
        result.add(tx, item)
    return result


def build_set(tx: TraceContext, value: object) -> SetTracker:
    """The tracker of a set created in the trace, from known values."""
    assert isinstance(value, set | frozenset)
    result = SetTracker(None, type(value))
    result.members = {item: from_python(tx, item) for item in value}
    result.content = value
    result.record_construction(Items(tuple(result.members.values())))
    return result


def wrap_set_content(
    tx: TraceContext, value: "set[object] | frozenset[object]", source: Source, cls: type
) -> SetTracker:
    """The set part of an existing set or of an instance of a subclass; its type must be guarded already."""
    return SetTracker(source, cls, value)
