"""Fields of `torch.Tensor` as functions: `torch.Tensor.shape.__get__`, which is what torch asks a subclass about `x.shape`.

Reading a field by its name is in the tracker.
"""

from types import GetSetDescriptorType
from typing import Final

import torch

from framesmith.graph import GraphBreak
from framesmith.graph.breaks.break_kinds import UNSUPPORTED_SUBCLASS
from framesmith.guards.class_lookup import static_lookup
from framesmith.variables.core import TraceContext, Tracker
from framesmith.variables.core.rows import Rows
from framesmith.variables.subclasses.subclass_tensors import SubclassTensor
from framesmith.variables.tensors.tensors import TensorTracker

ROWS: Final = Rows()


def _register(name: str, getter: object) -> None:
    def read(tx: TraceContext, self: Tracker, owner: Tracker | None = None, /) -> Tracker:
        """`torch.Tensor.<name>.__get__(x)`, which asks the class as `x.<name>` does."""
        if isinstance(self, SubclassTensor):
            descriptor = static_lookup(torch.Tensor, name)
            assert isinstance(descriptor, GetSetDescriptorType)
            return self.read_field(tx, descriptor)
        if isinstance(self, TensorTracker):
            return self.attribute(tx, name)
        raise GraphBreak(UNSUPPORTED_SUBCLASS, f"Tensor.{name}.__get__({self.describe()})")

    ROWS.call(getter)(read)


for _name in dir(torch.Tensor):
    _stored = static_lookup(torch.Tensor, _name)
    if isinstance(_stored, GetSetDescriptorType) and _stored.__objclass__ is torch._C.TensorBase:
        # Each reading of `__get__` gives a new wrapper, which is equal to the others and so finds the row.
        _register(_name, _stored.__get__)
