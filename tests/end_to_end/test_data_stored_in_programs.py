"""`p.data = v` in the midst of programs: behind another break, in context managers, around checkpoints, of other layouts, of results."""

import contextlib
from collections.abc import Callable, Iterator
from typing import Any

import pytest
import torch
import torch.nn.functional as F
from tests.end_to_end.compare import Comparison
from torch import Tensor, nn
from torch.utils.checkpoint import checkpoint

from framesmith import frontend


@contextlib.contextmanager
def swapped(p: Tensor, s: Tensor) -> Iterator[None]:
    old = p.data
    p.data = s
    try:
        yield
    finally:
        p.data = old


@contextlib.contextmanager
def averaged(model: nn.Module, shadow: list[Tensor]) -> Iterator[None]:
    old = [p.data for p in model.parameters()]
    for p, s in zip(model.parameters(), shadow, strict=True):
        p.data = s
    try:
        yield
    finally:
        for p, o in zip(model.parameters(), old, strict=True):
            p.data = o


def clip(p: Tensor) -> None:
    print("clipped")
    p.data = p.data.clamp(-1, 1)


def behind_a_print(p, x, s):
    t = x @ p
    print("step")
    p.data = s * 5
    return t


def of_two_uses(p, x, s):
    t = F.linear(x, p) * p
    print("step")
    p.data = s * 5
    return t


def in_a_called_function(p, x, s):
    t = x @ p
    clip(p)
    return t


def in_a_context_manager(p, x, s):
    with swapped(p, s):
        return x @ p


def with_a_break_in_a_context_manager(p, x, s):
    with swapped(p, s * 1):
        t = x @ p
        print("inside")
    return t


def around_a_checkpoint(p, x, s):
    old = p.data
    p.data = s
    y = checkpoint(F.linear, x, p, use_reentrant=False)
    p.data = old
    return y


def behind_a_checkpoint(p, x, s):
    y = checkpoint(F.linear, x, p, use_reentrant=False)
    p.data = p.data.clamp(-1, 1)
    return y


def with_a_penalty(p, x, s):
    old = p.data
    p.data = s * 2
    y = F.linear(x, p).sum() + (p * p).sum()
    p.data = old
    return y


def another_layout(p, x, s):
    y = x @ p
    p.data = s.t()
    return y


def expanded(p, x, s):
    y = x * p
    p.data = s[0].expand(2, 2)
    return y


def another_part(p, x, s):
    p.data = s.view(4)[:4].view(2, 2)
    t = x * p
    p.data = torch.cat([s, s + 3]).view(8)[4:].view(2, 2)
    return t


def parts_of_an_input(p, x, s):
    flat = s.new_tensor([1.0, 2, 3, 4, 5, 6, 7, 8])
    p.data = flat[:4].view(2, 2)
    t = x * p
    p.data = flat[4:].view(2, 2)
    return t


def a_view_is_returned(p, x, s):
    p.data = s.data
    return p.view(4)


def of_a_result(p, x, s):
    h = p * 2
    y = h * h * x
    h.data = h.data + 1
    return y


def of_a_result_behind_a_print(p, x, s):
    h = torch.tanh(x @ p)
    z = h * h
    print("binary")
    h.data = h.data.sign()
    return z * h


def of_shared_memory(p, x, s):
    p.data.add_(0.25)
    p.data = s.data
    return (p * x).sum()


def a_buffer_changes_behind(p, x, s):
    y = s * p * x
    p.data = p.data * 2
    s.data.clamp_(-1, 1)
    return y


@pytest.mark.parametrize("backend", ["eager", "aot_eager"])
@pytest.mark.parametrize(
    "function",
    [
        behind_a_print,
        of_two_uses,
        in_a_called_function,
        in_a_context_manager,
        with_a_break_in_a_context_manager,
        around_a_checkpoint,
        behind_a_checkpoint,
        with_a_penalty,
        another_layout,
        expanded,
        another_part,
        parts_of_an_input,
        a_view_is_returned,
        of_a_result,
        of_a_result_behind_a_print,
        of_shared_memory,
        a_buffer_changes_behind,
    ],
)
def test_gradients(function: Callable[..., Tensor], backend: str) -> None:
    def observe(call: Callable[..., Tensor]) -> list[object]:
        found = list[object]()
        p, s = torch.tensor([[3.0, 2], [1, 4]], requires_grad=True), torch.tensor([[5.0, 6], [7, 8]])
        for _ in range(4):
            x = torch.tensor([[1.0, 2], [3, 1]], requires_grad=True)
            result = call(p, x, s)
            result.pow(2).sum().backward()
            found += [result.detach().clone(), p.detach().clone(), s.clone(), x.grad, p.grad, p._version]
            p.grad = None
        return found

    Comparison().same(
        observe(function), observe(frontend.compile(function, backend=backend)), function.__name__
    )


@pytest.mark.parametrize("backend", ["eager", "aot_eager"])
def test_averaged_weights(backend: str) -> None:
    def observe(compile_function: Callable[..., Any]) -> list[object]:
        torch.manual_seed(0)
        model, found = nn.Sequential(nn.Embedding(5, 3), nn.Linear(3, 3)), list[object]()

        def loss(x: Tensor, shadow: list[Tensor]) -> Tensor:
            with averaged(model, shadow):
                t = model(x)
            y = model(x)
            result: Tensor = t.sum() + y.pow(2).sum()
            return result

        call = compile_function(loss)
        for _ in range(3):
            call(torch.tensor([1, 2]), [p.detach() * 2 + 1 for p in model.parameters()]).backward()
            found += [p.grad.clone() for p in model.parameters() if p.grad is not None]
        return found

    ours = observe(lambda function: frontend.compile(function, backend=backend))
    Comparison().same(observe(lambda function: function), ours, "averaged")
