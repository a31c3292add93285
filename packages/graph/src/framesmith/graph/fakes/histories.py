"""The autograd graph of fakes, their history: where it begins, and whether a backward pass can still use it.

Fakes are recorded by autograd as real tensors are, so a backward pass over fakes gives gradients of the right metadata.
"""

import functools
import operator
from collections.abc import Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, nullcontext

import torch
from torch._subclasses import FakeTensor
from torch.autograd.graph import Node, get_gradient_edge

from framesmith.graph.operations.data_errors import only_computes


def find_leaves(outputs: Iterable[torch.Tensor], stops: Iterable[torch.Tensor] = ()) -> list[torch.Tensor]:
    """The leaves that a backward pass from these tensors reaches, each once. It does not go on behind the tensors in `stops`."""
    # The nodes are kept: torch makes their Python objects on request, and an id could come again.
    ends = {id(tensor.grad_fn): tensor.grad_fn for tensor in stops if tensor.grad_fn is not None}
    leaves: dict[int, torch.Tensor] = {}
    todo: list[Node] = []
    for output in outputs:
        if output.grad_fn is not None:
            todo.append(output.grad_fn)
        elif output.requires_grad:
            leaves[id(output)] = output
    seen: set[Node] = set()
    while todo:
        node = todo.pop()
        if node in seen or id(node) in ends:
            continue
        seen.add(node)
        leaf = getattr(node, "variable", None)  # of `AccumulateGrad`
        if isinstance(leaf, torch.Tensor):
            leaves[id(leaf)] = leaf
        todo += _before(node)
    return list(leaves.values())


def reached_places(outputs: Sequence[torch.Tensor], places: Sequence[torch.Tensor]) -> list[frozenset[int]]:
    """For each output the positions of those places to which a backward pass from it leads; all of them require gradients. The history is
    walked through once, however many outputs share it."""
    bits: dict[tuple[Node, int], int] = {}
    for position, place in enumerate(places):
        edge = get_gradient_edge(place)[:2]
        bits[edge] = bits.get(edge, 0) | 1 << position
    ends = [get_gradient_edge(output)[:2] for output in outputs]
    masks: dict[Node, int] = {}
    todo = [node for node, _ in ends]
    while todo:
        before = [(one, number) for one, number in todo[-1].next_functions if one is not None]
        missing = [one for one, _ in before if one not in masks]
        if missing and todo[-1] not in masks:
            todo += missing
            continue
        node = todo.pop()
        if node not in masks:
            masks[node] = functools.reduce(
                operator.or_, (masks[one] | bits.get((one, number), 0) for one, number in before), 0
            )
    found = (masks[node] | bits.get((node, number), 0) for node, number in ends)
    return [frozenset(position for position in range(len(places)) if mask >> position & 1) for mask in found]


def passes_through(outputs: Iterable[torch.Tensor], tensors: Iterable[torch.Tensor]) -> bool:
    """Whether a backward pass from `outputs` runs an operation of which one of `tensors` is the result."""
    wanted = {tensor.grad_fn for tensor in tensors if tensor.grad_fn is not None}
    return not wanted.isdisjoint(nodes_of_pass(outputs))


def nodes_of_pass(outputs: Iterable[torch.Tensor]) -> Iterator[Node]:
    """The operations that a backward pass from these tensors runs, each once."""
    todo = [output.grad_fn for output in outputs if output.grad_fn is not None]
    seen: set[Node] = set()
    while todo:
        node = todo.pop()
        if node not in seen:
            seen.add(node)
            yield node
            todo += _before(node)


def _before(node: Node) -> Iterator[Node]:
    return (one for one, _ in node.next_functions if one is not None)


def backward_errors(outputs: Sequence[torch.Tensor]) -> dict[int, str]:
    """The positions of the fakes from which no backward pass can be run, and what it raises: an earlier one has freed what it
    needs, or what it needs was changed in place.

    One pass from all of them shows that none is such, as nearly always. Their halves are asked only where it raises: a pass from
    each would run what they share as often as there are outputs.
    """
    error = _error_of_pass(outputs)
    if error is None:
        return {}
    if len(outputs) == 1:
        # Any other error is one of this try, on fakes, and says nothing of the program's own pass.
        is_dead = "second time" in error or "modified by an inplace operation" in error
        return {0: error} if is_dead else {}
    middle = len(outputs) // 2
    second = backward_errors(outputs[middle:])
    return backward_errors(outputs[:middle]) | {middle + place: text for place, text in second.items()}


def _error_of_pass(outputs: Sequence[torch.Tensor]) -> str | None:
    """What a backward pass from all of these fakes raises."""
    leaves = find_leaves(outputs)
    if not leaves:
        return None
    ones = [torch.ones_like(output) for output in outputs]
    try:
        # its report goes to the standard error stream; the text of an error holds sizes, which must not be fixed for it
        with torch.autograd.set_detect_anomaly(False), no_guards(outputs):
            torch.autograd.grad(outputs, leaves, ones, retain_graph=True, allow_unused=True)
    except Exception as error:
        return str(error)
    return None


def has_history(value: object) -> bool:
    """Whether a value is a tensor that was computed from what requires gradients."""
    if not isinstance(value, torch.Tensor):
        return False
    with torch._C.DisableTorchFunction():  # no subclass is asked
        return value.requires_grad and last_operation(value) is not None


def last_operation(tensor: torch.Tensor) -> Node | None:
    """The operation that made it, if a gradient goes through that. None too for a view that autograd refuses to differentiate."""
    try:
        return tensor.grad_fn
    except RuntimeError:  # torch fails to say for a view of what has become a leaf; no pass goes through it
        return None


def no_guards(fakes: Iterable[torch.Tensor]) -> AbstractContextManager[object]:
    """Nothing that is asked of the symbolic numbers of the fakes' trace is decided for its entry: torch writes sizes into messages."""
    worlds = (fake.fake_mode.shape_env for fake in fakes if isinstance(fake, FakeTensor))
    world = next((one for one in worlds if one is not None), None)
    return nullcontext() if world is None else world.suppress_guards()


def has_gaps(leaf: torch.Tensor) -> bool:
    """Whether the elements of a leaf lie apart or share memory, so that its gradient has other strides."""
    return torch.empty_like(leaf).stride() != leaf.stride()


def is_laid_out_alike(gradient: torch.Tensor, leaf: torch.Tensor) -> bool:
    """Whether autograd keeps this gradient of a leaf without gaps as `leaf.grad`: it has the strides of the leaf, but where a
    size is 1, and was not expanded. Any other is copied into such a tensor ("gradient layout contract" in torch's
    `accumulate_grad.h`)."""
    if any(stride == 0 for stride in gradient.stride()):
        return False
    strides = zip(leaf.shape, leaf.stride(), gradient.stride(), strict=True)
    return all(one == other or size == 1 for size, one, other in strides)


@only_computes
def lay_out(gradient: torch.Tensor, leaf: torch.Tensor) -> torch.Tensor:
    """The memory of the gradient, or a copy, as `leaf.grad`: for leaves with a size of 1, whose gradient may have another
    stride there than its fake."""
    return gradient.detach() if is_laid_out_alike(gradient, leaf) else torch.empty_like(leaf).copy_(gradient)
