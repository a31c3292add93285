"""The nested structures that a transformed function returns: their leaves, and the same structure with other leaves."""

from collections.abc import Callable, Iterator

from framesmith.graph import BreakKind, GraphBreak
from framesmith.guards.words import with_article
from framesmith.variables.builtin_types.dicts import DictTracker, make_dict_tracker
from framesmith.variables.builtin_types.lists import ListTracker
from framesmith.variables.builtin_types.tuples import TupleTracker
from framesmith.variables.core import Constant, TraceContext, Tracker
from framesmith.variables.tensors.tensors import TensorTracker

Leaf = TensorTracker | Constant


def leaves_of(tx: TraceContext, value: Tracker, kind: BreakKind) -> Iterator[Leaf]:
    """The tensors and constants in a structure of tuples, lists and dicts, in order. Breaks the graph for anything else."""
    value = value.realize()
    if isinstance(value, TensorTracker | Constant):
        yield value
    elif isinstance(value, TupleTracker) or (isinstance(value, ListTracker) and value.python_type is list):
        for item in value.items:
            yield from leaves_of(tx, item, kind)
    elif isinstance(value, DictTracker) and value.python_type is dict:
        for _, item in value.items(tx):
            yield from leaves_of(tx, item, kind)
    else:
        raise GraphBreak(kind, f"it gives {with_article(value.describe())}")


def walk(tx: TraceContext, value: Tracker) -> Iterator[Tracker]:
    """Everything in such a structure: itself, containers and leaves."""
    value = value.realize()
    yield value
    if isinstance(value, TupleTracker | ListTracker):
        for item in value.items:
            yield from walk(tx, item)
    elif isinstance(value, DictTracker):
        for _, item in value.items(tx):
            yield from walk(tx, item)


def with_leaves(tx: TraceContext, value: Tracker, replace: Callable[[Leaf], Tracker]) -> Tracker:
    """A new structure with other leaves."""
    value = value.realize()
    if isinstance(value, TensorTracker | Constant):
        return replace(value)
    if isinstance(value, TupleTracker):
        return TupleTracker([with_leaves(tx, item, replace) for item in value.items], None, value.cls)
    if isinstance(value, ListTracker):
        return ListTracker([with_leaves(tx, item, replace) for item in value.items])
    assert isinstance(value, DictTracker)
    return make_dict_tracker([(key, with_leaves(tx, item, replace)) for key, item in value.items(tx)])
