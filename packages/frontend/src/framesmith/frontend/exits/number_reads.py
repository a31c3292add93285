"""Operations that run natively and only read the numbers in a tensor of the graph: they get it without its history.

    n = w.exp().sum().item(); return y * n      graph: s = w.exp().sum(); return y, s.detach()

AOTAutograd gives each result with a history a gradient, zeros where the program gives none: `w` would get zeros where eager gives it
nothing. What reads the numbers gets a leaf, since torch warns of some such reads of a tensor that requires a gradient.
"""

import operator
from collections.abc import Sequence
from typing import Final

import torch

from framesmith.bytecode.meaning import Kind
from framesmith.frontend.generated.source_writer import EntryWriter
from framesmith.frontend.tracing.library_calls import CALLS
from framesmith.variables.core import Null, TraceContext, Tracker
from framesmith.variables.core.lazy import Lazy
from framesmith.variables.tensors.tensors import TensorTracker

METHODS: Final = frozenset(
    getattr(torch.Tensor, name)
    for name in ("item", "tolist", "__bool__", "__int__", "__float__", "__index__", "__complex__")
)
_FUNCTIONS: Final[frozenset[object]] = frozenset({bool, int, float, complex, operator.index})
_JUMPS: Final = frozenset({Kind.POP_JUMP_IF})


def find_number_read(kind: Kind, operands: Sequence[Tracker]) -> int | None:
    """The position of the tensor of which this operation reads the numbers, and nothing else; not for a method (`METHODS`)."""
    if kind in _JUMPS:
        return 0 if _is_tensor(operands[0]) else None
    if kind not in CALLS or len(operands) != 3:
        return None
    place = 2
    if not _is_tensor(operands[place]):
        return None
    function = operands[1 if isinstance(operands[0], Null) else 0].realize()
    if not function.is_python_constant():
        return None
    known = function.as_python_constant()
    is_reader = isinstance(known, type) or callable(known)
    return place if is_reader and any(known is one for one in _FUNCTIONS) else None


def _is_tensor(value: Tracker) -> bool:
    """Whether it is known to be a tensor: to ask an unread value would guard it."""
    if isinstance(value, Lazy):
        return value.is_realized and isinstance(value.realize(), TensorTracker)
    return isinstance(value, TensorTracker)


def write_number_read(writer: EntryWriter, tx: TraceContext, value: Tracker) -> str:
    """An expression for a tensor of which only the numbers are read."""
    tensor = value.realize() if _is_tensor(value) else value
    if (
        not isinstance(tensor, TensorTracker)
        or tensor.value is not None
        or tensor.cls is not torch.Tensor
        or not tensor.fake.requires_grad
        or tx.graph.length() is None
        or tx.graph.runs_as_captured
    ):
        return writer.value(value)
    node = tx.graph.call("call_method", "detach", (tensor.graph_node(tx),))
    return f"{writer.constant(torch.Tensor.requires_grad_, 'as_leaf')}({writer.node(node)})"
