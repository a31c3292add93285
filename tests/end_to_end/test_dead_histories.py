"""Gradients of a result that eager cannot differentiate, asked for inputs that had a part in it and for others."""

import pytest
import torch

from framesmith import frontend

WEIGHT = torch.ones(2, 2, requires_grad=True)


def changed_in_place(x):
    y = x.exp()
    z = y.sin()
    y.add_(1)
    return z, x * 3


def row_of_what_was_changed(x):
    y = x.exp()
    z = y.sin()
    y.add_(1)
    return z[0], x * 3


def freed(x):
    y = x.exp().sum()
    (gradient,) = torch.autograd.grad(y, x)
    return y, gradient, x * 3


def freed_for_a_weight(x):
    y = (x * WEIGHT).exp().sum()
    (gradient,) = torch.autograd.grad(y, WEIGHT)
    return y, gradient, x * 3


PROGRAMS = (changed_in_place, row_of_what_was_changed, freed, freed_for_a_weight)


def answer(outputs, inputs):
    try:
        found = torch.autograd.grad(outputs.sum(), inputs, allow_unused=True, retain_graph=True)
    except RuntimeError as error:
        return str(error)
    return [None if one is None else one.tolist() for one in found]


def answers(function):
    x = torch.linspace(0.1, 1, 4).reshape(2, 2).requires_grad_()
    other = torch.ones(2, 2, requires_grad=True)
    first, *_, last = function(x)
    return [
        answer(first, x), answer(first, (x, other)), answer(first, other), answer(first, WEIGHT), answer(last, x),
        answer(first.sum() + last.sum(), x),
    ]  # fmt: skip


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda program: program.__name__)
@pytest.mark.parametrize("backend", ["eager", "aot_eager"])
def test_gradients_of_a_result_with_a_dead_history(program, backend):
    compiled = frontend.compile(program, backend=backend)
    for _ in range(2):
        assert answers(compiled) == answers(program)


CHANGED = {
    "exp": lambda x, w: torch.exp(x @ w).add_(1),
    "softmax": lambda x, w: torch.softmax(x @ w, -1).mul_(0.5),
    "sigmoid": lambda x, w: torch.sigmoid(x @ w).sub_(1),
    "two": lambda x, w: (torch.sigmoid(x @ w).sub_(1), (x @ w).tanh()),
}


@pytest.mark.parametrize("name", CHANGED)
@pytest.mark.parametrize(
    "backend", ["aot_eager", lambda module, examples: module.forward], ids=["aot", "own"]
)
def test_a_size_that_varies_stays_symbolic_and_is_named_as_in_eager(name, backend):
    program, weight = CHANGED[name], torch.randn(4, 4, requires_grad=True)
    compiled = frontend.compile(program, backend=backend, fullgraph=True)
    for size in (2, 3, 4, 5, 7):
        messages = []
        x = torch.randn(size, 4)
        for function in (program, compiled):
            result = function(x, weight)
            first = result[0] if isinstance(result, tuple) else result
            with pytest.raises(RuntimeError) as raised:
                first.sum().backward()
            messages.append(str(raised.value))
        assert messages[0] == messages[1]
    assert frontend.explain(compiled)().graph_count == 2
