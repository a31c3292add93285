"""Writes to views that autograd forbids: what a compiled graph returns is as forbidden as what eager returns."""

import pytest
import torch

from framesmith import frontend


class View(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        return x.view_as(x)

    @staticmethod
    def backward(ctx, gradient):
        return gradient


def made_without_gradients(y):
    with torch.no_grad():
        return y.view(-1)


def unbound_without_gradients(y):
    with torch.no_grad():
        return y.unbind(0)[0]


VIEWS = {
    "unbind": lambda y: y.unbind(0)[0],
    "the second": lambda y: y.unbind(0)[1],
    "split": lambda y: y.split(1)[0],
    "chunk": lambda y: y.chunk(2)[1],
    "view of one": lambda y: y.unbind(0)[0][:1],
    "iteration": lambda y: next(iter(y)),
    "no_grad": made_without_gradients,
    "unbind in no_grad": unbound_without_gradients,
    "function": View.apply,
    "detached": lambda y: y.detach().unbind(0)[0],
    "allowed": lambda y: y[0],
}


def add(view):
    return view.add_(1)


def store(view):
    view[...] = 3


def write_without_gradients(view):
    with torch.no_grad():
        view.add_(1)


WRITES = {
    "add": add,
    "multiply": lambda view: view.mul_(3),
    "store": store,
    "no_grad": write_without_gradients,
}


def inside(make, write):
    def f(w):
        y = w * 2
        write(make(y))
        return y

    return f


def caught(make, write):
    def f(w):
        y = w * 2
        try:
            write(make(y))
        except RuntimeError as error:
            return y, str(error)
        return y

    return f


def behind_a_break(make, write):
    def f(w):
        y = w * 2
        view = make(y)
        frontend.graph_break()
        write(view)
        return y

    return f


PROGRAMS = {"inside": inside, "caught": caught, "behind a break": behind_a_break}


def outcome(function):
    w = torch.ones(2, 2, requires_grad=True)
    try:
        result = function(w)
    except RuntimeError as error:
        return str(error)
    y, *rest = result if isinstance(result, tuple) else (result,)
    y.sum().backward()
    return y.tolist(), rest, w.grad.tolist()


@pytest.mark.parametrize("backend", ["eager", "aot_eager"])
@pytest.mark.parametrize("program", PROGRAMS)
@pytest.mark.parametrize("view", VIEWS)
def test_a_write_raises_what_eager_raises(view, program, backend):
    for write in WRITES:
        function = PROGRAMS[program](VIEWS[view], WRITES[write])
        assert outcome(frontend.compile(function, backend=backend)) == outcome(function), write


@pytest.mark.parametrize("view", VIEWS)
def test_the_caller_writes(view):
    def f(w):
        y = w * 2
        return y, VIEWS[view](y)

    def caller(function):
        def call(w):
            y, made = function(w)
            made.add_(1)
            return y

        return outcome(call)

    assert caller(frontend.compile(f, backend="aot_eager")) == caller(f)


def test_gradients_go_through_such_results():
    def f(w):
        return (w * 2).chunk(2)

    def gradient(function):
        w = torch.arange(4.0).view(2, 2).requires_grad_()
        one, other = function(w)
        (one * 3 + other).sum().backward()
        return w.grad.tolist()

    assert gradient(frontend.compile(f, backend="aot_eager")) == gradient(f)


def test_a_view_whose_memory_was_written_since():
    def f(w):
        y = w * 2
        a, b = y.unbind(0)
        y.add_(1)
        return y, a

    def caller(function):
        def call(w):
            y, made = function(w)
            made.add_(1)
            return y

        return outcome(call)

    assert caller(frontend.compile(f, backend="aot_eager")) == caller(f)
