"""Functions that become one node may ask for the types of their arguments: they get what eager gives them."""

from collections import namedtuple
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch
from tests.end_to_end.support import check

from framesmith import frontend

Pair = namedtuple("Pair", "a b")  # noqa: PYI024  # the kind that older programs have
SCALAR = np.float64(2)
SIZE = torch.Size((2, 3))


def _add_names(x: torch.Tensor, *values: Any, **named: Any) -> torch.Tensor:
    """Adds a number that the types of the arguments, and of what is in them, decide."""
    found = [type(value).__name__ for value in (*values, *named.values())]
    found += [str(part) for value in values if isinstance(value, dict | list | tuple) for part in value]
    found += [str(value) for value in values]
    return x + sum(map(ord, "".join(found)))


@frontend.allow_in_graph
def allowed(x: torch.Tensor, *values: Any, **named: Any) -> torch.Tensor:
    return _add_names(x, *values, **named)


class Applied(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x: torch.Tensor, value: Any) -> torch.Tensor:
        ctx.value = value
        return _add_names(x, value)

    @staticmethod
    def backward(ctx: Any, gradient: torch.Tensor) -> Any:  # type: ignore[override]  # one gradient, not all
        return gradient * len(type(ctx.value).__name__), None


VALUES: dict[str, Callable[[torch.Tensor], Any]] = {
    "int": lambda x: int,
    "float": lambda x: float,
    "a class in a tuple": lambda x: (int, 2),
    "a class as key": lambda x: {bool: 2},
    "a size": lambda x: x.shape,
    "a size from elsewhere": lambda x: SIZE,
    "a size in a list": lambda x: [x.shape],
    "a NumPy scalar": lambda x: SCALAR,
    "a NumPy scalar in a tuple": lambda x: (SCALAR,),
    "a named tuple": lambda x: Pair(1, 2),
    "a dtype": lambda x: torch.float64,
    "a truth": lambda x: x.shape[0] > 1,
}


@pytest.mark.parametrize("name", VALUES)
def test_an_allowed_function_gets_the_value_itself(name: str) -> None:
    value = VALUES[name]
    check(lambda x: allowed(x, value(x)), torch.tensor([0.5, 2.0]), calls=2)
    check(lambda x: allowed(x, named=value(x)), torch.tensor([0.5, 2.0]), calls=2)


@pytest.mark.parametrize("name", VALUES)
def test_a_function_of_autograd_gets_the_value_itself(name: str) -> None:
    value = VALUES[name]
    x = torch.tensor([0.5, 2.0], requires_grad=True)
    check(lambda x: Applied.apply(x, value(x)), x, calls=2)


def test_a_size_costs_no_break() -> None:
    check(lambda x: allowed(x, x.shape, named=x.shape), torch.ones(2), calls=2, breaks=0)
    check(lambda x: Applied.apply(x, x.shape), torch.ones(2, requires_grad=True), calls=2, breaks=0)
    check(lambda x: allowed(x, x.shape), torch.ones(2), breaks=0, options={"dynamic": True})


@pytest.mark.parametrize(
    "operator", ["aten.sum", "aten.sum.default", "aten._to_copy", "prims.convert_element_type"]
)
@pytest.mark.parametrize("kind", [int, float])
def test_an_operator_takes_no_class_as_dtype(operator: str, kind: type) -> None:
    namespace, _, name = operator.partition(".")
    packet, _, overload = name.partition(".")
    found = getattr(getattr(torch.ops, namespace), packet)
    call = getattr(found, overload) if overload else found
    check(lambda x: call(x, dtype=kind) if namespace == "aten" else call(x, kind), torch.ones(2), calls=2)
