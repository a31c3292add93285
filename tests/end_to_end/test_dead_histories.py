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
