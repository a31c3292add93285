"""Callables of the user that trace the graph again: nothing of it may become a constant, and nothing is rounded that eager does not round."""

import gc
import random
import weakref

import pytest
import torch
from tests.end_to_end.support import check
from torch import nn
from torch._functorch.aot_autograd import aot_module, aot_module_simplified, make_boxed_func
from torch.fx.experimental.proxy_tensor import make_fx
from torch.optim import lr_scheduler

from framesmith import frontend
from framesmith.graph.python_numbers import numbers
from framesmith.graph.replacing_backends import OperationsReplaced


class Ahead:
    """AOTAutograd, as users wrap it; counts the graphs."""

    def __init__(self):
        self.graphs = 0

    def __call__(self, module, examples):
        self.graphs += 1
        return aot_module_simplified(module, examples, fw_compiler=lambda graph, given: graph.forward)


def train(make, wrap, *, scheduled=False, steps=6):
    torch.manual_seed(0)
    weights = [nn.Parameter(torch.randn(3, 2)), nn.Parameter(torch.randn(4))]
    optimizer = make(weights)
    scheduler = lr_scheduler.ExponentialLR(optimizer, 0.9)
    step = wrap(lambda: optimizer.step())
    for _ in range(steps):
        for weight in weights:
            weight.grad = torch.randn_like(weight)
        step()
        if scheduled:
            scheduler.step()
    return [weight.detach() for weight in weights]


@pytest.mark.parametrize("scheduled", [False, True])
@pytest.mark.parametrize("foreach", [False, True])
@pytest.mark.parametrize("name", ["SGD", "Adam", "NAdam", "Adagrad"])
@pytest.mark.parametrize("is_named", [False, True])
def test_the_number_of_steps_and_a_rate_that_changes(name, foreach, scheduled, is_named):
    def make(weights):
        return getattr(torch.optim, name)(weights, lr=0.1, foreach=foreach)

    backend = "aot_eager" if is_named else Ahead()
    expected = train(make, lambda f: f, scheduled=scheduled)
    found = train(make, lambda f: frontend.compile(f, backend=backend), scheduled=scheduled)
    torch.testing.assert_close(found, expected, rtol=1e-6, atol=1e-7)


def test_a_graph_of_tensors_is_compiled_once():
    backend, model = Ahead(), nn.Sequential(nn.Linear(3, 4), nn.ReLU(), nn.BatchNorm1d(4))
    frontend.compile(model, backend=backend)(torch.randn(5, 3)).sum().backward()
    assert backend.graphs == 1


def test_a_number_that_changes_is_not_rounded():
    backend = Ahead()
    compiled = frontend.compile(lambda x, a: (x * a, a / 3), backend=backend)
    for a in (0.1, 0.2, 0.30000000000000004, 1e-300):
        x = torch.tensor([1e300], dtype=torch.float64)
        assert torch.equal(compiled(x, a)[0], x * a) and compiled(x, a)[1] == a / 3


def test_a_hook_on_a_result():
    def f(x):
        y = x * 3
        y.register_hook(lambda gradient: gradient * 5)
        return y.sin()

    check(f, torch.randn(3, requires_grad=True), backend=Ahead(), tolerance=1e-6)


def test_a_backend_that_traces_with_fakes_gets_no_numbers():
    """A trace that is not AOTAutograd's is seen by the operation that would read the number."""

    def backend(module, examples):
        return torch.no_grad()(make_fx(module, tracing_mode="fake")(*examples).forward)

    def make(weights):
        return torch.optim.Adam(weights, lr=0.1)

    expected = train(make, lambda f: f, steps=3)
    found = train(make, lambda f: frontend.compile(f, backend=backend), steps=3)
    torch.testing.assert_close(found, expected, rtol=1e-6, atol=1e-7)


def test_one_that_traces_when_the_graph_runs_is_told_what_to_do():
    def backend(module, examples):
        made = []

        def run(*values):
            made.extend([] if made else [Ahead()(module, list(values))])
            return made[0](*values)

        return run

    with pytest.raises(Exception, match="let the backend trace the graph when it is given one"):
        train(lambda weights: torch.optim.Adam(weights), lambda f: frontend.compile(f, backend=backend))


@pytest.mark.parametrize("name", ["Adam", "NAdam"])
def test_what_such_a_trace_was_given_is_no_state_of_the_program(name):
    weight = nn.Parameter(torch.ones(3))
    weight.grad = torch.ones(3)
    optimizer = getattr(torch.optim, name)([weight], foreach=False)

    def backend(module, examples):
        return aot_module(module, fw_compiler=lambda graph, given: make_boxed_func(graph.forward))

    compiled = frontend.compile(lambda: optimizer.step(), backend=backend)
    for _ in range(2):
        with pytest.raises(OperationsReplaced):
            compiled()
    held = [value for state in optimizer.state.values() for value in state.values()]
    assert {type(value) for value in [weight.data, *held]} == {torch.Tensor}


@pytest.mark.parametrize("mode", ["real", "fake"])
def test_arithmetic_of_numbers_is_not_traced_as_constants(mode):
    def f(step):
        beta = 1 - numbers.power(0.9, numbers.as_number(step))
        return numbers.divide(0.1, beta)

    traced = make_fx(f, tracing_mode=mode)
    if mode == "real":
        with pytest.raises(OperationsReplaced):
            traced(torch.tensor(2.0))
    else:
        torch.testing.assert_close(traced(torch.tensor(2.0))(torch.tensor(3.0)), f(torch.tensor(3.0)))


def test_such_a_backend_is_not_kept_alive():
    backend = Ahead()
    compiled = frontend.compile(lambda x: x + 1, backend=backend)
    compiled(torch.ones(2))
    known = weakref.ref(backend)
    del backend, compiled
    gc.collect()
    assert known() is None


def test_what_a_backend_draws_while_it_compiles_is_not_seen():
    def backend(module, examples):
        random.random(), torch.rand(3)
        return module.forward

    def f(x):
        print("two graphs")
        return x * random.random() + torch.rand(3)

    check(f, torch.ones(3), backend=backend)
