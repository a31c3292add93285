"""The int in a tensor without dimensions that the graph makes of ints: `torch.div(x.size(1), 2, rounding_mode="trunc")`.

    n = torch.div(x.size(1), 4, rounding_mode="trunc") - 1; x.new_zeros(n)     n is x.size(1) // 4 - 1

It follows the operations of the graph, as `contents` does for floats. Once anything else is written to the memory, it has no answer.
"""

import operator
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Final, TypeAlias

import torch
from torch import fx
from torch._subclasses.fake_tensor import FakeTensor

from framesmith.graph import GraphBreak
from framesmith.graph.nodes.arguments import EXAMPLE
from framesmith.variables.builtin_types.lists import ListTracker
from framesmith.variables.builtin_types.tuples import TupleTracker
from framesmith.variables.core import TraceContext, Tracker
from framesmith.variables.graph_nodes.results import evaluate, read_numbers, record_node
from framesmith.variables.symbolic_numbers.computed_numbers import LARGEST_SYMBOLIC
from framesmith.variables.symbolic_numbers.symbolic import number
from framesmith.variables.tensors.tensors import TensorTracker

_Int: TypeAlias = int | torch.SymInt
_Function: TypeAlias = Callable[[_Int, _Int], _Int]
_MAKERS: Final = (torch.tensor, torch.as_tensor, torch.scalar_tensor)
_OPERATORS: Final[Mapping[object, _Function]] = {
    name: function
    for function, names in (
        (operator.add, (operator.add, torch.add, "add")),
        (operator.sub, (operator.sub, torch.sub, "sub")),
        (operator.mul, (operator.mul, torch.mul, "mul")),
        (operator.floordiv, (operator.floordiv, torch.floor_divide, "floor_divide")),
    )
    for name in names
}
_DIVISIONS: Final = (torch.div, torch.divide, "div", "divide")
_ROUNDED: Final = ("floor", "trunc")
_DEEPEST: Final = 100  # operations below one another


def find_int(tx: TraceContext, tensor: Tracker) -> Tracker | None:
    """The int that the program would read out of this tensor here, which is known before the graph runs; None for any other tensor."""
    # A nested graph may run at another time, after other changes.
    if not isinstance(tensor, TensorTracker) or tensor.value is not None or tx.graph.length() is None:
        return None
    if tensor.fake.dtype is not torch.int64 or tensor.fake.dim():
        return None
    found = _find(tx, tensor.graph_node(tx), {}, 0)
    return None if found is None else number(tx, found)


def record_with_ints(
    tx: TraceContext,
    target: Callable[..., object] | str,
    args: Sequence[Tracker],
    kwargs: Mapping[str, Tracker],
) -> fx.Node | None:
    """Record a call that reads numbers out of tensors, with ints in place of those tensors; None if it reads others too.

    Only what is read is replaced: an operation may treat a tensor otherwise than an int.
    """
    made = list(_find_made(tx, (*args, *kwargs.values())))

    def record(fakes: Sequence[object]) -> fx.Node | None:
        marker = tx.graph.marker()
        named = {name: read_numbers(tx, value, fakes) for name, value in kwargs.items()}
        try:
            return record_node(tx, target, [read_numbers(tx, value, fakes) for value in args], named)
        except GraphBreak:
            tx.graph.rollback(marker)
            return None

    read: list[object] = []
    for fake in made:
        marker = tx.graph.marker()
        if record([other for other in made if other is not fake]) is None:
            read.append(fake)
        tx.graph.rollback(marker)
    return record(read) if read else None


def _find_made(tx: TraceContext, values: Iterable[Tracker]) -> Iterator[object]:
    """The fakes among arguments, and in lists and tuples, that hold known ints."""
    for value in map(Tracker.realize, values):
        if isinstance(value, TupleTracker | ListTracker):
            yield from _find_made(tx, value.items)
        elif isinstance(value, TensorTracker) and find_int(tx, value) is not None:
            yield value.fake


def _find(tx: TraceContext, operand: object, seen: dict[fx.Node, _Int | None], depth: int) -> _Int | None:
    """The int that an operand of an operation is, or holds. `seen`: what was found for other operands; `depth`: the operations above."""
    if type(operand) is int:
        return operand
    if not isinstance(operand, fx.Node) or depth > _DEEPEST:
        return None
    # An operand may occur twice on each level.
    if operand not in seen:
        seen[operand] = _content(tx, operand, seen, depth + 1)
    return seen[operand]


def _content(tx: TraceContext, node: fx.Node, seen: dict[fx.Node, _Int | None], depth: int) -> _Int | None:
    example = node.meta[EXAMPLE]
    if isinstance(example, torch.SymInt):
        return example if example.node.has_hint() else None
    if type(example) is not FakeTensor or not _is_unchanged(tx, example):
        return None
    if node.op == "call_function" and node.target in _MAKERS:
        return _find(tx, node.args[0], seen, depth) if len(node.args) == 1 else None
    function = _OPERATORS.get(node.target)
    kwargs = dict(node.kwargs)
    if node.target in _DIVISIONS and kwargs.pop("rounding_mode", None) in _ROUNDED:
        function = operator.floordiv
    if function is None or kwargs or len(node.args) != 2:
        return None
    left, right = (_find(tx, one, seen, depth) for one in node.args)
    return None if left is None or right is None else _compute(function, left, right)


def _is_unchanged(tx: TraceContext, fake: torch.Tensor) -> bool:
    is_int = fake.dtype is torch.int64 and not fake.dim() and fake.device.type == "cpu"
    return is_int and not fake._is_view() and tx.graph.writes.of(fake) == []


def _compute(function: _Function, left: _Int, right: _Int) -> _Int | None:
    """The result, guarded to be in the range where torch's kernels compute as Python does."""
    # Below zero the ways to round differ, and one raises for zero.
    if function is operator.floordiv and not _holds(left >= 0 and right > 0):
        return None
    result = function(left, right)
    return result if _holds(result < LARGEST_SYMBOLIC) and _holds(result > -LARGEST_SYMBOLIC) else None


def _holds(relation: object) -> bool:
    return bool(evaluate("the range of a number", bool, relation))
