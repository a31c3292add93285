"""The symbolic sizes of inputs that overlap and are written, as inputs of their own, for AOTAutograd.

    a, b = base[:-1], base[1:]        f(a, b): a.add_(1); b.mul_(2)

AOTAutograd puts their base in the place of such inputs and makes them anew from it, with sizes and offsets that it has to find among the
numbers that the graph takes: the base tells its own size alone.
"""

from collections import Counter
from collections.abc import Iterator
from itertools import chain

import torch

from framesmith.graph.fakes.execution import storage_of
from framesmith.graph.inputs.input_names import placeholder_name
from framesmith.graph.inputs.inputs import Input, Inputs, find_written_inputs
from framesmith.graph.nodes.expressions import Expression
from framesmith.graph.nodes.subgraph import Subgraph
from framesmith.graph.options import is_fixed
from framesmith.graph.passes.prune import STAYS
from framesmith.graph.replacing_backends import Reliance
from framesmith.guards.sources.base import Source
from framesmith.guards.sources.tensors import TensorSize, TensorStorageOffset, TensorStride


def add_sizes_of_views(graph: Subgraph, inputs: Inputs, reliance: Reliance) -> None:
    """Add the symbolic sizes, strides and offsets of inputs that share memory, if one of them is written and operations are replaced."""
    if reliance.holds:
        return
    fakes = [(one, one.example) for one in inputs if one.layout and isinstance(one.example, torch.Tensor)]
    # Views of one tensor have fakes that are views of one; others that share memory have fakes apart.
    held = Counter([storage_of(fake) for _, fake in fakes])
    shared = [one for one, fake in fakes if held[storage_of(fake)] > 1 or inputs.share_memory(fake)]
    if len(shared) < 2 or not find_written_inputs(shared, inputs.versions):
        return
    known = {_expression(entry.example) for entry in inputs}
    for source, number in chain.from_iterable(map(_numbers, shared)):
        expression = _expression(number)
        if expression is not None and expression not in known:
            known.add(expression)
            node = graph.placeholder(placeholder_name(source), number)
            node.meta[STAYS] = True
            inputs.add(Input(source, node, None, number, None))


def _numbers(entry: Input) -> Iterator[tuple[Source, object]]:
    """The sizes, strides and offset of an input: where each is read, and what the trace has for it."""
    _, source, (sizes, strides, offset) = next(entry.layouts())
    yield from ((TensorSize(source, dim), number) for dim, number in enumerate(sizes))
    yield from ((TensorStride(source, dim), number) for dim, number in enumerate(strides))
    yield TensorStorageOffset(source), offset


def _expression(number: object) -> Expression | None:
    """What a symbolic number stands for; None for any other value."""
    return number.node.expr if isinstance(number, torch.SymInt) and not is_fixed(number) else None
