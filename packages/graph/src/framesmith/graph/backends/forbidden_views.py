"""Results of a graph that are views which autograd forbids to write to, for a backend that gives them another history (AOTAutograd).

A view without a history is made in the mode of the graph's beginning; what runs the graph says in which one it is made in eager.

Before: `a, b = y.unbind(0); return a`, where the backend's `a` is an ordinary result. After: what runs the graph makes a view of it of
the kind that it is in eager, so that `a.add_(1)` raises what eager raises, in this function behind a break, or in its caller.
"""

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
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
    """How a view was made. `operation`: the function that gave it, as its `place`-th result, None where autograd recorded none.
    `is_plain`: it needs no gradient."""

    meta: CreationMeta
    operation: str | None
    place: int
    is_plain: bool


def find_forbidden_views(graph: fx.Graph) -> dict[int, ViewKind]:
    """The positions of the outputs of a closed graph that are such views, and of what kind."""
    values = cast(Sequence[fx.Node], graph.output_node().args[0])
    switches = any(graph.find_nodes(op="call_function", target=torch._C._set_grad_enabled, sort=False))
    given = (
        {id(node.meta[EXAMPLE]) for node in graph.find_nodes(op="placeholder")} if switches else set[int]()
    )
    return {
        position: kind
        for position, node in enumerate(values)
        if (kind := _kind_of(node.meta[EXAMPLE], switches)) is not None
        and not (kind.is_plain and id(node.meta[EXAMPLE]) in given)
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


def _kind_of(example: object, switches: bool) -> ViewKind | None:
    """`switches`: whether the graph turns gradients on or off."""
    if not isinstance(example, torch.Tensor) or not example._is_view():
        return None
    if is_wrapper(example):  # its class may know no operation that gives another one over the same memory
        return None
    meta = torch._C._autograd._get_creation_meta(example)
    if not example.requires_grad:
        return ViewKind(meta, None, 0, is_plain=True) if switches else None
    if meta is CreationMeta.DEFAULT:
        return None
    try:
        history = example.grad_fn
    except (
        RuntimeError
    ):  # its memory was written to since: any use raises, and so does that of another history
        return None
    name = None if history is None else _SUFFIX.sub("", history.name())
    return ViewKind(meta, name, example.output_nr, is_plain=False)


def restore_forbidden_views(
    call: Callable[..., tuple[object, ...]], kinds: Mapping[int, ViewKind]
) -> Callable[..., tuple[object, ...]]:
    """The call, with views of these kinds for the results at these positions."""
    makers = {
        position: partial(_say_mode, kind.meta) if kind.is_plain else _maker_of(kind)
        for position, kind in kinds.items()
    }

    def run(*values: object) -> tuple[object, ...]:
        results = list(call(*values))
        for position, make in makers.items():
            result = results[position]
            assert isinstance(result, torch.Tensor)
            results[position] = make(result)
        return tuple(results)

    return run


def _say_mode(meta: CreationMeta, result: torch.Tensor) -> torch.Tensor:
    """The very result; a backend may have given what is no view."""
    if result._is_view() and not result.requires_grad and not result.is_inference():
        torch._C._autograd._set_creation_meta(result, meta)
    return result


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
