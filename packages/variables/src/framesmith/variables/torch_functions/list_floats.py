"""Operations on lists of tensors: those in place return their first list, and some take a float that changes.

torch._foreach_add_(xs, ys, alpha=v)      eager: what `x.add_(y, alpha=v)` does, for each; the result is `xs`
"""

from collections.abc import Callable, Sequence
from typing import Final

import torch

from framesmith.variables.builtin_types.lists import ListTracker
from framesmith.variables.builtin_types.tuples import TupleTracker
from framesmith.variables.core import TraceContext, Tracker
from framesmith.variables.tensors.number_operands import as_operand, is_changing_float
from framesmith.variables.tensors.tensors import TensorTracker
from framesmith.variables.torch_functions.graph_calls import graph_call

_NAMES: Final = ("add", "sub", "mul", "div", "lerp", "addcmul", "addcdiv")
_TAKE_TENSORS: Final = frozenset({"add", "mul", "div"})
_SINGLE: Final = {
    getattr(torch, f"_foreach_{name}{end}"): f"{name}{end}" for name in _NAMES for end in ("", "_")
}
_IN_PLACE: Final = frozenset(
    getattr(torch, name) for name in dir(torch) if name.startswith("_foreach_") and name.endswith("_")
)
LIST_FUNCTIONS: Final = tuple(dict.fromkeys((*_SINGLE, *_IN_PLACE)))
"""The functions that get a row from `make_list_row`."""


def make_list_row(
    function: Callable[..., object], otherwise: Callable[..., Tracker] | None
) -> Callable[..., Tracker]:
    """The row of an operation on lists: where a float changes, and a backend replaces operations, it gets a tensor in its place, or
    becomes the operation on single tensors for each, which is what kernels for CPU do. `otherwise`: the row for all other calls."""

    def call(tx: TraceContext, *args: Tracker, **kwargs: Tracker) -> Tracker:
        result = _with_floats(tx, function, [one.realize() for one in args], kwargs)
        if result is None:
            result = (
                graph_call(tx, function, args, kwargs)
                if otherwise is None
                else otherwise(tx, *args, **kwargs)
            )
        return (args[0] if args else kwargs["self"]) if function in _IN_PLACE else result

    return call


def _with_floats(
    tx: TraceContext, function: Callable[..., object], args: Sequence[Tracker], kwargs: dict[str, Tracker]
) -> Tracker | None:
    """The result; None where no float changes, or the operation is not one on equally long lists of tensors on the CPU."""
    name = _SINGLE.get(function)
    if name is None or not tx.graph.has_floats:
        return None
    if not any(is_changing_float(tx, one.realize()) for one in (*args, *kwargs.values())):
        return None
    lists = [one.items for one in args if isinstance(one, ListTracker | TupleTracker)]
    tensors = [item.realize() for items in lists for item in items]
    fakes = [one.fake for one in tensors if isinstance(one, TensorTracker)]
    is_first = bool(args) and isinstance(args[0], ListTracker | TupleTracker)
    if not is_first or len({*map(len, lists)}) != 1 or len(fakes) < len(tensors):
        return None
    # On other devices the kernel for lists is another one, which may round otherwise.
    if any(fake.device.type != "cpu" for fake in fakes):
        return None
    if name.rstrip("_") in _TAKE_TENSORS and len(args) == 2 and not kwargs:
        operand = as_operand(tx, fakes, args[1])
        if operand is not args[1]:
            return graph_call(tx, function, (args[0], operand), {})
    results = [
        tensor.realize().attribute(tx, name).call(tx, [_item(one, place) for one in args[1:]], kwargs)
        for place, tensor in enumerate(lists[0])
    ]
    return TupleTracker(results)


def _item(value: Tracker, place: int) -> Tracker:
    return value.items[place] if isinstance(value, ListTracker | TupleTracker) else value
