"""`torch.func.linearize` in a graph: the value of a function and the function that gives its directional derivatives there."""

from collections.abc import Callable
from typing import Any

import pytest
import torch

from framesmith import frontend

X, T = torch.linspace(-1, 1, 6).reshape(2, 3), torch.linspace(0, 2, 6).reshape(2, 3)


def one(x: torch.Tensor, t: torch.Tensor) -> Any:
    output, derive = torch.func.linearize(torch.sin, x)
    return output, derive(t), derive(t * 2) + derive(output)


def nested(x: torch.Tensor, t: torch.Tensor) -> Any:
    def function(given: dict[str, torch.Tensor], y: torch.Tensor) -> Any:
        return {"product": given["a"] * y, "sum": (given["b"].exp() + y).sum()}

    output, derive = torch.func.linearize(function, {"a": x, "b": x * 2}, x.cos())
    return output, derive({"a": t, "b": t + 1}, t)


def constant_part(x: torch.Tensor, t: torch.Tensor) -> Any:
    output, derive = torch.func.linearize(lambda y: (y * t, torch.ones(2)), x)
    return output, derive(t)


def written_later(x: torch.Tensor, t: torch.Tensor) -> Any:
    y = x.clone()
    output, derive = torch.func.linearize(lambda z: z**3, y)
    return output, derive(t)


def under_vmap(x: torch.Tensor, t: torch.Tensor) -> Any:
    output, derive = torch.func.linearize(lambda y: y.square().sum(), x)
    return output, torch.vmap(derive)(torch.stack([t, t * 2]))


def wrong_shape(x: torch.Tensor, t: torch.Tensor) -> Any:
    _, derive = torch.func.linearize(torch.sin, x)
    try:
        derive(t[0])
    except RuntimeError as error:
        return str(error)


def wrong_dtype(x: torch.Tensor, t: torch.Tensor) -> Any:
    _, derive = torch.func.linearize(torch.sin, x)
    try:
        derive(t.double())
    except RuntimeError as error:
        return str(error)


def wrong_structure(x: torch.Tensor, t: torch.Tensor) -> Any:
    _, derive = torch.func.linearize(torch.sin, x)
    try:
        derive(t, t)
    except RuntimeError as error:
        return str(error)


def print_between(x: torch.Tensor, t: torch.Tensor) -> Any:
    output, derive = torch.func.linearize(torch.sin, x)
    print("between")
    return output, derive(t)


PROGRAMS = (one, nested, constant_part, written_later, under_vmap, wrong_shape, wrong_dtype, wrong_structure)


@pytest.mark.parametrize("program", PROGRAMS)
@pytest.mark.parametrize("backend", ["eager", "aot_eager"])
def test_values_and_derivatives(program: Callable[..., Any], backend: str) -> None:
    compiled = frontend.compile(program, backend=backend, fullgraph=True)
    for scale in (1.0, 2.0, -1.0):
        found, expected = compiled(X * scale, T), program(X * scale, T)
        if isinstance(expected, str):
            assert found == expected
        else:
            torch.testing.assert_close(found, expected)


def test_the_function_is_used_behind_a_break(capsys: pytest.CaptureFixture[str]) -> None:
    compiled = frontend.compile(print_between, backend="eager")
    for _ in range(3):
        torch.testing.assert_close(compiled(X, T), print_between(X, T))


def test_the_function_leaves_the_graph() -> None:
    compiled = frontend.compile(lambda x: torch.func.linearize(torch.sin, x * 2), backend="eager")
    for scale in (1.0, 3.0):
        output, derive = compiled(X * scale)
        expected, derivative = torch.func.linearize(torch.sin, X * scale * 2)
        torch.testing.assert_close(output, expected)
        torch.testing.assert_close(derive(T), derivative(T))


def effects(x: torch.Tensor, t: torch.Tensor) -> Any:
    calls: list[int] = []

    def function(y: torch.Tensor) -> torch.Tensor:
        calls.append(1)
        return y.sin()

    output, derive = torch.func.linearize(function, x)
    return output, derive(t), len(calls)


def draws(x: torch.Tensor, t: torch.Tensor) -> Any:
    output, derive = torch.func.linearize(lambda y: y * torch.rand(3), x)
    return output.shape, derive(t).shape, torch.rand(2)


def of_a_leaf(x: torch.Tensor, t: torch.Tensor) -> Any:
    leaf = x.clone().requires_grad_()
    output, derive = torch.func.linearize(lambda y: y**3, leaf)
    return output.detach(), derive(t).detach()


@pytest.mark.parametrize("program", [effects, draws, of_a_leaf])
def test_a_function_that_does_more_runs_natively(program: Callable[..., Any]) -> None:
    compiled = frontend.compile(program, backend="eager")
    for _ in range(2):
        found = []
        for function in (program, compiled):
            torch.manual_seed(0)
            found.append(function(X, T))
        torch.testing.assert_close(found[1], found[0])
