"""Values that require gradients and are stored where a mask is true: the rows of their gradient depend on data."""

from collections.abc import Callable

import pytest
import torch

from framesmith import frontend

Program = Callable[[torch.Tensor, torch.Tensor, torch.Tensor], torch.Tensor]


def store(x: torch.Tensor, mask: torch.Tensor, value: torch.Tensor) -> torch.Tensor:
    y = x.clone()
    y[mask] = value
    return y.sin()


def store_in_columns(x: torch.Tensor, mask: torch.Tensor, value: torch.Tensor) -> torch.Tensor:
    y = x.clone()
    y[:, mask] = value[:1, :1]
    return y * 2


def store_one(x: torch.Tensor, mask: torch.Tensor, value: torch.Tensor) -> torch.Tensor:
    y = x.clone()
    y[mask, 1] = value[:, 0]
    return y


def put(x: torch.Tensor, mask: torch.Tensor, value: torch.Tensor) -> torch.Tensor:
    return torch.index_put(x.cos(), (mask,), value).exp()


def put_in_place(x: torch.Tensor, mask: torch.Tensor, value: torch.Tensor) -> torch.Tensor:
    y = x * 1
    y.index_put_((mask,), value, accumulate=True)
    return y.sum(0)


def put_and_write(x: torch.Tensor, mask: torch.Tensor, value: torch.Tensor) -> torch.Tensor:
    y = x.clone()
    y.copy_(torch.index_put(y, (mask,), value))
    return y


def fill(x: torch.Tensor, mask: torch.Tensor, value: torch.Tensor) -> torch.Tensor:
    return x.index_fill(0, mask.long(), value[0, 0])


def fill_in_place(x: torch.Tensor, mask: torch.Tensor, value: torch.Tensor) -> torch.Tensor:
    return x.clone().index_fill_(0, mask.long(), value[0, 0]) * 3


PROGRAMS = (store, store_in_columns, store_one, put, put_in_place, put_and_write, fill, fill_in_place)
MASKS = ([True, True, False, True, False], [False] * 5, [True] * 5, [False, False, True, False, False])


def observe(function: Program, truths: list[bool]) -> list[object]:
    torch.manual_seed(0)
    x = torch.randn(5, 5, requires_grad=True)
    # a row for each truth, or one for all
    value = (
        torch.randn(sum(truths), 5, requires_grad=True)
        if sum(truths) > 1
        else torch.randn(1, 5, requires_grad=True)
    )
    try:
        result = function(x, torch.tensor(truths), value)
        result.square().sum().backward()
    except RuntimeError as error:
        return [str(error)]
    assert x.grad is not None
    return [result.detach(), x.grad, value.grad]


@pytest.mark.parametrize("program", PROGRAMS)
@pytest.mark.parametrize("fullgraph", [False, True])
@pytest.mark.parametrize("backend", ["eager", "aot_eager"])
def test_gradients_of_what_is_stored(program: Program, fullgraph: bool, backend: str) -> None:
    compiled = frontend.compile(program, backend=backend, fullgraph=fullgraph)
    for truths in (*MASKS, MASKS[0]):
        torch.testing.assert_close(observe(compiled, truths), observe(program, truths))


def breaks(program: Program, backend: str, *given: torch.Tensor) -> int:
    compiled = frontend.compile(program, backend=backend)
    compiled(*given)
    return frontend.explain(compiled)().break_count


@pytest.mark.parametrize("program", [store, put])
def test_without_gradients_there_is_one_graph(program: Program) -> None:
    x, mask, value = torch.ones(5, 5), torch.tensor(MASKS[0]), torch.zeros(3, 5)
    assert breaks(program, "aot_eager", x, mask, value) == 0
    with torch.no_grad():
        assert breaks(program, "aot_eager", x, mask, value.clone().requires_grad_()) == 0
    value.requires_grad_()
    assert breaks(program, "eager", x, mask, value) == 0
    assert breaks(program, "aot_eager", x, mask, value) == 1
