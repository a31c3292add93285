"""The first call of a program that does twice as much takes about twice as long: no step looks at all that was before.

Counted are calls of functions, which do not depend on the machine.
"""

import gc
import sys
from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch import nn

from framesmith import frontend

SIZE = 40


def indexed_after_a_write(n: int) -> Callable[..., Any]:
    def run(x: torch.Tensor, index: torch.Tensor) -> Any:
        x = x + 1
        x.mul_(2)
        return [x[index] for _ in range(n)]

    return lambda: run(torch.ones(3), torch.tensor([0]))


def modules_that_are_made(n: int) -> Callable[..., Any]:
    return lambda: nn.Sequential(*[nn.Linear(3, 3) for _ in range(n // 2)])


def objects_in_a_generator(n: int) -> Callable[..., Any]:
    class Holder:
        def __init__(self, value: torch.Tensor) -> None:
            self.value = value

    def run() -> Any:
        held = [Holder(torch.ones(3) + index) for index in range(n)]
        return sum(one.value for one in held)

    return run


def hooks_of_gradients(n: int) -> Callable[..., Any]:
    leaf = torch.ones(3, requires_grad=True)

    def run() -> Any:
        x = leaf
        for _ in range(n // 2):
            x = x * 2
            x.register_hook(lambda gradient: gradient * 1.0)
        x.sum().backward()

    return run


def loss_over_parameters(n: int) -> Callable[..., Any]:
    parameters = [torch.ones(3, requires_grad=True) for _ in range(n)]
    return lambda: sum((one * 2).sum() for one in parameters).backward()


def dropouts(n: int) -> Callable[..., Any]:
    def run(x: torch.Tensor) -> Any:
        kept = []
        for _ in range(n):
            x = nn.functional.dropout(x, 0.5)
            kept.append(x)
        return kept

    return lambda: run(torch.ones(3))


def calls_of_first_call(make: Callable[[int], Callable[..., Any]], n: int) -> int:
    frontend.reset()
    gc.collect()
    compiled = frontend.compile(make(n), backend="eager")
    count = 0

    def note(frame: Any, event: str, argument: Any) -> None:
        nonlocal count
        count += event in ("call", "c_call")

    sys.setprofile(note)
    try:
        compiled()
    finally:
        sys.setprofile(None)
    return count


@pytest.mark.parametrize(
    "make",
    [
        indexed_after_a_write,
        modules_that_are_made,
        objects_in_a_generator,
        hooks_of_gradients,
        loss_over_parameters,
        dropouts,
    ],
)
def test_twice_the_work_takes_twice_the_calls(make: Callable[[int], Callable[..., Any]]) -> None:
    calls_of_first_call(make, 4)
    one, two, four = (calls_of_first_call(make, size) for size in (SIZE, 2 * SIZE, 4 * SIZE))
    # with a part that grows with the square, the second step is up to four times the first
    assert four - two < 2.5 * (two - one)
