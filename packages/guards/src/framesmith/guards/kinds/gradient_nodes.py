"""The claims that autograd calls no function of the program when it gives a leaf its gradient."""

from collections import OrderedDict
from dataclasses import dataclass
from typing import final

import torch

from framesmith.guards.gradient_nodes import has_node_hooks
from framesmith.guards.kinds.base import Claim
from framesmith.guards.names import Names
from framesmith.guards.plain_tensors import PLAIN_TENSORS
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


@final
@dataclass(frozen=True, slots=True, eq=False)
class NoTensorHooks(Claim):
    """The tensor has no hooks of this name, `_backward_hooks` say: it never had any, or they were removed. `overridden`: its class may
    override the attribute; it is not asked."""

    name: str
    overridden: bool = False

    @classmethod
    def of(cls, tensor: torch.Tensor, name: str) -> "NoTensorHooks":
        """The claim about this tensor, whose class is guarded."""
        return cls(name, type(tensor) not in PLAIN_TENSORS)

    def check(self, value: object) -> bool:
        with torch._C.DisableTorchFunction():  # no subclass is asked
            hooks = getattr(value, self.name)
        # What torch makes: the length of another dictionary may be code of the program.
        return hooks is None or (type(hooks) in (dict, OrderedDict) and not hooks)

    def render(self, value_expression: str, names: Names) -> str:
        asked = f"{names.constant(self.check, 'has_no_hooks')}({value_expression})"
        return asked if self.overridden else f"({value_expression}.{self.name} is None or {asked})"

    def explain(self, value: object, source: Source) -> str:
        return f"{source.text()}: {self.name} is no longer empty"

    def text(self, source: Source) -> str:
        return f"{source.text()}.{self.name} is empty"
