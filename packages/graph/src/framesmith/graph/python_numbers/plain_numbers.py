"""Numbers of a graph that stay Python's numbers while it runs: those that only arithmetic and operations that read numbers use.

    n = as_number(step); b = power(0.9, n); lerp__with_numbers_((2,), (x, y, b), {})

While tracing they are 0-d tensors (`numbers`). As tensors they cost ten times as much when the graph runs, and an optimizer has a dozen
for each parameter. For a backend that runs the operations as they are captured.
"""

import operator
from collections.abc import Callable, Set
from typing import Final

import torch
from torch import fx

from framesmith.graph.nodes.arguments import EXAMPLE
from framesmith.graph.operations.data_errors import only_computes
from framesmith.graph.options import is_symbolic
from framesmith.graph.python_numbers import numbers
from framesmith.graph.python_numbers.number_calls import numbers_read_by
from framesmith.graph.replacing_backends import refuse_tracing


@only_computes
def as_number(tensor: torch.Tensor) -> torch.Tensor | float:
    """The number in a tensor; of a fake, which has none, what the trace has."""
    if type(tensor) is not torch.Tensor:
        return numbers.as_number(tensor)
    refuse_tracing()
    return float(tensor.item())


@only_computes
def power(base: float, exponent: float) -> object:
    """`base ** exponent`."""
    return operator.pow(base, exponent)


@only_computes
def divide(dividend: float, divisor: float) -> float:
    """`dividend / divisor`."""
    return dividend / divisor


# By the names of the originals, by which two traces of one program are compared.
_PLAIN: Final[dict[object, Callable[..., object]]] = {
    numbers.as_number: as_number,
    numbers.power: power,
    numbers.divide: divide,
}
_OPERATORS: Final = (
    operator.add,
    operator.sub,
    operator.mul,
    operator.truediv,
    operator.neg,
    operator.pos,
    operator.abs,
)
_MAY_BE_PLAIN: Final = (numbers.as_number, numbers.power, numbers.divide, *_OPERATORS)
_TAKE_BOTH: Final = (numbers.power, numbers.divide, numbers.smallest, numbers.largest)


def use_plain_numbers(graph: fx.Graph, kept: Set[fx.Node]) -> None:
    """Let the graph compute such numbers by Python. `kept`: values that it returns only that they live on."""
    plain = {
        node
        for target in _MAY_BE_PLAIN
        for node in graph.find_nodes(op="call_function", target=target, sort=False)
        if _is_number_in_graph(node)
    }
    while dropped := {node for node in plain if not _stays_plain(node, plain, kept)}:
        plain -= dropped
    for node in plain:
        node.target = _PLAIN.get(node.target, node.target)


def _is_number_in_graph(node: fx.Node) -> bool:
    """Whether what computes a number of the program gives it as a tensor."""
    fake = node.meta.get(EXAMPLE)
    return (
        isinstance(fake, torch.Tensor)
        and fake.dtype is torch.float64
        and not fake.dim()
        and numbers.is_number(node)
    )


def _stays_plain(node: fx.Node, plain: Set[fx.Node], kept: Set[fx.Node]) -> bool:
    computed = node.target is numbers.as_number or all(
        one in plain or is_symbolic(one.meta.get(EXAMPLE)) for one in node.all_input_nodes
    )
    return computed and all(user in plain or _takes_both(user, node, kept) for user in node.users)


def _takes_both(user: fx.Node, number: fx.Node, kept: Set[fx.Node]) -> bool:
    if user.op == "output":
        return number in kept
    return user.op == "call_function" and (user.target in _TAKE_BOTH or _reads(user, number))


def _reads(user: fx.Node, number: fx.Node) -> bool:
    """Whether an operation reads this number wherever it takes it."""
    found = numbers_read_by(user)
    return found is not None and all(place in found[0] for place, one in enumerate(found[1]) if one is number)
