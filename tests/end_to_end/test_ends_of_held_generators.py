"""A generator inside of a C iterator ends with the variable that holds that, also where the graph breaks in between."""

import itertools
from collections.abc import Callable, Iterator
from typing import Any

import pytest
import torch

from framesmith import frontend

EVENTS: list[str] = []


def items(x: torch.Tensor) -> Iterator[torch.Tensor]:
    try:
        yield x
        yield x + 1
    finally:
        EVENTS.append("ended")


HOLDERS: dict[str, Callable[[torch.Tensor], Any]] = {
    "map": lambda x: map(abs, items(x)),
    "map in Python": lambda x: map(lambda item: item, items(x)),
    "filter": lambda x: filter(None, items(x)),
    "filter in Python": lambda x: filter(lambda item: True, items(x)),
    "zip": lambda x: zip(items(x), [1, 2], strict=True),
    "enumerate": lambda x: enumerate(items(x)),
    "islice": lambda x: itertools.islice(items(x), 2),
    "chain": lambda x: itertools.chain(items(x), [x]),
    "nested": lambda x: map(len, zip(items(x), strict=True)),
    "generator": items,
    "expression": lambda x: (item for item in items(x)),
}


def takes_one_in_a_loop(x: torch.Tensor, make: Callable[..., Any]) -> None:
    held = make(x)
    print(end="")
    for _ in held:
        break
    EVENTS.append("last line")


def takes_one(x: torch.Tensor, make: Callable[..., Any]) -> None:
    held = make(x)
    print(end="")
    next(held)
    EVENTS.append("last line")


def takes_one_of_a_dict(x: torch.Tensor, make: Callable[..., Any]) -> None:
    held = {"of": [make(x)]}
    print(end="")
    next(held["of"][0])
    EVENTS.append("last line")


def takes_one_and_lets_go(x: torch.Tensor, make: Callable[..., Any]) -> None:
    held = make(x)
    print(end="")
    next(held)
    held = None
    EVENTS.append("last line")


@pytest.mark.parametrize(
    "function", [takes_one_in_a_loop, takes_one, takes_one_of_a_dict, takes_one_and_lets_go]
)
@pytest.mark.parametrize("holder", HOLDERS)
def test_it_ends_where_eager_ends_it(function: Callable[..., None], holder: str) -> None:
    found = []
    for run in (function, frontend.compile(function, backend="eager")):
        EVENTS.clear()
        for _ in range(3):
            run(torch.tensor(1.0), HOLDERS[holder])
            EVENTS.append("|")
        found.append(" ".join(EVENTS))
    assert found[0] == found[1]
