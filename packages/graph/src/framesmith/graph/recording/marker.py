"""A moment of a recording to go back to, and the fakes that a roll-back must restore. `Recorder.rollback` goes back."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import final

import torch

from framesmith.graph.environment.ambient import Ambient
from framesmith.graph.nodes.arguments import EXAMPLE, tensors_in
from framesmith.graph.nodes.subgraph import Subgraph


@final
@dataclass(frozen=True, slots=True, eq=False)
class Marker:
    """A moment of the recording: the graph being recorded, its length, the length of the undo list, torch's switches."""

    body: Subgraph
    length: int
    undo: int
    ambient: Ambient


def tensors_of(body: Subgraph | None) -> Iterator[torch.Tensor]:
    """The fakes among the examples of a graph that is being recorded, and of those around it."""
    while body is not None:
        for node in body.order:
            yield from tensors_in(node.meta[EXAMPLE])
        body = body.parent
