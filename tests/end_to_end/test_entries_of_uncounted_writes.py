"""A graph that writes to an input in a way that no version counter shows serves no call whose inputs share memory otherwise.

Through `data`, as an item of a list, into `out=x.data`, as the statistics of a normalization.
"""

from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch.nn import functional

from framesmith import frontend

Part = slice | None
WRITES: dict[str, Callable[[torch.Tensor], object]] = {
    "data.add_": lambda part: part.data.add_(1),
    "data.copy_": lambda part: part.data.copy_(torch.full((2,), 5.0)),
    "data[:]": lambda part: part.data.__setitem__(slice(None), 3.0),
    "list": lambda part: torch._foreach_add_([part], 1),
    "list of data": lambda part: torch._foreach_mul_([part.data], 2),
    "out": lambda part: torch.add(part, 1, out=part.data),
    "detached leaf": lambda part: part.detach().requires_grad_().data.add_(1),
}
PARTS: list[tuple[Part, Part]] = [
    (None, slice(1, 3)),
    (slice(0, 2), None),
    (slice(0, 2), slice(1, 3)),
    (slice(1, 3), slice(0, 2)),
]


def outcome(run: Callable[..., Any], *tensors: torch.Tensor) -> object:
    """The result and what the tensors hold then, or the error."""
    try:
        result = run(*tensors)
    except RuntimeError as error:
        return str(error)
    return [one.tolist() for one in (*result, *tensors)]


@pytest.mark.parametrize("write", WRITES)
@pytest.mark.parametrize("parts", PARTS)
@pytest.mark.parametrize("backend", ["eager", "aot_eager"])
def test_inputs_that_overlap_otherwise_are_another_entry(
    write: str, parts: tuple[Part, Part], backend: str
) -> None:
    def run(part: torch.Tensor, whole: torch.Tensor) -> tuple[torch.Tensor]:
        WRITES[write](part)
        return (whole * 2,)

    compiled = frontend.compile(run, backend=backend)
    for each in (*parts, *parts):
        worlds = []
        for function in (run, compiled):
            whole = torch.arange(4.0)
            worlds.append(outcome(function, whole[each] if each else torch.ones(2), whole))
        assert worlds[0] == worlds[1]


@pytest.mark.parametrize("backend", ["eager", "aot_eager"])
def test_slots_of_a_cache_are_filled_one_by_one(backend: str) -> None:
    def fill(slot: torch.Tensor, value: torch.Tensor, cache: torch.Tensor) -> torch.Tensor:
        slot.data.copy_(value)
        return cache.sum()

    compiled, cache = frontend.compile(fill, backend=backend), torch.zeros(4, 3)
    found = [compiled(cache[index], torch.ones(3), cache).item() for index in range(4)]
    assert found == [3.0, 6.0, 9.0, 12.0]
    assert cache.sum() == 12


@pytest.mark.parametrize("backend", ["eager", "aot_eager"])
def test_statistics_of_a_normalization_in_rows_of_an_input(backend: str) -> None:
    def run(x: torch.Tensor, mean: torch.Tensor, variance: torch.Tensor, rows: torch.Tensor) -> Any:
        return functional.batch_norm(x, mean, variance, training=True), rows * 1

    x, compiled = torch.arange(15.0).view(5, 3), frontend.compile(run, backend=backend)
    for index in range(3):
        worlds = []
        for function in (run, compiled):
            rows = torch.ones(4, 3)
            worlds.append(outcome(function, x, rows[index], torch.ones(3), rows))
        assert worlds[0] == worlds[1]


@pytest.mark.parametrize("backend", ["eager", "aot_eager"])
def test_statistics_of_a_normalization_in_the_memory_of_its_parameter(backend: str) -> None:
    worlds = []
    for wrap in (lambda module: module, lambda module: frontend.compile(module, backend=backend)):
        layer = torch.nn.BatchNorm1d(2)
        layer.running_var = layer.bias.detach()
        run, found = wrap(layer), []
        for _ in range(2):
            result = run(torch.tensor([[1.0, 2.0], [3.0, 5.0]]))
            result.sum().backward()
            found.append([result.tolist(), layer.running_var.tolist(), layer.bias.grad.tolist()])
        worlds.append(found)
    assert worlds[0] == worlds[1]
