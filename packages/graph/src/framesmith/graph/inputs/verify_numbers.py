"""What must hold of a finished entry: each plain or fixed number of an input has a guard.

A size that was requested as symbolic may become a number all the same (0 and 1 do, and one that a decision fixes). Such
a number is a constant of the graph and of the generated function, so the entry must not run when it differs.
"""

from collections.abc import Iterable, Iterator, Mapping
from typing import TypeAlias

import torch

from framesmith.graph.inputs.inputs import Input, Layout
from framesmith.graph.options import is_fixed
from framesmith.guards.guard_set import GuardSet
from framesmith.guards.kinds.base import Claim
from framesmith.guards.kinds.shapes import ShapeExpression
from framesmith.guards.kinds.tensor import TensorIs
from framesmith.guards.kinds.values import EqualTo
from framesmith.guards.sources.base import Source
from framesmith.guards.sources.computed import Computed
from framesmith.guards.sources.new_objects import NewObject
from framesmith.guards.sources.tensors import TensorSize, TensorStride

_Claims: TypeAlias = Mapping[Source, list[Claim]]


def verify_numbers(inputs: Iterable[Input], guards: GuardSet) -> list[str]:
    """The problems, an empty list if there are none: each names the number, its value and the missing guard."""
    claims: dict[Source, list[Claim]] = {}
    related: set[Source] = set()
    for guard in guards:
        if isinstance(guard.claim, Claim):
            assert guard.source is not None
            claims.setdefault(guard.source, []).append(guard.claim)
        elif isinstance(guard.claim, ShapeExpression):
            related.update(guard.claim.sources)
    problems: list[str] = []
    for entry in inputs:
        if isinstance(entry.source, NewObject) and entry.layout is not None:
            continue  # the entry makes it with these sizes
        if entry.layout is not None:
            for place, fields, layout in entry.layouts():
                problems += _of_tensor(place, fields, layout, claims, related)
        # Without a value: the size of a tensor, read as an input. It is checked with that tensor.
        elif isinstance(entry.example, torch.SymInt | torch.SymFloat) and entry.value is not None:
            problems += _of_number(entry, claims, related)
    return problems


def _of_tensor(
    place: Source, fields: Source, layout: Layout, claims: _Claims, related: set[Source]
) -> Iterator[str]:
    specs = [claim.spec for claim in claims.get(place, ()) if isinstance(claim, TensorIs)]
    sizes, strides, _ = layout
    for dim, size in enumerate(sizes):
        held = any(spec.sizes is not None and spec.sizes[dim] == size for spec in specs)
        yield from _problem(TensorSize(fields, dim), size, held, related)
    for dim, stride in enumerate(strides):
        held = any(spec.strides is not None and spec.strides[dim] == stride for spec in specs)
        yield from _problem(TensorStride(fields, dim), stride, held, related)


def _problem(source: Source, number: object, held: bool, related: set[Source]) -> Iterator[str]:
    if type(number) is int:
        if not held:
            yield f"{source.text()} is the number {number} in the trace, and no guard says so"
    elif is_fixed(number) and not held and source not in related:
        yield f"{source.text()} was symbolic, the trace fixed it to {number}, and no guard says so"


def _of_number(entry: Input, claims: _Claims, related: set[Source]) -> Iterator[str]:
    own = claims.get(entry.source, [])
    # A computed number rests on the guards of its operands.
    if not own and not isinstance(entry.source, Computed):
        yield f"{entry.source.text()} is a symbolic number, and no guard holds its type"
    fixed = is_fixed(entry.example)
    if fixed and entry.source not in related and not any(isinstance(claim, EqualTo) for claim in own):
        yield f"{entry.source.text()} was symbolic, the trace fixed it to {entry.example}, and no guard says so"
