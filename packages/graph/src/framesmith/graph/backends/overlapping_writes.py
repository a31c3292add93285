"""Writes to memory that another operand of the operation, or another element of the written tensor, shares.

    x[1:].copy_(x[:-1])                      eager raises
    x.as_strided((3, 2), (1, 1)).add_(1)     eager adds twice to some elements
    torch._foreach_mul_([x, x], 2)           eager multiplies twice

AOTAutograd gives an operation copies instead, and other numbers come out of it. A graph with such an operation runs as it was
captured. Not here: inputs of a graph that overlap each other (`overlapping_inputs`).
"""

from collections.abc import Iterator, Sequence
from itertools import combinations
from typing import Final

import torch
from torch import fx

from framesmith.graph.fakes.execution import storage_of
from framesmith.graph.nodes.arguments import EXAMPLE, tensors_in
from framesmith.graph.operations.data_errors import changes_form_of_input, operator_name
from framesmith.graph.operations.purity import IMPURE, is_normalization, may_mutate
from framesmith.graph.options import hint_of, is_symbolic

MOST_ELEMENTS: Final = 1 << 16
"""The places of larger tensors are not compared one by one: where what they span overlaps, the elements are taken to."""
UNSEEN_VIEWS: Final = frozenset({"unsafe_chunk", "unsafe_split", "unsafe_split_with_sizes"})
_STORES: Final = frozenset({"setitem", "__setitem__"})
_MOVING: Final = frozenset([
    "scatter_", "scatter_add_", "scatter_reduce_", "index_add_", "index_copy_", "index_fill_", "index_put_", "index_reduce_", "put_",
    "masked_scatter_",
])  # fmt: skip
"""They read an element for another one: eager refuses even the same elements in the same order."""
_OF_LISTS: Final = ("_foreach_", "_fused_", "_amp_foreach_")


def has_overlapping_writes(graph: fx.Graph) -> bool:
    """Whether an operation of a closed graph writes to memory that it also reads in another place, or to the same element twice."""
    return any(map(_overlaps, graph.nodes))


def _overlaps(node: fx.Node) -> bool:
    if node.op not in ("call_function", "call_method"):
        return False
    name = operator_name(node.op, node.target)
    # Their results share memory that autograd and AOTAutograd take for apart.
    if name in UNSEEN_VIEWS:
        return True
    if not node.meta.get(IMPURE):
        return False
    # the mean and the variance stand behind the input
    if is_normalization(node.target):
        return _share_memory(_examples((node.args[1:3], node.kwargs)))
    # `x.as_strided_(...)` writes to no element
    if changes_form_of_input(node):
        return False
    if name.startswith(_OF_LISTS):
        return _meet_in_lists(node)
    if not may_mutate(node.op, node.target, node.args, node.kwargs):
        return False
    if name in _MOVING and _moves_own_memory(node):
        return True
    operands = _distinct(_examples((node.args, node.kwargs)))
    written = _distinct(_examples((node.args[:1], node.kwargs.get("out"))))
    if name in _STORES:
        return _stores_own_memory(node)
    if any(map(_overlaps_itself, written)):
        return True
    ids = {id(tensor) for tensor in written}
    pairs = combinations(operands, 2)
    return any(share_elements(one, other) for one, other in pairs if id(one) in ids or id(other) in ids)


def _share_memory(tensors: Sequence[torch.Tensor]) -> bool:
    """Whether two of the tensors lie in one storage."""
    return len({storage_of(tensor) for tensor in tensors}) < len(tensors)


def _meet_in_lists(node: fx.Node) -> bool:
    """Whether an operation on lists meets an element of memory under two numbers: eager goes through the lists, and writes to it twice or
    reads what it has written."""
    found: dict[int, list[tuple[int, torch.Tensor]]] = {}
    for given in (*node.args, *node.kwargs.values()):
        # a single tensor is read for each item of the lists
        for number, item in enumerate(given) if isinstance(given, list | tuple) else ((-1, given),):
            for tensor in _examples(item):
                found.setdefault(storage_of(tensor), []).append((number, tensor))
    return any(map(_meet, found.values()))


def _meet(places: Sequence[tuple[int, torch.Tensor]]) -> bool:
    """Whether two of these tensors of one storage have elements in common; those of one number, which are not the same in the same order."""
    if len({id(tensor) for _, tensor in places}) == 1:
        return len({number for number, _ in places}) > 1
    if any(any(map(is_symbolic, (*one.shape, *one.stride(), one.storage_offset()))) for _, one in places):
        return True
    open_ones: list[tuple[int, torch.Tensor]] = []
    for number, tensor in sorted(places, key=lambda place: _span(place[1]).start):
        start = _span(tensor).start
        open_ones = [one for one in open_ones if _span(one[1]).stop > start]
        touches = (
            share_elements(one, tensor) or (other != number and _has_layout_of(one, tensor))
            for other, one in open_ones
        )
        if any(touches):
            return True
        open_ones.append((number, tensor))
    return False


def _has_layout_of(one: torch.Tensor, other: torch.Tensor) -> bool:
    """Whether two tensors of one storage are the same elements."""
    layouts = [(tensor.shape, tensor.stride(), tensor.storage_offset()) for tensor in (one, other)]
    return layouts[0] == layouts[1]


def _moves_own_memory(node: fx.Node) -> bool:
    """Whether `x.scatter_(0, index, x)` reads the memory that it writes to, in whatever order."""
    target, *rest = node.args
    memories = {storage_of(tensor) for tensor in _examples(target)}
    return any(storage_of(tensor) in memories for tensor in _examples((tuple(rest), node.kwargs)))


def _stores_own_memory(node: fx.Node) -> bool:
    """Whether `x[key] = value` stores a part of the memory of `x`, or reads it in the key; or elements of `x` share memory."""
    target, *rest = node.args
    memories = {storage_of(tensor) for tensor in _examples(target)}
    return any(storage_of(tensor) in memories for tensor in _examples(rest)) or any(
        map(_overlaps_itself, _examples(target))
    )


def _examples(arguments: fx.node.Argument) -> list[torch.Tensor]:
    """The fakes among the arguments of a node."""
    found: list[torch.Tensor] = []
    fx.node.map_arg(arguments, lambda node: found.extend(tensors_in(node.meta[EXAMPLE])))
    return [tensor for tensor in found if tensor.layout is torch.strided]


def _distinct(tensors: Sequence[torch.Tensor]) -> list[torch.Tensor]:
    return list({id(tensor): tensor for tensor in tensors}.values())


def share_elements(one: torch.Tensor, other: torch.Tensor) -> bool:
    """Whether two tensors have elements in common, and are not the same elements in the same order. Errs on the side of yes, as
    where a size may vary."""
    if storage_of(one) != storage_of(other):
        return False
    layouts = [(tensor.shape, tensor.stride(), tensor.storage_offset()) for tensor in (one, other)]
    if any(is_symbolic(number) for shape, stride, offset in layouts for number in (*shape, *stride, offset)):
        return True
    if layouts[0] == layouts[1] and one.dtype is other.dtype:
        return False
    first, second = _span(one), _span(other)
    if not first or not second or first.stop <= second.start or second.stop <= first.start:
        return False
    if one.element_size() != other.element_size():
        return True
    steps = [sorted(_extents(tensor), reverse=True) for tensor in (one, other)]
    if steps[0] == steps[1]:
        return _reaches(int(other.storage_offset() - one.storage_offset()), steps[0])
    if max(one.numel(), other.numel()) > MOST_ELEMENTS:
        return True
    return not _places(one).isdisjoint(_places(other))


def _reaches(distance: int, steps: Sequence[tuple[int, int]]) -> bool:
    """Whether two elements of a tensor with these strides and sizes, the largest stride first, are that far apart."""
    if not steps:
        return distance == 0
    (stride, size), *inner = steps
    reach = sum(one * (count - 1) for one, count in inner)
    if not stride:
        return _reaches(distance, inner)
    first, last = -((reach - distance) // stride), (reach + distance) // stride
    return any(
        _reaches(distance - step * stride, inner)
        for step in range(max(first, 1 - size), min(last, size - 1) + 1)
    )


def _overlaps_itself(tensor: torch.Tensor) -> bool:
    """Whether two elements of a tensor share memory. Errs on the side of yes; with the sizes of this call, where they may vary."""
    reach, is_varying = 0, any(map(is_symbolic, (*tensor.shape, *tensor.stride())))
    for stride, size in sorted((hint_of(stride), hint_of(size)) for stride, size in _extents(tensor)):
        if stride <= reach:
            return is_varying or tensor.numel() > MOST_ELEMENTS or len(_places(tensor)) < tensor.numel()
        reach += stride * (size - 1)
    return False


def _extents(tensor: torch.Tensor) -> Iterator[tuple[int, int]]:
    """The stride and the size of each dimension with more than one element."""
    for size, stride in zip(tensor.shape, tensor.stride(), strict=True):
        if hint_of(size) > 1:
            yield stride, size


def _span(tensor: torch.Tensor) -> range:
    """The bytes from the first element to the last one, counted from the start of the storage."""
    if not tensor.numel():
        return range(0)
    width, first = tensor.element_size(), tensor.storage_offset()
    last = first + sum(stride * (size - 1) for stride, size in _extents(tensor))
    return range(first * width, (last + 1) * width)


def _places(tensor: torch.Tensor) -> set[int]:
    """The offset of each element in its storage."""
    found = {hint_of(tensor.storage_offset())}
    for stride, size in _extents(tensor):
        found = {start + hint_of(stride) * step for start in found for step in range(hint_of(size))}
    return found
