"""The arguments of a call of a module, and when those of two calls are alike.

Alike: a call with the one would do what it did with the other, on other tensors. An argument that is an existing object has
to be the very same one; a container made in the trace is compared item by item if it is a tuple, others are not alike.
"""

from collections.abc import Iterator, Sequence

import torch

from framesmith.graph.fakes.metadata_changes import same_number
from framesmith.graph.options import PLAIN_INTS
from framesmith.guards.comparison import same_constant
from framesmith.variables.builtin_types.tuples import TupleTracker
from framesmith.variables.core import Constant, Lazy, Tracker
from framesmith.variables.symbolic_numbers.symbolic import SymbolicNumber
from framesmith.variables.tensors.tensors import TensorTracker


def known(tracker: Tracker) -> Tracker:
    """The tracker of a value that the trace has read; a lazy one otherwise, which is like itself only."""
    return tracker.realize() if isinstance(tracker, Lazy) and tracker.is_realized else tracker


def are_alike(one: Tracker, other: Tracker) -> bool:
    """Whether a call with the one argument would do what it did with the other. Reads nothing."""
    # what was made in the trace may hold something else by the time of the second call
    if one is other:
        return not _is_mutable(one)
    if isinstance(one, TensorTracker) and isinstance(other, TensorTracker):
        return _are_tensors_alike(one, other)
    if isinstance(one, Constant) and isinstance(other, Constant):
        return one.source is None and other.source is None and same_constant(one.value, other.value)
    if isinstance(one, TupleTracker) and isinstance(other, TupleTracker):
        return (
            one.source is None
            and other.source is None
            and one.cls is tuple
            and other.cls is tuple
            and len(one.items) == len(other.items)
            and all(
                are_alike(known(left), known(right))
                for left, right in zip(one.items, other.items, strict=True)
            )
        )
    return False


def tensors_in(trackers: Sequence[Tracker]) -> Iterator[TensorTracker]:
    """The tensors among arguments, in order."""
    for tracker in map(known, trackers):
        if isinstance(tracker, TensorTracker):
            yield tracker
        elif isinstance(tracker, TupleTracker) and tracker.source is None:
            yield from tensors_in(tracker.items)


def _is_mutable(tracker: Tracker) -> bool:
    """Whether an argument made in the trace may have changed since it was given to another call."""
    if isinstance(tracker, TensorTracker):
        return bool(tracker.own)
    if isinstance(tracker, TupleTracker):
        return tracker.source is None and any(map(_is_mutable, map(known, tracker.items)))
    return tracker.source is None and not isinstance(tracker, Constant | SymbolicNumber)


def _are_tensors_alike(one: TensorTracker, other: TensorTracker) -> bool:
    """A tensor that is read from somewhere may show more than its metadata, see `recordings`."""
    return (
        one.cls is other.cls
        and not (one.source is None and other.source is not None)
        and not one.own
        and not other.own
        and not (one.value is not None and vars(one.value))
        and not (other.value is not None and vars(other.value))
        and same_metadata(one.fake, other.fake)
    )


def same_metadata(one: torch.Tensor, other: torch.Tensor) -> bool:
    """Whether two fakes show the same to a program: sizes are the same numbers or expressions."""
    # no fake has a `__torch_function__` of the user's; torch looks for one at each attribute otherwise
    with torch._C.DisableTorchFunctionSubclass():
        return (
            one.dtype is other.dtype
            and one.device == other.device
            and one.requires_grad is other.requires_grad
            and one.is_leaf is other.is_leaf
            and one.retains_grad is other.retains_grad
            and one._is_view() is other._is_view()
            and one.is_inference() is other.is_inference()
            # tells lazy conjugates, negatives and the like apart, which have the same sizes and type
            and torch._C._dispatch_keys(one).raw_repr() == torch._C._dispatch_keys(other).raw_repr()
            and one.dim() == other.dim()
            and _are_same_numbers(
                (*one.shape, *one.stride(), one.storage_offset()),
                (*other.shape, *other.stride(), other.storage_offset()),
            )
        )


def _are_same_numbers(one: Sequence[object], other: Sequence[object]) -> bool:
    if PLAIN_INTS.issuperset(map(type, one)) and PLAIN_INTS.issuperset(map(type, other)):
        return one == other
    return all(map(same_number, one, other))
