"""Results of a graph that are views which autograd forbids to write to, for a backend that gives them another history (AOTAutograd).

Before: `a, b = y.unbind(0); return a`, where the backend's `a` is an ordinary result. After: what runs the graph makes a view of it of
the kind that it is in eager, so that `a.add_(1)` raises what eager raises, in this function behind a break, or in its caller.
"""

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, cast, final

import torch
from torch import fx
from torch._C._autograd import CreationMeta

from framesmith.graph.inputs.inputs import is_wrapper
from framesmith.graph.nodes.arguments import EXAMPLE

_SUFFIX: Final = re.compile(r"Backward\d*$")


@final
@dataclass(frozen=True, slots=True)
class ViewKind:
    """How a view was made. `operation`: the function that gave it, as its `place`-th result, None where autograd recorded none."""

    meta: CreationMeta
    operation: str | None
    place: int


def find_forbidden_views(graph: fx.Graph) -> dict[int, ViewKind]:
    """The positions of the outputs of a closed graph that are such views, and of what kind."""
    values = cast(Sequence[fx.Node], graph.output_node().args[0])
    return {
        position: kind
        for position, node in enumerate(values)
        if (kind := _kind_of(node.meta[EXAMPLE])) is not None
    }


def has_outdated_views(graph: fx.Graph) -> bool:
    """Whether an output is a view whose memory was written to since, in a way that autograd forbids: AOTAutograd fails to
    differentiate it, eager only if the program does."""
    return any(map(_is_outdated, cast(Sequence[fx.Node], graph.output_node().args[0])))


def _is_outdated(node: fx.Node) -> bool:
    example = node.meta[EXAMPLE]
    if not isinstance(example, torch.Tensor) or not example._is_view():
        return False
    try:
        _ = example.grad_fn
    except RuntimeError:
        return True
    return False


def _kind_of(example: object) -> ViewKind | None:
    if not isinstance(example, torch.Tensor) or not example._is_view() or not example.requires_grad:
        return None
    if is_wrapper(example):  # its class may know no operation that gives another one over the same memory
        return None
    meta = torch._C._autograd._get_creation_meta(example)
    if meta is CreationMeta.DEFAULT:
        return None
    try:
        history = example.grad_fn
    except (
        RuntimeError
    ):  # its memory was written to since: any use raises, and so does that of another history
        return None
    name = None if history is None else _SUFFIX.sub("", history.name())
    return ViewKind(meta, name, example.output_nr)


def restore_forbidden_views(
    call: Callable[..., tuple[object, ...]], kinds: Mapping[int, ViewKind]
) -> Callable[..., tuple[object, ...]]:
    """The call, with views of these kinds for the results at these positions."""
    makers = {position: _maker_of(kind) for position, kind in kinds.items()}

    def run(*values: object) -> tuple[object, ...]:
        results = list(call(*values))
        for position, make in makers.items():
            result = results[position]
            assert isinstance(result, torch.Tensor)
            results[position] = make(result)
        return tuple(results)

    return run


def _maker_of(kind: ViewKind) -> Callable[[torch.Tensor], torch.Tensor]:
    recorded = None if kind.operation is None else _recorded_as(kind.operation, kind.place)

    def make(result: torch.Tensor) -> torch.Tensor:
        with torch.set_grad_enabled(recorded is not None):
            view = torch.ops.aten.alias(result) if recorded is None else recorded(result)
        if view._is_view():
            torch._C._autograd._set_creation_meta(view, kind.meta)
        return view

    return make


def _recorded_as(operation: str, place: int) -> Callable[[torch.Tensor], torch.Tensor]:
    """What gives a view of a tensor, which autograd takes for this result of this operation: its messages name both."""

    def forward(ctx: Any, value: torch.Tensor) -> tuple[torch.Tensor, ...]:  # torch's own context
        ctx.set_materialize_grads(False)
        return (*(value.new_empty(0) for _ in range(place)), torch.ops.aten.alias(value))

    def backward(ctx: Any, *gradients: torch.Tensor | None) -> torch.Tensor | None:  # torch's own context
        return gradients[-1]

    members = {"forward": staticmethod(forward), "backward": staticmethod(backward)}
    function: Any = type(operation, (torch.autograd.Function,), members)  # a class of torch's own making

    def record(value: torch.Tensor) -> torch.Tensor:
        results: tuple[torch.Tensor, ...] = function.apply(value)
        return results[-1]

    return record
