"""One operation run on fakes as a transaction: its result and what it changed, or everything as before.

`infer` knows what an exception means; here is what has to be put back.
"""

from collections.abc import Mapping, Sequence, Set
from dataclasses import dataclass
from typing import Any, final

import torch

from framesmith.graph.ambient import Ambient
from framesmith.graph.break_kinds import FAKE_FAILED
from framesmith.graph.breaks import GraphBreak
from framesmith.graph.fake_tensors import Snapshot, restore, snapshots
from framesmith.graph.infer import CallKind, run

_GIVES_OTHER_MEMORY: tuple[object, ...] = (setattr, "set_", torch.Tensor.set_)


@final
@dataclass(frozen=True, slots=True, eq=False)
class Execution:
    """The result, whether an argument or a switch may have changed, and how to undo that."""

    result: object
    impure: bool
    undo: Sequence[Snapshot]


def execute(
    op: CallKind,
    target: Any,
    args: Sequence[object],
    kwargs: Mapping[str, object],
    tensors: Sequence[torch.Tensor],
    may_mutate: bool,
) -> Execution:
    """Run it. `tensors` are the fakes among the arguments; `target` is any callable or a method's name, hence Any.

    Whatever is raised, the fakes and torch's switches are as they were. An operation that nobody expected to
    write, and that wrote, is found by the version counters.
    """
    undo = snapshots(tensors, target in _GIVES_OTHER_MEMORY) if may_mutate else ()
    # an operation without tensors may be one that turns a switch
    ambient = None if tensors or op == "call_method" else Ambient.now()
    versions = _versions(tensors)
    try:
        result = run(op, target, args, kwargs)
    except BaseException:
        restore(undo)
        if ambient is not None:
            ambient.restore()
        raise
    return Execution(result, may_mutate or result is None or versions != _versions(tensors), undo)


def storage_of(tensor: torch.Tensor) -> int:
    """What a tensor and its views share; 0 for a tensor without memory."""
    return tensor.untyped_storage()._cdata if tensor.layout is torch.strided else 0


def check_writes(operation: str, tensors: Sequence[torch.Tensor], inference: Set[int]) -> None:
    """Break before a write to an inference tensor outside of inference mode: torch writes first and raises then, so a graph that
    raised there cannot be made good by running the operation again. `inference` are the storages of such tensors."""
    if torch.is_inference_mode_enabled():
        return
    if any(storage_of(tensor) in inference for tensor in tensors):
        raise GraphBreak(FAKE_FAILED, f"{operation}: it writes to an inference tensor")


def _versions(tensors: Sequence[torch.Tensor]) -> list[int]:
    try:
        return [tensor._version for tensor in tensors]
    except RuntimeError:  # tensors made in inference mode have no counter
        return [0 if tensor.is_inference() else tensor._version for tensor in tensors]
