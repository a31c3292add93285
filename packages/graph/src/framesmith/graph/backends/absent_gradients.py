"""Gradients that eager does not give, for a backend that differentiates all results together (AOTAutograd).

`a, b = f(x, y); a.sum().backward()`: where only `b` is computed from `y`, eager leaves `y.grad` as it is. AOTAutograd has one backward
pass for both results (and for inputs that were written to), takes zeros for the gradient of `b`, and so gives `y` a gradient of zeros, on which an optimizer acts. Which results
lead to which inputs is known of the fakes; what the compiled pass gives the others is dropped.

Autograd would run hooks of the others all the same, on None: what has hooks gets the zeros.
"""

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final, cast, final

import torch
from torch import fx
from torch.autograd.function import BackwardCFunction
from torch.autograd.graph import Node

from framesmith.graph.fakes.histories import has_history, last_operation, reached_places
from framesmith.graph.inputs.inputs import Input
from framesmith.graph.nodes.arguments import EXAMPLE
from framesmith.guards.sources.base import Source

_Gradients = tuple[torch.Tensor | None, ...]
_End = tuple[Node, int]

_UNSAID: Final = (RuntimeError, AssertionError, AttributeError)
"""What torch raises where it fails to say where a gradient goes: for views made without a history, or of what has become a leaf."""
_HOOKS: Final = ("_backward_hooks", "_post_accumulate_grad_hooks")
"""Where a tensor has its hooks: those on its gradient, and those behind it."""
_ACCUMULATES: Final = "torch::autograd::AccumulateGrad"
_COPIES: Final = "torch::autograd::CopyBackwards"


def find_reached(
    graph: fx.Graph, used: Sequence[Input], written: Collection[Source]
) -> dict[int, frozenset[int]]:
    """For each result of a closed graph, by its position, the positions of the inputs to which a backward pass from it leads, or may
    lead; and for the inputs that get a history by being written to, each by `~` of its position. Nothing where neither requires gradients."""
    results = cast(Sequence[fx.Node], graph.output_node().args[0])
    inputs = [
        (~place, entry.node)
        for place, entry in enumerate(used)
        if entry.source in written and has_history(entry.example)
    ]
    ends = {
        position: one
        for position, node in (*enumerate(results), *inputs)
        if (one := _differentiated(node)) is not None
    }
    # What the graph writes to has another history by now: such an input may be reached by all.
    places = {
        place: one
        for place, entry in enumerate(used)
        if entry.source not in written and (one := _differentiated(entry.node)) is not None
    }
    try:
        found = reached_places(list(ends.values()), list(places.values()))
    except _UNSAID:
        return {}
    numbers, others = list(places), frozenset(range(len(used))).difference(places)
    return {
        position: others | {numbers[one] for one in reached}
        for position, reached in zip(ends, found, strict=True)
    }


def _differentiated(node: fx.Node) -> torch.Tensor | None:
    """The fake of a node, if it requires gradients."""
    example = node.meta[EXAMPLE]
    return example if isinstance(example, torch.Tensor) and example.requires_grad else None


def drop_absent(
    call: Callable[..., tuple[object, ...]], reached: Mapping[int, frozenset[int]]
) -> Callable[..., tuple[object, ...]]:
    """The call, after which a backward pass gives no gradient to inputs that it does not lead to."""
    if not reached:
        return call
    absent: _ReachedInputs | None = None

    def run(*values: object) -> tuple[object, ...]:
        nonlocal absent
        before = {place: _operation(values[~place]) for place in reached if place < 0}
        results = call(*values)
        # the first that is known will do, in all calls but one
        node = next((end[0] for _, end in _ends(reached, results, values, before) if end is not None), None)
        if node is not None:
            if absent is None:
                # How the backend's function takes the values is the same in each call.
                ends = dict(_ends(reached, results, values, before))
                absent = _ReachedInputs.of(node, ends, values, reached)
            if not any(getattr(values[place], _HOOKS[0]) for place in absent.computed):
                node.register_hook(absent.drop)
        return results

    return run


def _operation(value: object) -> Node | None:
    return last_operation(value) if isinstance(value, torch.Tensor) else None


def _ends(
    places: Iterable[int],
    results: Sequence[object],
    values: Sequence[object],
    before: Mapping[int, Node | None],
) -> Iterator[tuple[int, _End | None]]:
    """The ends at these places, see `find_reached`."""
    for place in places:
        if place >= 0:
            yield place, _end_of_result(results[place])
        else:
            yield place, _end_of_input(values[~place], before[place])


def _end_of_result(result: object) -> _End | None:
    """The node of the backward pass that all ends have in common, and which of its results this is; None if that is not known."""
    if not isinstance(result, torch.Tensor):
        return None
    return _as_end(result.grad_fn, result.output_nr)


def _end_of_input(value: object, before: Node | None) -> _End | None:
    """The same for an input, into which its new content is copied. `before`: its last operation before that."""
    copy = _operation(value)
    if copy is None or copy is before or copy.name() != _COPIES:
        return None
    return _as_end(*copy.next_functions[1])


def _as_end(node: object, number: int) -> _End | None:
    return (cast(Node, node), number) if isinstance(node, BackwardCFunction) else None


@final
@dataclass(frozen=True, slots=True)
class _ReachedInputs:
    """The gradients that a node gives, by the gradients that it gets: `inputs[i]` are the results that lead to the i-th; what is not in
    there is always given. `known` are the results, numbered as the node's, `computed` the positions of the
    values that are no leaves."""

    known: frozenset[int]
    inputs: Mapping[int, frozenset[int]]
    computed: tuple[int, ...]

    @classmethod
    def of(
        cls,
        node: Node,
        ends: Mapping[int, _End | None],
        values: Sequence[object],
        reached: Mapping[int, frozenset[int]],
    ) -> "_ReachedInputs":
        """What is known of this node, after a call with these values."""
        numbers = {position: end[1] for position, end in ends.items() if end is not None and end[0] is node}
        places = _places(values)
        inputs = {
            number: frozenset(numbers[position] for position in numbers if places[edge] in reached[position])
            for number, edge in enumerate(map(_edge, node.next_functions))
            if edge in places
        }
        computed = tuple(place for edge, place in places.items() if not isinstance(edge, int))
        return cls(frozenset(numbers.values()), inputs, computed)

    def drop(self, given: _Gradients, got: _Gradients) -> _Gradients | None:
        """The gradients that the node gives, without those that eager does not give; None to leave them as they are."""
        defined = {number for number, one in enumerate(got) if one is not None}
        if defined:
            absent = {number for number, ends in self.inputs.items() if ends.isdisjoint(defined)}
        else:  # behind another graph, which gives no gradient to any result of this one
            absent = set(range(len(given)))
        if not defined <= self.known or not absent:
            return None
        node = torch._C._current_autograd_node()
        assert node is not None
        absent = {number for number in absent if not _has_hooks(node.next_functions[number][0])}
        return tuple(None if number in absent else one for number, one in enumerate(given))


def _has_hooks(node: Node | None) -> bool:
    """Whether the gradient of a leaf, which the node accumulates, is given to hooks."""
    leaf = getattr(node, "variable", None)
    return any(getattr(leaf, name, None) for name in _HOOKS)


def _places(values: Sequence[object]) -> dict[object, int]:
    """The positions of the tensors that require gradients, by where the gradient goes; not of those that have one place for several."""
    edges = [_edge_of(value) if isinstance(value, torch.Tensor) else None for value in values]
    counts = Counter(edges)
    return {edge: place for place, edge in enumerate(edges) if edge is not None and counts[edge] == 1}


def _edge_of(tensor: torch.Tensor) -> object:
    """Where the gradient of a tensor goes; None for one that needs none."""
    if not tensor.requires_grad:
        return None
    return id(tensor) if tensor.grad_fn is None else (tensor.grad_fn, tensor.output_nr)


def _edge(following: tuple[Node | None, int]) -> object:
    """Where a gradient goes, in the form of `_edge_of`."""
    node, number = following
    if node is not None and node.name() == _ACCUMULATES:
        return id(getattr(node, "variable"))  # noqa: B009  # not in torch's types
    return (node, number)
