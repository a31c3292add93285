"""Writes in place to inputs where the gradient mode differs from that in which the graph begins: a break inside of `torch.no_grad()`."""

import pytest
import torch

from framesmith import frontend


def behind_a_break(w, y):
    with torch.no_grad():
        print(end="")
    y.mul_(0.5)


def both_modes(w, y):
    with torch.no_grad():
        y.mul_(0.5)
        print(end="")
    with torch.no_grad():
        y.mul_(3)
    y.mul_(5)


def of_another_history(w, y):
    with torch.no_grad():
        print(end="")
    y.add_(w * 2)


def an_item(w, y):
    with torch.no_grad():
        print(end="")
    y[0] = w[0]
    y.view(-1)[1:].mul_(3)


def in_inference_mode(w, y):
    with torch.inference_mode():
        print(end="")
    y.copy_(w * 3)


def turned_on(w, y):
    with torch.enable_grad():
        y.mul_(0.5)


def run(function, is_computed, mode):
    found = []
    for number in range(3):
        w = (torch.arange(1.0, 4.0) + number).requires_grad_()
        y = w * 2 if is_computed else torch.ones(3) + number
        with mode():
            function(w, y)
        if y.requires_grad:
            y.square().sum().backward()
        found.append((y.tolist(), y.requires_grad, None if w.grad is None else w.grad.tolist()))
    return found


PROGRAMS = [behind_a_break, both_modes, of_another_history, an_item, in_inference_mode, turned_on]


@pytest.mark.parametrize("mode", [torch.enable_grad, torch.no_grad], ids=["gradients", "none"])
@pytest.mark.parametrize("is_computed", [True, False], ids=["computed", "new"])
@pytest.mark.parametrize("program", PROGRAMS, ids=lambda one: one.__name__)
def test_gradients_are_those_of_eager(program, is_computed, mode):
    expected = run(program, is_computed, mode)
    assert run(frontend.compile(program, backend="aot_eager"), is_computed, mode) == expected


@pytest.mark.inductor
def test_with_kernels():
    compiled = frontend.compile(behind_a_break, backend="inductor")
    assert run(compiled, True, torch.enable_grad) == run(behind_a_break, True, torch.enable_grad)


class Logged(torch.Tensor):
    """Says which of its functions are called."""

    called: list[str] = []

    @classmethod
    def __torch_function__(cls, function, types, args=(), kwargs=None):
        cls.called.append(function.__name__)
        return super().__torch_function__(function, types, args, kwargs or {})


def views(x):
    x = x * 1
    x.view(2, 2).mul_(2)
    return x, x.view(2, 2), x.detach()


def an_assignment(x):
    y = x.sin() * 2
    y[0] = 5
    return y


@pytest.mark.parametrize("requires", [False, True])
@pytest.mark.parametrize("program", [views, an_assignment])
def test_nothing_else_is_asked_of_a_subclass(program, requires):
    compiled = frontend.compile(program, backend="aot_eager")
    for _ in range(3):
        called = []
        for function in (program, compiled):
            x = torch.ones(4, requires_grad=requires).as_subclass(Logged)
            Logged.called.clear()
            function(x)
            called.append([*Logged.called])
        assert called[1] == called[0]
