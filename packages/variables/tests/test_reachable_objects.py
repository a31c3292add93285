"""Which objects the code of a function may come upon."""

import functools
from collections.abc import Callable
from typing import Any

import pytest
import torch

from framesmith.variables.callables.reachable_objects import may_see

REGISTRY: dict[str, int] = {}
ALIASES = {"registry": [REGISTRY]}
HELD = functools.partial(dict.get, REGISTRY)


class Reader:
    table = REGISTRY

    def read(self) -> int:
        return len(REGISTRY)

    def __call__(self) -> int:
        return self.read()


class Plain:
    def __init__(self, text: str) -> None:
        self.parts = text.split()

    def __len__(self) -> int:
        return len(self.parts)


READER = Reader()
TENSOR = torch.ones(2)
ARRAY = TENSOR.numpy()
DRAW = torch.rand


def reads_global() -> int:
    return len(REGISTRY)


def reads_in_a_nested_function() -> int:
    return (lambda: len(REGISTRY))()


def calls() -> int:
    return reads_global()


def reads_a_container() -> object:
    return ALIASES["registry"]


def reads_a_class() -> object:
    return Reader.table


def calls_an_instance() -> int:
    return READER()


def imports() -> object:
    import packages_of_nowhere  # type: ignore[import-not-found]

    return packages_of_nowhere


def has_a_default(given: dict[str, int] = REGISTRY) -> int:
    return len(given)


def searches() -> object:
    return globals()["REGISTRY"]


def calls_a_partial() -> object:
    return HELD("a")


def closes() -> Callable[[], int]:
    here = REGISTRY
    return lambda: len(here)


def only_computes(text: str) -> tuple[int, list[str]]:
    found = Plain(text)
    return len(found), sorted(found.parts)


def recurses(count: int) -> int:
    return count and recurses(count - 1)


SEEING: list[Any] = [
    reads_global, reads_in_a_nested_function, calls, reads_a_container, reads_a_class, calls_an_instance, has_a_default, searches,
    calls_a_partial, closes(), Reader().read, functools.wraps(reads_global)(lambda: None),
]  # fmt: skip


@pytest.mark.parametrize("function", SEEING)
def test_what_leads_to_an_object_may_see_it(function: object) -> None:
    assert may_see([function], [REGISTRY])


@pytest.mark.parametrize("function", [only_computes, recurses, imports])
def test_what_does_not_lead_there_cannot_see_it(function: object) -> None:
    assert not may_see([function], [REGISTRY])


@pytest.mark.parametrize(
    "function", [lambda: DRAW(2), lambda: torch.ones(2), lambda: TENSOR.sum(), lambda: ARRAY[0]]
)
def test_what_leads_to_tensors_may_see_them(function: object) -> None:
    assert may_see([function], [], tensors=True)
    assert not may_see([only_computes], [], tensors=True)


def test_arguments_lead_on() -> None:
    assert may_see([only_computes, ALIASES], [REGISTRY])
