"""How a set came about: its items, and the same operations once more after the graph.

The order of a set depends on hashes and on history: `{8, 0}` and `{0, 8}` differ, and so does a set that once held more
(CPython, Objects/setobject.c). So what is built after the graph goes the way that the program went.
"""

import sys
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from typing import TypeAlias, final

from framesmith.variables.core.base import Tracker, Writer

Content: TypeAlias = set[Hashable] | frozenset[Hashable]
_DEEPEST = 40  # operations in one expression; the parser has an end


@final
@dataclass(frozen=True, slots=True)
class Items:
    """Items in their order: a list, or the keys of a dict, for which a set makes room beforehand."""

    trackers: tuple[Tracker, ...]
    are_keys: bool = False
    depth: int = 0

    def text(self, writer: Writer) -> str:
        """No set display: one of constants is put together by Python's compiler, in another way."""
        listed = f"[{', '.join([writer.value(item) for item in self.trackers])}]"
        return f"{writer.constant(dict.fromkeys, 'fromkeys')}({listed})" if self.are_keys else listed

    def everything(self) -> Iterator[Tracker]:
        """All that `text` writes."""
        return iter(self.trackers)


@final
@dataclass(frozen=True, slots=True)
class Existing:
    """A set from outside the trace, and the items that it had."""

    tracker: Tracker
    items: tuple[Tracker, ...]
    is_changed: Callable[[], bool]
    depth: int = 0

    def text(self, writer: Writer) -> str:
        """The set itself; what it was, where it has changed since."""
        kind = writer.constant(set, "set")
        return (
            f"{kind}({Items(self.items).text(writer)})" if self.is_changed() else writer.value(self.tracker)
        )

    def everything(self) -> Iterator[Tracker]:
        """All that `text` writes."""
        return iter(self.items)


@final
@dataclass(frozen=True, slots=True)
class Combined:
    """What an operation made of a set and an operand; a copy has no operand."""

    operation: Callable[..., object]
    left: "Recipe"
    right: "Recipe | None"
    depth: int

    def text(self, writer: Writer) -> str:
        """The same operation."""
        right = "" if self.right is None else f", {self.right.text(writer)}"
        return f"{writer.constant(self.operation, 'operation')}({self.left.text(writer)}{right})"

    def everything(self) -> Iterator[Tracker]:
        """All that `text` writes."""
        yield from self.left.everything()
        if self.right is not None:
            yield from self.right.everything()


@final
@dataclass(frozen=True, slots=True)
class Change:
    """A method that changes a set, and what it is given: one item, or items."""

    method: str
    items: "Recipe"
    is_one: bool = False

    def text(self, writer: Writer) -> str:
        """Method and argument."""
        method = writer.constant(getattr(set, self.method), self.method)
        if self.is_one:
            assert isinstance(self.items, Items)
            return f"{method}, {writer.value(self.items.trackers[0])}"
        return f"{method}, {self.items.text(writer)}"


@final
@dataclass(frozen=True, slots=True)
class Changed:
    """A set and what was done to it."""

    start: "Recipe"
    changes: tuple[Change, ...]
    kind: type
    depth: int

    def text(self, writer: Writer) -> str:
        """One call that does all of it."""
        steps = [f", ({change.text(writer)})" for change in self.changes]
        return f"{writer.constant(change_all, 'change_all')}({fresh(self.start, writer, self.kind)}{''.join(steps)})"

    def everything(self) -> Iterator[Tracker]:
        """All that `text` writes."""
        yield from self.start.everything()
        for change in self.changes:
            yield from change.items.everything()


Recipe: TypeAlias = Items | Existing | Combined | Changed


def change_all(
    target: "set[object]", *steps: "tuple[Callable[[set[object], object], object], object]"
) -> "set[object]":
    """Call the methods one after the other."""
    for method, argument in steps:
        method(target, argument)
    return target


def fresh(start: Recipe, writer: Writer, kind: type) -> str:
    """An expression for a new set."""
    text = start.text(writer)
    is_new = isinstance(start, Combined | Changed)
    return text if is_new else f"{writer.constant(kind, kind.__name__)}({text})"


def as_a_set(recipe: Recipe, kind: type) -> Recipe:
    """The recipe of an operand: an operator takes no list."""
    return Combined(kind, recipe, None, 1) if isinstance(recipe, Items) else recipe


def combined(operation: Callable[..., object], left: Recipe, right: Recipe | None) -> Combined | None:
    """What an operation makes; None where too much came before."""
    depth = 1 + max(left.depth, 0 if right is None else right.depth)
    return None if depth > _DEEPEST else Combined(operation, left, right, depth)


def in_turn(content: AbstractSet[Hashable], members: Mapping[Hashable, Tracker], kind: type) -> Items | None:
    """The items one after the other, if a set made so has the same order and the same room."""
    for order in ([*members], [*content]):
        if same_layout(kind(order), content):
            return Items(tuple(members[name] for name in order))
    return None


def same_layout(left: AbstractSet[Hashable], right: AbstractSet[Hashable]) -> bool:
    """Whether two sets of the same items have them in the same places, as far as can be seen."""
    pairs = zip(left, right, strict=True)
    return sys.getsizeof(left) == sys.getsizeof(right) and all(one is other for one, other in pairs)


def listed(names: Iterable[Hashable], trackers: Mapping[int, Tracker]) -> Items:
    """The items of a sequence or the keys of a dict."""
    return Items(tuple(trackers[id(name)] for name in names), isinstance(names, dict))
