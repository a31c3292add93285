"""One operation run on fakes as a transaction: either it gives a result and how to undo it, or nothing has changed.

What an exception of the operation means is in `infer`; this module knows what to restore.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence, Set
from dataclasses import dataclass
from typing import Any, TypeAlias, final

import torch
from torch import fx

from framesmith.graph.breaks.break_kinds import BACKEND_LIMIT, FAKE_FAILED
from framesmith.graph.breaks.breaks import GraphBreak
from framesmith.graph.breaks.errors import FakeFailure, NumbersNeeded
from framesmith.graph.environment.ambient import Ambient
from framesmith.graph.fakes.fake_tensors import Snapshot, restore, snapshots
from framesmith.graph.fakes.infer import CallKind, operation_name, run
from framesmith.graph.fakes.real_strides import lay_out_as_eager
from framesmith.graph.nodes.arguments import EXAMPLE, tensors_in
from framesmith.graph.operations.data_errors import runs_user_code
from framesmith.graph.operations.purity import is_assertion
from framesmith.graph.operations.written_parameters import listed_writes
from framesmith.graph.options import is_fixed, is_symbolic

NumbersRead: TypeAlias = Callable[[Sequence[torch.Tensor]], list[torch.Tensor]]
"""Which of these tensors the operation that has just run read the only number of."""

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
    take_numbers_read: NumbersRead | None = None,
) -> Execution:
    """Run the operation. `tensors` are the fakes among the arguments; `target` is any callable or a method's name, hence Any.

    Raises what `infer.run` raises, with the fakes restored (if `may_mutate`) and torch's switches (if `tensors` is empty).
    `take_numbers_read`: which of the tensors a number was read from. An operation that does so where a graph needs numbers
    raises NumbersNeeded.
    An operation that wrote although `may_mutate` is false is detected by the version counters.
    """
    undo = snapshots(tensors, target in _GIVES_OTHER_MEMORY) if may_mutate else ()
    # an operation without tensors may be one that turns a switch
    ambient = None if tensors or op == "call_method" else Ambient.now()
    versions = _versions(tensors)
    try:
        result = run(op, target, args, kwargs)
        if may_mutate:
            _count_in_lists(listed_writes(op, target, args, kwargs), tensors, versions)
        lay_out_as_eager(op, target, args, kwargs, result)
        # `item` and `tolist` give the numbers themselves, which a graph can hold as symbols.
        if take_numbers_read is not None and not _is_number(result):
            _check_numbers(op, target, take_numbers_read(tensors))
    except BaseException as error:
        restore(undo)
        if ambient is not None:
            ambient.restore()
        if take_numbers_read is not None and isinstance(error, GraphBreak | FakeFailure):
            _check_numbers(op, target, take_numbers_read(tensors))
        raise
    after = _versions(tensors)
    if may_mutate and versions != after:
        written = [tensor for tensor, old, new in zip(tensors, versions, after, strict=True) if old != new]
        if any(map(_overlaps_itself, written)):
            restore(undo)
            raise GraphBreak(
                FAKE_FAILED, f"{operation_name(op, target)}: several elements of what it writes share memory"
            )
    # What gives nothing is called for an effect.
    gives_nothing = result is None and not is_assertion(target)
    return Execution(result, may_mutate or gives_nothing or versions != after, undo)


def _is_number(result: object) -> bool:
    """Whether it is what `item` or `tolist` gives."""
    return is_symbolic(result) or (isinstance(result, list) and any(map(_is_number, result)))


def _check_numbers(op: CallKind, target: object, read: Sequence[torch.Tensor]) -> None:
    if read and not runs_user_code(op, target):
        raise NumbersNeeded(operation_name(op, target), read)


def _overlaps_itself(tensor: torch.Tensor) -> bool:
    """Whether elements share memory, as in an expanded tensor: eager refuses most writes to it, and fakes do not notice."""
    return tensor.layout is torch.strided and any(
        is_fixed(stride) and stride == 0 and not (is_fixed(size) and size <= 1)
        for size, stride in zip(tensor.shape, tensor.stride(), strict=True)
    )


def storage_of(tensor: torch.Tensor) -> int:
    """The identity of the storage, which a tensor shares with its views; 0 for a layout without strides."""
    return tensor.untyped_storage()._cdata if tensor.layout is torch.strided else 0


def storages_of(node: fx.Node) -> set[int]:
    """The storages of the tensors that an operation gives, or those of an input."""
    return {storage_of(tensor) for tensor in tensors_in(node.meta.get(EXAMPLE))}


def all_storages(nodes: Iterable[fx.Node]) -> set[int]:
    """The storages of the tensors that any of these operations gives."""
    return {storage for node in nodes for storage in storages_of(node)}


def is_differentiated(node: fx.Node) -> bool:
    """Whether a gradient goes through what an operation gives."""
    return any(tensor.requires_grad for tensor in tensors_in(node.meta.get(EXAMPLE)))


def check_writes(
    operation: str, tensors: Sequence[torch.Tensor], inference: Set[int], start: Ambient | None
) -> None:
    """Raise GraphBreak before a write to an inference tensor outside of inference mode. `inference` are their storages.

    torch writes first and raises then, so after a failed graph the operation could not be run again (ADR 0015).
    `start`: how the graph begins, if its backend writes at the end of the graph, where the mode is that of the beginning.
    """
    if torch.is_inference_mode_enabled() if start is None else start.is_inference_mode:
        return
    if any(storage_of(tensor) in inference for tensor in tensors):
        raise GraphBreak(FAKE_FAILED, f"{operation}: it writes to an inference tensor")


def check_views(operation: str, result: object, operands: Sequence[torch.Tensor]) -> None:
    """Raise GraphBreak for a result that requires a gradient in inference mode: a view of a tensor that does. A backend that runs
    other operations has the gradient mode off there, and gives one that does not."""
    for tensor in tensors_in(result):
        if tensor.requires_grad and not any(tensor is operand for operand in operands):
            raise GraphBreak(
                BACKEND_LIMIT, f"{operation} of a tensor that requires a gradient, in inference mode"
            )


def _count_in_lists(
    written: Iterable[torch.Tensor], tensors: Sequence[torch.Tensor], versions: Sequence[int]
) -> None:
    """Count what was written to tensors in lists, as eager does: fakes do not. `versions`: those of the `tensors` before."""
    listed = list(written)
    if not listed:
        return
    before = dict(zip(map(id, tensors), versions, strict=True))
    uncounted = [
        one for one in listed if not one.is_inference() and one._version == before.get(id(one), one._version)
    ]
    for one in uncounted:
        torch.autograd.graph.increment_version(one)


def _versions(tensors: Sequence[torch.Tensor]) -> list[int]:
    try:
        return [tensor._version for tensor in tensors]
    except RuntimeError:  # tensors made in inference mode have no counter
        return [0 if tensor.is_inference() else tensor._version for tensor in tensors]
