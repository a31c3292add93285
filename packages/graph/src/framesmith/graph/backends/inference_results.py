"""Results of a graph that are inference tensors in eager, where a backend ran other operations, outside of inference mode.

Before: such a backend's callable gives ordinary tensors. After: inference tensors over the same memory.
"""

from collections.abc import Callable, Sequence

import torch
from torch import fx

from framesmith.graph.environment.ambient import Ambient
from framesmith.graph.nodes.arguments import EXAMPLE


def as_inference_tensors(
    call: Callable[..., tuple[object, ...]], module: fx.GraphModule, start: Ambient
) -> Callable[..., tuple[object, ...]]:
    """The call, with inference tensors as those results that are some in the captured graph.

    The call itself where there are none, where it runs the module, and where inference mode is on when the graph begins (`start`).
    """
    if getattr(call, "__self__", None) is module or start.is_inference_mode:
        return call
    positions = _positions(module.graph)

    def run(*values: object) -> tuple[object, ...]:
        results = list(call(*values))
        for position in positions:
            result = results[position]
            if isinstance(result, torch.Tensor) and not result.is_inference():
                results[position] = _over_memory_of(result)
        return tuple(results)

    return run if positions else call


def _positions(graph: fx.Graph) -> frozenset[int]:
    (values,) = graph.output_node().args
    assert isinstance(values, Sequence)
    examples = [node.meta[EXAMPLE] for node in values if isinstance(node, fx.Node)]
    return frozenset(
        position
        for position, example in enumerate(examples)
        if isinstance(example, torch.Tensor) and example.is_inference()
    )


def _over_memory_of(value: torch.Tensor) -> torch.Tensor:
    # A tensor is an inference tensor if it was made in this mode; `set_` keeps that.
    with torch.inference_mode():
        new = torch.empty(0, dtype=value.dtype, device=value.device)
        return new.set_(value.untyped_storage(), value.storage_offset(), value.shape, value.stride())
