"""Containers as arguments of a graph node: one rule per kind of tracker. Tensors and numbers hold their node."""

from typing import Final

from framesmith.graph import GraphBreak
from framesmith.graph.break_kinds import UNSUPPORTED_ARGUMENT
from framesmith.guards.class_lookup import defines
from framesmith.variables.builtin_types.dicts import DictTracker
from framesmith.variables.builtin_types.lists import ListTracker
from framesmith.variables.builtin_types.ranges import RangeTracker
from framesmith.variables.builtin_types.slices import SliceTracker
from framesmith.variables.builtin_types.tuples import TupleTracker
from framesmith.variables.core import TraceContext, Tracker
from framesmith.variables.core.rows import Rows
from framesmith.variables.graph_nodes.graph_values import (
    ARGUMENTS,
    graph_argument,
    graph_arguments,
)

ROWS: Final = Rows()


def _tuple(tx: TraceContext, tracker: Tracker) -> object:
    """A tuple or struct sequence as a tuple; a named tuple keeps its class, for functions that read fields."""
    assert isinstance(tracker, TupleTracker)
    items = graph_arguments(tx, tracker.items)
    if defines(tracker.kind, "_make"):
        return tracker.kind(*items)
    return items


def _list(tx: TraceContext, tracker: Tracker) -> object:
    assert isinstance(tracker, ListTracker)
    _must_be(tracker, list)
    return list(graph_arguments(tx, tracker.items))


def _dict(tx: TraceContext, tracker: Tracker) -> object:
    assert isinstance(tracker, DictTracker)
    _must_be(tracker, dict)
    return {graph_argument(tx, key): graph_argument(tx, value) for key, value in tracker.items(tx)}


def _slice(tx: TraceContext, tracker: Tracker) -> object:
    assert isinstance(tracker, SliceTracker)
    return slice(*graph_arguments(tx, tracker.members()))


def _range(tx: TraceContext, tracker: Tracker) -> object:
    return tracker.as_python_constant()


def _must_be(tracker: Tracker, kind: type) -> None:
    if tracker.python_type is not kind:
        raise GraphBreak(
            UNSUPPORTED_ARGUMENT, f"a {tracker.describe()} cannot be an argument of a graph node"
        )


ROWS.add(ARGUMENTS, TupleTracker, _tuple)
ROWS.add(ARGUMENTS, ListTracker, _list)
ROWS.add(ARGUMENTS, DictTracker, _dict)
ROWS.add(ARGUMENTS, SliceTracker, _slice)
ROWS.add(ARGUMENTS, RangeTracker, _range)
