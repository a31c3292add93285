"""What eager's operations save for the backward pass: asked of the history of the results on fakes, which eager's own nodes make."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Final, final
from weakref import WeakKeyDictionary

import torch
from torch import fx
from torch.autograd.graph import Node

from framesmith.graph.fakes.histories import last_operation
from framesmith.graph.nodes.arguments import EXAMPLE, tensors_in

_SAVED: Final = ("_saved_", "saved_tensors")
"""How the attributes of an operation begin: of torch's own, and of a custom function."""
_CHANGED: Final = "has been modified by an inplace operation"
"""What torch says of a tensor that was written to after it was saved. Of one that a backward pass has let go of it says something else."""
_NAMES: Final = WeakKeyDictionary[type, Sequence[str]]()
_LINEAR: Final = ("Mul", "Mm", "Mv", "Dot", "Addmm", "Bmm", "Baddbmm", "Addmv", "Addr", "Convolution")
_NORMS: Final = ("NativeLayerNorm", "NativeGroupNorm", "NativeBatchNorm")
_USE_OPERANDS: Final = frozenset(f"{name}Backward0" for name in _LINEAR + _NORMS)
"""Operations whose gradient is computed from gradients and operands alone. Of others a part may be computed in the forward pass."""


@final
@dataclass(frozen=True, slots=True)
class Saved:
    """What the operations of a node save: the very tensors. An operand is itself, a view of it is another tensor with its memory. `direct`:
    those that are saved by operations whose gradient is computed from gradients and operands alone.

    `is_known` is False if they cannot be told, since they were written to afterwards (`is_changed`), or a backward pass has let go of them.
    """

    tensors: Sequence[torch.Tensor]
    direct: Sequence[torch.Tensor]
    is_known: bool
    is_changed: bool


def saved_by_nodes(graph: fx.Graph, ends: Iterable[torch.Tensor]) -> Iterator[tuple[fx.Node, Saved]]:
    """The nodes of a graph of which a backward pass from any of the `ends` may read something.

    What an operation saves that wrote to the result of an earlier one may be listed with that.
    """
    living, seen = set(_operations_before(ends, set())), set[object]()
    for node in graph.nodes:
        tensors, direct, is_known, is_changed = list[torch.Tensor](), list[torch.Tensor](), True, False
        for operation in _operations_before(tensors_in(node.meta.get(EXAMPLE)), seen):
            if operation in living:
                try:
                    found = _saved_of(operation)
                except RuntimeError as error:
                    is_known = False
                    is_changed |= _CHANGED in str(error)
                    continue
                tensors += found
                direct += found if operation.name() in _USE_OPERANDS else ()
        if tensors or not is_known:
            yield node, Saved(tensors, direct, is_known, is_changed)


def _operations_before(tensors: Iterable[torch.Tensor], seen: set[object]) -> Iterator[Node]:
    """All operations in the history of some tensors, but for those that were seen."""
    todo = [last_operation(one) for one in tensors]
    while todo:
        operation = todo.pop()
        if operation is not None and operation not in seen:
            seen.add(operation)
            yield operation
            todo += [one for one, _ in operation.next_functions]


def _saved_of(operation: object) -> Sequence[torch.Tensor]:
    return [one for name in _names_saved(type(operation)) for one in tensors_in(getattr(operation, name))]


def _names_saved(kind: type) -> Sequence[str]:
    """The attributes of an operation that hold what it saves."""
    names = _NAMES.get(kind)
    if names is None:
        names = _NAMES[kind] = [name for name in dir(kind) if name.startswith(_SAVED)]
    return names
