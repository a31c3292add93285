"""`tensor.requires_grad = value` of a tensor that is no leaf raises for either value, as the setter does and the method does not."""

from collections.abc import Callable
from typing import Any

import pytest
import torch

from framesmith import frontend

WEIGHT = torch.ones(2, 3, requires_grad=True)
GIVEN: dict[str, Callable[[], torch.Tensor]] = {
    "product": lambda: WEIGHT * 2,
    "view": lambda: WEIGHT[0],
    "leaf": lambda: torch.ones(2, 3, requires_grad=True),
    "plain": lambda: torch.ones(2, 3),
    "again": lambda: WEIGHT * 2,
}


def stored(x: torch.Tensor, value: bool) -> object:
    x.requires_grad = value
    return x.requires_grad


def stored_to_a_result(x: torch.Tensor, value: bool) -> object:
    y = x * 2
    y.requires_grad = value
    return y.requires_grad


def caught(x: torch.Tensor, value: bool) -> object:
    try:
        x.requires_grad = value
    except RuntimeError as error:
        return str(error)
    return x.is_leaf


def stored_by_name(x: torch.Tensor, value: bool) -> object:
    setattr(x, "requires_grad", value)  # noqa: B010
    return x.is_leaf


def called(x: torch.Tensor, value: bool) -> object:
    return x.requires_grad_(value).is_leaf


def outcome(run: Callable[[], Any]) -> Any:
    try:
        return run()
    except RuntimeError as error:
        return str(error)


@pytest.mark.parametrize("function", [stored, stored_to_a_result, caught, stored_by_name, called])
@pytest.mark.parametrize("value", [True, False])
@pytest.mark.parametrize("backend", ["eager", "aot_eager"])
def test_what_is_no_leaf_refuses(function: Callable[..., Any], value: bool, backend: str) -> None:
    compiled = frontend.compile(function, backend=backend)
    for make in GIVEN.values():
        expected = outcome(lambda: function(make(), value))  # noqa: B023
        assert outcome(lambda: compiled(make(), value)) == expected  # noqa: B023
