"""What occurs in a closed graph, found in one walk: most questions of `captured_only` are answered by it without a walk of their own."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import final

from torch import fx
from torch._subclasses import FakeTensor

from framesmith.graph.nodes.arguments import EXAMPLE, tensors_in
from framesmith.graph.operations.data_errors import operator_name
from framesmith.graph.operations.purity import IMPURE


@final
@dataclass(frozen=True, slots=True)
class GraphContents:
    """`names`: plain names of the operations; `keywords`: of their arguments; `has_effects`: an operation may do more than compute;
    `has_nested`: it holds graphs or tensors of its own; `has_gradients`: a tensor requires gradients; `has_wrappers`: a tensor is no
    plain fake."""

    names: frozenset[str]
    keywords: frozenset[str]
    has_effects: bool
    has_nested: bool
    has_gradients: bool
    has_wrappers: bool

    @staticmethod
    def of(graph: fx.Graph) -> "GraphContents":
        """What the graph contains."""
        # by identity: the hash of a callable may be code of the user
        kinds: dict[int, str] = {}
        keywords = set[str]()
        effects = nested = gradients = wrappers = False
        for node in graph.nodes:
            op, meta = node.op, node.meta
            if op == "get_attr":
                nested = True
                continue
            if op == "output":
                continue
            if op != "placeholder":
                if id(node.target) not in kinds:
                    kinds[id(node.target)] = operator_name(op, node.target)
                if node.kwargs:
                    keywords.update(node.kwargs)
                effects = effects or meta.get(IMPURE, True)
            value = meta.get(EXAMPLE)
            for tensor in (value,) if type(value) is FakeTensor else tensors_in(value):
                gradients = gradients or tensor.requires_grad
                wrappers = wrappers or type(tensor) is not FakeTensor
        return GraphContents(
            frozenset(kinds.values()), frozenset(keywords), effects, nested, gradients, wrappers
        )

    def has(self, names: Iterable[str]) -> bool:
        """Whether an operation has one of these names."""
        return not self.names.isdisjoint(names)
