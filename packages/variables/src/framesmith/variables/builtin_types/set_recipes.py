"""How a set was made: a recipe that repeats the same operations after the graph.

The order of a set depends on hashes and on history: `{8, 0}` and `{0, 8}` differ, and so does a set that once held more
(CPython, Objects/setobject.c). So reconstruction repeats the operations of the program. The tracker, which records
them, is in `builtin_types.sets`.
"""

import operator
import sys
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from typing import Final, TypeAlias, final

from framesmith.guards.class_lookup import class_name
from framesmith.variables.core.base import Tracker, Writer

Content: TypeAlias = set[Hashable] | frozenset[Hashable]
_DEEPEST = 40  # operations in one expression; the parser has an end


@final
@dataclass(frozen=True, slots=True)
class Items:
    """Items in order: a list, or the keys of a dict, for which CPython presizes the set."""

    trackers: tuple[Tracker, ...]
    are_keys: bool = False
    depth: int = 0

    def text(self, writer: Writer) -> str:
        """A list of the items. Not a set display: Python's compiler makes one of constants in another order."""
        listed = f"[{', '.join([writer.value(item) for item in self.trackers])}]"
        return f"{writer.constant(dict.fromkeys, 'fromkeys')}({listed})" if self.are_keys else listed

    def written_trackers(self) -> Iterator[Tracker]:
        """All that `text` writes."""
        return iter(self.trackers)


@final
@dataclass(frozen=True, slots=True)
class ExistingSet:
    """A set from outside the trace, and the items that it had when it was used; `keeps_order`: whether a set that is
    made of these has the same memory layout."""

    tracker: Tracker
    items: tuple[Tracker, ...]
    is_changed: Callable[[], bool]
    keeps_order: bool
    depth: int = 0

    def text(self, writer: Writer) -> str:
        """The set itself, or a set of the items that it had, where the trace has changed it since; breaks the graph if
        that one would have another order."""
        if not self.is_changed():
            return writer.value(self.tracker)
        if not self.keeps_order:
            self.tracker.unsupported("building a copy of what it was before it changed")
        return f"{writer.constant(set, 'set')}({Items(self.items).text(writer)})"

    def written_trackers(self) -> Iterator[Tracker]:
        """All that `text` writes."""
        return iter(self.items)


@final
@dataclass(frozen=True, slots=True)
class SetOperation:
    """The result of an operation on a set and an operand; a copy has no operand."""

    operation: Callable[..., object]
    left: "Recipe"
    right: "Recipe | None"
    depth: int

    def text(self, writer: Writer) -> str:
        """A call of the same operation."""
        right = "" if self.right is None else f", {self.right.text(writer)}"
        return f"{writer.constant(self.operation, 'operation')}({self.left.text(writer)}{right})"

    def written_trackers(self) -> Iterator[Tracker]:
        """All that `text` writes."""
        yield from self.left.written_trackers()
        if self.right is not None:
            yield from self.right.written_trackers()


@final
@dataclass(frozen=True, slots=True)
class SetChange:
    """A call of a method that changes a set, or of one of `MORE_CHANGES`, and its argument: one item, or items."""

    method: str
    items: "Recipe"
    is_one: bool = False

    def text(self, writer: Writer) -> str:
        """The method and its argument, separated by a comma."""
        called = MORE_CHANGES.get(self.method) or getattr(set, self.method)
        method = writer.constant(called, self.method)
        if self.is_one:
            assert isinstance(self.items, Items)
            return f"{method}, {writer.value(self.items.trackers[0])}"
        return f"{method}, {self.items.text(writer)}"


@final
@dataclass(frozen=True, slots=True)
class ChangedSet:
    """A set, and the changes that were made to it."""

    start: "Recipe"
    changes: tuple[SetChange, ...]
    cls: type
    depth: int

    def text(self, writer: Writer) -> str:
        """One call of `change_all` that makes the set and all changes."""
        steps = [f", ({change.text(writer)})" for change in self.changes]
        return f"{writer.constant(change_all, 'change_all')}({write_new_set(self.start, writer, self.cls)}{''.join(steps)})"

    def written_trackers(self) -> Iterator[Tracker]:
        """All that `text` writes."""
        yield from self.start.written_trackers()
        for change in self.changes:
            yield from change.items.written_trackers()


Recipe: TypeAlias = Items | ExistingSet | SetOperation | ChangedSet


@final
@dataclass(frozen=True, slots=True)
class Operand:
    """The other operand of a set: item keys in the order and form in which C code reads them, and their trackers
    by the identity of the item key, since of two equal items either may end up in the result."""

    keys: Content | list[Hashable] | dict[Hashable, None]
    trackers: Mapping[int, Tracker]
    recipe: Recipe
    order_known: bool = True


def change_all(
    target: "set[object]", *steps: "tuple[Callable[[set[object], object], object], object]"
) -> "set[object]":
    """Call the methods on the set, one after the other, and return it."""
    for method, argument in steps:
        method(target, argument)
    return target


def pop_item(target: "set[object]", item: object) -> None:
    """`target.pop()`, which moves the finger where the next `pop` begins to look (CPython `set_pop`); `item` is what it takes."""
    taken = target.pop()
    if taken is not item and taken != item:
        # never another member than in the trace, wherever the two have it
        target.add(taken)
        target.discard(item)


def intersect_with_itself(target: "set[object]", _: object) -> None:
    """`target &= target`: the same members, in a new table."""
    target.intersection_update(target)


MORE_CHANGES: Final[dict[str, Callable[[set[object], object], None]]] = {
    "pop": pop_item,
    "intersect_with_itself": intersect_with_itself,
}
"""Changes that take an argument here and none in the program, by their name in a `SetChange`."""


def write_new_set(start: Recipe, writer: Writer, cls: type) -> str:
    """The source text of a new set: the recipe itself, or a copy where it is no new set."""
    text = start.text(writer)
    is_new = isinstance(start, SetOperation | ChangedSet)
    return text if is_new else f"{writer.constant(cls, class_name(cls))}({text})"


def as_set_recipe(recipe: Recipe, cls: type) -> Recipe:
    """The recipe of an operand, which an operator needs as a set: made into one if it is a list of items."""
    return SetOperation(cls, recipe, None, 1) if isinstance(recipe, Items) else recipe


def combine_recipes(
    operation: Callable[..., object], left: Recipe, right: Recipe | None
) -> SetOperation | None:
    """The recipe of an operation; None when the expression would be nested too deeply for the parser."""
    depth = 1 + max(left.depth, 0 if right is None else right.depth)
    return None if depth > _DEEPEST else SetOperation(operation, left, right, depth)


def items_one_by_one(
    content: AbstractSet[Hashable], members: Mapping[Hashable, Tracker], cls: type
) -> Items | None:
    """The items one by one, if a set made of them has the same order and size as `content`; else None."""
    # the order in which the trace added them first; failing that, the order in which they come out
    for order in ([*members], [*content]):
        if same_layout(cls(order), content):
            return Items(tuple(members[key] for key in order))
    return None


def same_layout(left: AbstractSet[Hashable], right: AbstractSet[Hashable]) -> bool:
    """Whether two sets of the same items have the same memory layout, as far as order and size show it."""
    pairs = zip(left, right, strict=True)
    # the size shows the size of the table, which decides where an item added later goes
    return sys.getsizeof(left) == sys.getsizeof(right) and all(one is other for one, other in pairs)


def is_kept_by_update(content: AbstractSet[Hashable]) -> bool:
    """Whether an empty set that is updated with this one gets the same memory layout."""
    filled = set[Hashable]()
    filled.update(content)
    return same_layout(filled, content)


def copy_in_order(content: AbstractSet[Hashable], values: list[object]) -> set[object] | None:
    """A real set of the values that the item keys stand for; None where it has another order."""
    is_plain = all(map(operator.is_, content, values))
    # a copy keeps the layout of a set as far as it can
    made = set[object](content if is_plain else values)
    return made if all(map(operator.is_, made, values)) else None


def items_of_keys(keys: Iterable[Hashable], trackers: Mapping[int, Tracker]) -> Items:
    """The recipe of the items of a sequence, or of the keys of a dict, given by their item keys."""
    return Items(tuple(trackers[id(key)] for key in keys), isinstance(keys, dict))


def choose_members(content: Content, *trackers: Mapping[int, Tracker]) -> dict[Hashable, Tracker]:
    """The tracker of each item key in `content`, taken from the operands."""
    # by identity: of two equal keys the operands may hold different objects, as 1 and True
    return {key: next(each[id(key)] for each in trackers if id(key) in each) for key in content}
