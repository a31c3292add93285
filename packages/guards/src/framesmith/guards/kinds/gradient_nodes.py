"""The claim that autograd calls no function of the program when it gives a leaf its gradient."""

from dataclasses import dataclass
from typing import final

import torch

from framesmith.guards.gradient_nodes import has_node_hooks
from framesmith.guards.kinds.base import Claim
from framesmith.guards.names import Names
from framesmith.guards.sources.base import Source


@final
@dataclass(frozen=True, slots=True, eq=False)
class NoNodeHooks(Claim):
    """No function hangs on the `AccumulateGrad` node of the leaf."""

    def check(self, value: object) -> bool:
        return isinstance(value, torch.Tensor) and not has_node_hooks(value)

    def render(self, value_expression: str, names: Names) -> str:
        return f"{names.constant(self.check, 'has_free_node')}({value_expression})"

    def explain(self, value: object, source: Source) -> str:
        return f"{source.text()}: a function was registered on its AccumulateGrad node"

    def text(self, source: Source) -> str:
        return f"no function hangs on the AccumulateGrad node of {source.text()}"
