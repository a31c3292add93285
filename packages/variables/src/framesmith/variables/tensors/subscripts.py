"""Subscripts of tensors with a number that may differ from call to call: `x[n]`, `x[:, n, 2:]`, `x[n] = v`.

torch specializes on such a number as a key, but not as the index of `select`. So a key that holds one is taken apart, one
dimension at a time; each step gives a view, as the subscript does.
"""

import operator
from collections.abc import Callable, Sequence
from typing import Final

import torch
from torch import fx

from framesmith.graph import GraphBreak, NumbersNeeded
from framesmith.graph.breaks.break_kinds import TENSOR_ITEM, UNSUPPORTED_ARGUMENT
from framesmith.graph.nodes.arguments import examples
from framesmith.guards.class_lookup import defines
from framesmith.guards.words import with_article
from framesmith.variables.builtin_types.slices import SliceTracker
from framesmith.variables.builtin_types.tuples import TupleTracker
from framesmith.variables.core import Constant, TraceContext, Tracker
from framesmith.variables.core.registry import Table
from framesmith.variables.graph_nodes.graph_values import (
    CONVERSIONS,
    GraphValue,
    graph_argument,
    graph_arguments,
)
from framesmith.variables.graph_nodes.replaced_operations import check_replaced
from framesmith.variables.graph_nodes.results import evaluate, read_numbers, record, wrap_result

_ALL = SliceTracker()
_SUBSCRIPT: Final[Callable[..., object]] = operator.getitem
_INTEGERS: Final = frozenset({torch.int64, torch.int32, torch.int16, torch.int8})
"""What is an index in a key; torch takes other ints as masks."""

INDEX_TENSORS: Final = Table[type, Callable[[TraceContext, Tracker, bool], Tracker]]("index tensors")
"""Of values that torch makes a tensor of when they are in a key: that tensor, or the value. The last argument: whether it is
the whole key."""


def with_index_tensors(tx: TraceContext, key: Tracker) -> Tracker:
    """The key with tensors in place of the arrays that it holds."""
    rows = tx.registry[INDEX_TENSORS]
    row = rows.get(key.python_type)
    if row is not None:
        return row(tx, key, True)
    if not isinstance(key, TupleTracker) or key.python_type is not tuple:
        return key
    items = [item.realize() for item in key.items]
    found = [rows.get(item.python_type) for item in items]
    if not any(found):
        return key
    return TupleTracker(
        [item if row is None else row(tx, item, False) for item, row in zip(items, found, strict=True)]
    )


def check_stored(tx: TraceContext, value: Tracker) -> None:
    """Break the graph for a value that a subscript of a tensor refuses, though operators take it as a number: one of numpy's that is
    neither an int nor a float of Python (`x[0] = np.float32(1)`)."""
    value = value.realize()
    if isinstance(value, Constant) and type(value.value) in tx.registry[CONVERSIONS]:
        is_taken = isinstance(value.value, int | float | complex) or defines(type(value.value), "__index__")
        if not is_taken:
            raise GraphBreak(UNSUPPORTED_ARGUMENT, f"storing {with_article(value.describe())} in a tensor")


def index_by_slices(tx: TraceContext, tensor: GraphValue, key: Tracker) -> Tracker | None:
    """`tensor[key]` in a function on slices, which are no tensors of one number when it runs: an int among them is an index.

    None where the key holds none. Of several maps, one inside the other, the slices are those of the innermost.
    """
    items = [item.realize() for item in key.items] if isinstance(key, TupleTracker) else [key.realize()]
    slices = [_is_slice(tx, item) for item in items]
    if not any(slices):
        return None
    # Beside an index of more than one number the dimensions would change places.
    if not all(is_slice or _gives_view(item) for item, is_slice in zip(items, slices, strict=True)):
        raise GraphBreak(TENSOR_ITEM, "a slice beside other indices")
    shown = [
        0 if is_slice else examples(graph_argument(tx, item))
        for item, is_slice in zip(items, slices, strict=True)
    ]
    fake = examples(tensor.graph_node(tx))
    assert isinstance(fake, torch.Tensor)
    # The sizes do not depend on which index it is.
    view = evaluate("a subscript", _SUBSCRIPT, fake, tuple(shown))
    assert isinstance(view, torch.Tensor)
    result = evaluate("a subscript", view.clone)
    check_replaced(tx, operator.getitem)
    arguments = graph_arguments(tx, (tensor, key))
    return wrap_result(tx, tx.graph.call("call_function", operator.getitem, arguments, result=result))


def _is_slice(tx: TraceContext, item: Tracker) -> bool:
    if not isinstance(item, GraphValue) or not issubclass(item.python_type, torch.Tensor):
        return False
    node = item.graph_node(tx)
    fake = examples(node)
    if not isinstance(node, fx.Node) or not isinstance(fake, torch.Tensor):
        return False
    return node.graph is tx.graph.graph and fake.dim() == 0 and fake.dtype in _INTEGERS


def parts_of(key: Tracker, rank: int, *, is_store: bool = False) -> list[Tracker] | None:
    """The key for each dimension, if it holds a symbolic int and else what gives views; None for any other key.

    `is_store`: a slice with a symbolic int counts as well, since the size of what is written to may be known to nobody.
    """
    items = [item.realize() for item in key.items] if isinstance(key, TupleTracker) else [key]
    opens = any(map(_is_symbolic_int, items)) or (is_store and any(map(_is_open_slice, items)))
    if not opens or not all(map(_gives_view, items)):
        return None
    ellipses = [index for index, item in enumerate(items) if _is_constant(item, ...)]
    used = sum(not _is_constant(item, None) and not _is_constant(item, ...) for item in items)
    # The subscript as a whole raises torch's IndexError.
    if len(ellipses) > 1 or used > rank:
        return None
    for index in ellipses:
        # At most one ellipsis, so no index is out of date.
        items[index : index + 1] = [_ALL] * (rank - used)
    return items


def take_view(tx: TraceContext, tensor: Tracker, parts: Sequence[Tracker]) -> Tracker:
    """`tensor[parts]`, dimension by dimension."""
    dim = 0
    for part in parts:
        if _is_constant(part, None):
            tensor = record(tx, torch.unsqueeze, (tensor, Constant(dim)))
        elif not isinstance(part, SliceTracker):
            tensor = record(tx, torch.select, (tensor, Constant(dim), part))
            # `select` removes the dimension, so the next part is about the same one.
            continue
        # A whole dimension needs no operation, and is this very object where an ellipsis was written out.
        elif part is not _ALL:
            tensor = record(tx, operator.getitem, (tensor, TupleTracker([*[_ALL] * dim, part])))
        dim += 1
    return tensor


def read_index(tx: TraceContext, key: Tracker, needed: NumbersNeeded) -> Tracker:
    """The key with numbers in place of the tensors that the subscript read. Breaks the graph for a truth: that is a mask."""
    dtypes = {getattr(tensor, "dtype", None) for tensor in needed.tensors}
    # torch takes both types as masks in a key.
    if dtypes & {torch.bool, torch.uint8}:
        raise GraphBreak(TENSOR_ITEM, str(needed))
    return read_numbers(tx, key, needed.tensors)


def _is_symbolic_int(item: Tracker) -> bool:
    return item.is_run_time_number and item.python_type is int


def _is_open_slice(item: Tracker) -> bool:
    return isinstance(item, SliceTracker) and any(_is_symbolic_int(part.realize()) for part in item.members())


def _gives_view(item: Tracker) -> bool:
    if isinstance(item, Constant):
        # A bool in a key is no index but a mask of its own dimension; a numpy scalar is taken apart elsewhere.
        return type(item.value) is int or item.value is None or item.value is ...
    return isinstance(item, SliceTracker) or _is_symbolic_int(item)


def _is_constant(item: Tracker, value: object) -> bool:
    return isinstance(item, Constant) and item.value is value
