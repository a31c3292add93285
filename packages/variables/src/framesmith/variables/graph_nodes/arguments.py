"""Containers as arguments of a graph node: one rule per kind of tracker. Tensors and numbers hold their node."""

from collections.abc import Callable, Mapping, Sequence
from typing import Final, NoReturn

import torch

from framesmith.graph import GraphBreak
from framesmith.graph.breaks.break_kinds import UNSUPPORTED_ARGUMENT
from framesmith.guards.class_lookup import defines
from framesmith.guards.words import with_article
from framesmith.variables.builtin_types.dicts import DictTracker
from framesmith.variables.builtin_types.lists import ListTracker
from framesmith.variables.builtin_types.ranges import RangeTracker
from framesmith.variables.builtin_types.slices import SliceTracker
from framesmith.variables.builtin_types.tuples import TupleTracker
from framesmith.variables.core import TraceContext, Tracker
from framesmith.variables.core.rows import Rows
from framesmith.variables.core.unspecialized import refuse_unread
from framesmith.variables.graph_nodes.graph_values import (
    ARGUMENTS,
    CONVERSIONS,
    UNLIKE_ITEMS,
    graph_argument,
    graph_arguments,
)

ROWS: Final = Rows()


def _tuple(tx: TraceContext, tracker: Tracker) -> object:
    """A tuple or struct sequence as a tuple; a named tuple keeps its class, for functions that read fields."""
    assert isinstance(tracker, TupleTracker)
    items = _items(tx, tracker.items)
    if defines(tracker.cls, "_make"):
        return tracker.cls(*items)
    return items


def _list(tx: TraceContext, tracker: Tracker) -> object:
    assert isinstance(tracker, ListTracker)
    _must_be(tracker, list)
    return list(_items(tx, tracker.items))


def _items(tx: TraceContext, items: Sequence[Tracker]) -> tuple[object, ...]:
    """The items as arguments. Breaks the graph for a number of NumPy of which torch reads the type: `x[[np.uint8(1)]]` is a mask."""
    for item in items:
        value = item.realize()
        if value.python_type in tx.registry[UNLIKE_ITEMS]:
            _refuse(value)
    return graph_arguments(tx, items)


def _dict(tx: TraceContext, tracker: Tracker) -> object:
    assert isinstance(tracker, DictTracker)
    _must_be(tracker, dict)
    return {graph_argument(tx, key): graph_argument(tx, value) for key, value in tracker.items(tx)}


def _slice(tx: TraceContext, tracker: Tracker) -> object:
    assert isinstance(tracker, SliceTracker)
    return slice(*graph_arguments(tx, tracker.members()))


def _range(tx: TraceContext, tracker: Tracker) -> object:
    return tracker.as_python_constant()


def exact_target(
    tx: TraceContext,
    function: Callable[..., object],
    args: Sequence[Tracker],
    kwargs: Mapping[str, Tracker] | None = None,
) -> Callable[..., object]:
    """The target of a node for a function of the user's, which may ask for the types of its arguments.

    A node holds sizes as tuples and NumPy's scalars as numbers, so the function then stands in one that makes of them again what
    they were. Breaks the graph for anything else that a node holds as another type: a struct sequence, and these in a container.
    """
    values: list[tuple[int | str, Tracker]] = [*enumerate(args), *(kwargs or {}).items()]
    # Only whole arguments: what is within containers is refused below.
    classes = {
        name: cls for name, value in values if (cls := _class_beside_node(tx, value.realize())) is not None
    }
    for name, value in values:
        if name not in classes:
            _must_be_kept(tx, value.realize())
    if not classes:
        return function

    def with_classes(*given: object, **named: object) -> object:
        positional = (classes[place](one) if place in classes else one for place, one in enumerate(given))
        return function(
            *positional,
            **{name: classes[name](one) if name in classes else one for name, one in named.items()},
        )

    # fx names the node, and the global in its text, after the target.
    with_classes.__name__ = getattr(function, "__name__", with_classes.__name__)
    return with_classes


def _class_beside_node(tx: TraceContext, tracker: Tracker) -> Callable[[object], object] | None:
    """The class of a value that a node holds as a tuple or a number, out of which the class makes the value again."""
    if tracker.python_type is torch.Size:
        return _as_size
    if tracker.python_type in tx.registry[CONVERSIONS]:
        return tracker.python_type
    return None


def _as_size(value: object) -> torch.Size:
    assert isinstance(value, tuple)
    return torch.Size(value)


def _must_be_kept(tx: TraceContext, tracker: Tracker) -> None:
    if isinstance(tracker, TupleTracker | ListTracker | DictTracker):
        cls = tracker.python_type
        if isinstance(tracker, TupleTracker) and cls is not tuple and not defines(cls, "_make"):
            _refuse(tracker)
        for child in tracker.children():
            _must_be_kept(tx, child.realize())
    elif tracker.python_type in tx.registry[CONVERSIONS]:
        _refuse(tracker)


def _refuse(tracker: Tracker) -> NoReturn:
    refuse_unread(tracker)
    raise GraphBreak(
        UNSUPPORTED_ARGUMENT, f"{with_article(tracker.describe())} cannot be an argument of a graph node"
    )


def _must_be(tracker: Tracker, cls: type) -> None:
    if tracker.python_type is not cls:
        _refuse(tracker)


ROWS.add(ARGUMENTS, TupleTracker, _tuple)
ROWS.add(ARGUMENTS, ListTracker, _list)
ROWS.add(ARGUMENTS, DictTracker, _dict)
ROWS.add(ARGUMENTS, SliceTracker, _slice)
ROWS.add(ARGUMENTS, RangeTracker, _range)
