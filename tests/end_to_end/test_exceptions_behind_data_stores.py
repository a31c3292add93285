"""`p.data = v`, and writes to `p`, in a function that raises in some calls: all that came before has happened, and it is the program's exception."""

import contextlib
from collections.abc import Callable, Iterator
from typing import Any

import pytest
import torch
from tests.end_to_end.compare import Comparison
from torch import Tensor

from framesmith import frontend


def check(x: Tensor) -> Tensor:
    if x.sum() > 4:
        raise ValueError("too much")
    return x * 2


@contextlib.contextmanager
def entered(log: list[str]) -> Iterator[None]:
    log.append("in")
    try:
        yield
    finally:
        log.append("out")


def parts(x: Tensor) -> Iterator[Tensor]:
    for i in range(2):
        yield x * i
        if x.sum() > 4:
            raise ValueError(i)


def in_the_function(p, q, x, log):
    old = p.data
    p.data = old * 2
    y = p * x
    if x.sum() > 4:
        raise ValueError(1)
    p.data = old
    return y


def in_a_called_function(p, q, x, log):
    old = p.data
    p.data = old * 2
    y = p * x + check(x)
    p.data = old
    return y


def in_a_context_manager(p, q, x, log):
    old = p.data
    p.data = old * 2
    y = p * x
    with entered(log):
        y = y + check(x)
    p.data = old
    return y


def in_a_generator(p, q, x, log):
    old = p.data
    p.data = old * 2
    y = p * x
    for part in parts(x):
        y = y + part
    p.data = old
    return y


def in_a_loop(p, q, x, log):
    old = p.data
    for i in range(3):
        p.data = p.data + i
        y = p * x
        if (x * i).sum() > 4:
            raise ValueError(i)
    p.data = old
    return y


def caught(p, q, x, log):
    old = p.data
    try:
        p.data = old * 2
        y = p * x + check(x)
    except ValueError:
        log.append("caught")
        return p * p
    finally:
        p.data = old
    return y


def of_two(p, q, x, log):
    old = p.data, q.data
    p.data, q.data = q.data * 1, p.data * 3
    y = p * x
    if x.sum() > 4:
        raise ValueError(2)
    p.data = old  # refused: no tensor
    return y


def by_an_operation(p, q, x, log):
    old = p.data
    q.data = p.data * 3
    p.data = old * 2
    y = p * x + torch.linalg.cholesky(torch.eye(2) * (4 - x.detach().sum()))
    p.data = old
    return y


def written_in_place(p, q, x, log):
    old = p.detach().clone()
    with torch.no_grad():
        p.mul_(2)
    y = p.sum() + check(x)
    with torch.no_grad():
        p.copy_(old)
    return y


@pytest.mark.parametrize("backend", ["eager", "aot_eager"])
@pytest.mark.parametrize(
    "function",
    [
        in_the_function,
        in_a_called_function,
        in_a_context_manager,
        in_a_generator,
        in_a_loop,
        caught,
        of_two,
        by_an_operation,
        written_in_place,
    ],
)
def test_exceptions(function: Callable[..., Tensor], backend: str) -> None:
    def observe(call: Callable[..., Tensor]) -> list[Any]:
        found, log = list[Any](), list[str]()
        p = torch.tensor([[1.0, 2], [3, 4]], requires_grad=True)
        q = torch.tensor([[0.5, 2], [1, 0.25]], requires_grad=True)
        for turn in (0, 3, 0, 3):
            x = (torch.full((2, 2), float(turn)) + torch.eye(2) / 2).requires_grad_()
            try:
                result = call(p, q, x, log)
                result.pow(2).sum().backward()
                found.append(result.detach().clone())
            except (ValueError, TypeError, torch.linalg.LinAlgError) as error:
                found += [type(error), str(error)[:20]]
            found += [one.detach().clone() for one in (p, q)] + [p.grad, q.grad, x.grad]
            found += [p._version, q._version, list(log)]
            p.grad = q.grad = None
        return found

    ours = observe(frontend.compile(function, backend=backend))
    Comparison().same(observe(function), ours, function.__name__)


def copies_into_itself(x: Tensor, b: Tensor, v: Tensor) -> None:
    x.data = v * 2
    b.index_copy_(0, torch.tensor([1, 0]), b)


def writes_over_what_it_reads(x: Tensor, b: Tensor, v: Tensor) -> None:
    x.data = v * 2
    b[:1].copy_(b[1:])
    b.view(-1)[1:].add_(b.view(-1)[:-1])


@pytest.mark.parametrize("backend", ["eager", "aot_eager"])
@pytest.mark.parametrize("program", [copies_into_itself, writes_over_what_it_reads])
def test_a_store_stays_where_an_operation_refuses_its_memory(
    program: Callable[..., None], backend: str
) -> None:
    def run(call: Callable[..., None]) -> list[Tensor]:
        found = []
        for _ in range(3):
            x, b = torch.ones(2, 2), torch.arange(4.0).view(2, 2)
            with pytest.raises(RuntimeError, match="unsupported operation"):
                call(x, b, torch.full((2, 2), 5.0))
            found += [x, b]
        return found

    compiled = frontend.compile(program, backend=backend)
    assert all(map(torch.equal, run(compiled), run(program)))
