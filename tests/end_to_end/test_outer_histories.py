"""Gradients taken in a function whose inputs were computed from one another before it: `w[0]` and `w`, `w * 2` and `w`."""

import pytest
import torch

from framesmith import frontend

BACKENDS = pytest.mark.parametrize("backend", ["eager", "aot_eager"])
INPUTS = {
    "transposed": lambda w: w.t(),
    "row": lambda w: w[0],
    "view": lambda w: w.view(-1),
    "slice": lambda w: w[:, 1:],
    "one of several": lambda w: w.unbind(0)[1],
    "expanded": lambda w: w[:, :1].expand(2, 3),
    "computed": lambda w: w * 2,
    "view of a computed one": lambda w: (w * 2)[0],
    "the same": lambda w: w,
}
VALUES = {
    "both": lambda v, w: (v.sum() * w).sum(),
    "the computed one": lambda v, w: (v * v).sum(),
    "a value between": lambda v, w: ((v.sum() * w).sum() * w).sum(),
}


def of_leaves(loss, v, w):
    loss.backward()
    return w.grad


def of_one_leaf(loss, v, w):
    loss.backward(inputs=[w])
    return w.grad


def of_the_leaf(loss, v, w):
    return torch.autograd.grad(loss, w, allow_unused=True)


def of_both(loss, v, w):
    return torch.autograd.grad(loss, (v, w), allow_unused=True)


def of_both_by_name(loss, v, w):
    return torch.autograd.grad(loss, {"v": v, "w": w}, allow_unused=True)


def of_the_computed_one(loss, v, w):
    return torch.autograd.grad(loss, v, allow_unused=True)


def in_full(loss, v, w):
    return torch.autograd.grad(loss, (w, v), materialize_grads=True)


def of_the_value_and_the_leaf(loss, v, w):
    return torch.autograd.grad(loss.exp(), (loss, w), allow_unused=True)


def to_go_on(loss, v, w):
    (gradient,) = torch.autograd.grad(loss, w, create_graph=True, allow_unused=True)
    return None if gradient is None else gradient * 1


WAYS = [
    of_leaves, of_one_leaf, of_the_leaf, of_both, of_both_by_name,
    of_the_computed_one, in_full, of_the_value_and_the_leaf, to_go_on,
]  # fmt: skip


def numbers(value):
    """What is compared of a result: the numbers in it, and whether it has a history."""
    if isinstance(value, torch.Tensor):
        return value.tolist(), value.requires_grad
    if isinstance(value, dict):
        return {name: numbers(one) for name, one in value.items()}
    return [numbers(one) for one in value] if isinstance(value, tuple) else value


def call(function, make, is_related):
    """What a call gives and leaves behind, of an input that was, or was not, computed from the other."""
    w = (torch.arange(6.0).reshape(2, 3) / 7).requires_grad_()
    other = (torch.arange(6.0).reshape(2, 3) / 5).requires_grad_()
    result = function(make(w if is_related else other), w)
    return numbers((result, w.grad, other.grad))


def check(backend, way, value, made):
    def program(v, w):
        return way(VALUES[value](v, w), v, w)

    reports = []
    for order in ((True, False, True), (False, True, False)):
        compiled = frontend.compile(program, backend=backend)
        for is_related in order:
            expected = call(program, INPUTS[made], is_related)
            torch.testing.assert_close(call(compiled, INPUTS[made], is_related), expected)
        reports.append(frontend.api.session_of(compiled).history.breaks)
        frontend.reset()
    return [str(one.kind) for one in sum(reports, [])]


@BACKENDS
@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("value", VALUES)
@pytest.mark.parametrize("made", ["row", "computed"])
def test_a_gradient_goes_on_outside(backend, way, value, made):
    check(backend, way, value, made)


@BACKENDS
@pytest.mark.parametrize("way", [of_leaves, of_both])
@pytest.mark.parametrize("made", INPUTS)
def test_all_that_one_input_may_be_of_another(backend, way, made):
    check(backend, way, "both", made)


def test_nothing_outside_is_asked_for():
    assert not check("aot_eager", of_the_computed_one, "both", "row")


@BACKENDS
def test_an_input_that_is_a_view_of_a_weight(backend):
    def program(view):
        again = weight.view(-1)
        (view * view).sum().backward()
        return weight * again.sum()

    weight = torch.ones(2, 3, requires_grad=True)
    compiled = frontend.compile(program, backend=backend)
    for _ in range(2):
        program(weight.t())
        expected, weight.grad = weight.grad, None
        compiled(weight.t())
        torch.testing.assert_close(weight.grad, expected)
        weight.grad = None


@BACKENDS
def test_states_of_earlier_calls(backend):
    """Backpropagation through time: the last state, and those before it, as inputs."""

    def program(last, states):
        return torch.autograd.grad(last.sum(), states, retain_graph=True)

    compiled = frontend.compile(program, backend=backend)
    first = torch.ones(3, requires_grad=True)
    second = first * 2
    third = second * 3
    for states in ([first, second, third], [third, second], [second]):
        torch.testing.assert_close(compiled(third, states), program(third, states))


@BACKENDS
def test_steps_whose_weights_come_from_the_step_before(backend):
    """The inner loop of MAML, one step a call: the gradients of all weights, which are differentiated again."""

    def step(weights, x):
        loss = ((x @ weights[0]) * weights[1]).pow(2).sum()
        gradients = torch.autograd.grad(loss, weights, create_graph=True)
        return [weight - 0.1 * gradient for weight, gradient in zip(weights, gradients, strict=True)]

    def train(step):
        first = [torch.ones(3, 3, requires_grad=True), torch.ones(3, requires_grad=True)]
        weights = first
        for _ in range(3):
            weights = step(weights, torch.arange(6.0).view(2, 3) / 5)
        sum(weight.sum() for weight in weights).backward()
        return [weight.grad for weight in first]

    torch.testing.assert_close(train(frontend.compile(step, backend=backend)), train(step))
