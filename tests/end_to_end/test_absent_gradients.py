"""A backward pass from some of the results gives the gradients that eager gives, and leaves alone what it does not reach."""

import pytest
import torch
from torch.utils.checkpoint import checkpoint

from framesmith import frontend

CHOICES = [(0,), (1,), (2,), (0, 1), (1, 2), (0, 1, 2)]


def products(x, a, b):
    return x * a, x * b, a + 1


def views(x, a, b):
    y = x * a
    return y[0], (y * b).view(-1), y.detach() + a


def written(x, a, b):
    y, z = x * a, x * b
    y.add_(1)
    z.mul_(a)
    return y, z, b.exp()


def written_result_of_an_input(x, a, b):
    h = a * 2
    h.mul_(b)
    return h, b * 3, x


def aliases(x, a, b):
    y = x * a
    return y, y.view(-1), x * b


def inputs_returned(x, a, b):
    return a, a * b, b.t()


def without_history(x, a, b):
    with torch.no_grad():
        c = a * b
    return c * a, c * b, x


def one_result_twice(x, a, b):
    y = (x * a).sin()
    return y, y, x * b


def result_of_ints(x, a, b):
    return (x * a).argmax(), x * b, a + 1


def checkpointed(x, a, b):
    return checkpoint(lambda q: q.sin() * a, x, use_reentrant=False), x * b, a


class Both(torch.autograd.Function):
    @staticmethod
    def forward(ctx, a, b):
        return a * 2, b * 3

    @staticmethod
    def backward(ctx, first, second):
        return first * 2, second * 3


def function_of_both(x, a, b):
    return *Both.apply(a, b), x * a


PROGRAMS = [
    products, views, written, written_result_of_an_input, aliases, inputs_returned, without_history, one_result_twice,
    result_of_ints, checkpointed, function_of_both,
]  # fmt: skip


def leaves(a, b):
    return a, b


def computed(a, b):
    return a * 1, b * 1


def views_of_one(a, b):
    return a.unbind()[0].expand(2, 2), a.unbind()[1].expand(2, 2)


def gradients(function, given, choice):
    """The gradients of the leaves after one pass and after a second, those of the arguments after one more."""
    x = torch.tensor([[1.0, -2.0], [3.0, 4.0]])
    a, b = (torch.tensor([[k, k + 1.0], [k + 2, k + 3]], requires_grad=True) for k in (1.0, 5.0))
    arguments, found = given(a, b), []
    results = function(x, *arguments)
    chosen = [results[one].sum() for one in choice if results[one].requires_grad]
    if chosen:
        torch.autograd.backward(chosen, retain_graph=True, inputs=[a, b])
        found += [a.grad, b.grad]
        torch.autograd.backward(chosen[0])
        found += [a.grad, b.grad]
    try:
        last = function(x, *arguments)[0].sum()
        found += torch.autograd.grad(last, arguments, allow_unused=True)
    except RuntimeError as error:  # that result requires no gradient
        found.append(str(error))
    return [None if one is None else one if isinstance(one, str) else one.tolist() for one in found]


@pytest.mark.parametrize("given", [leaves, computed, views_of_one])
@pytest.mark.parametrize("program", PROGRAMS)
def test_gradients_are_those_of_eager(program, given):
    compiled = frontend.compile(program, backend="aot_eager")
    for choice in CHOICES * 2:
        assert gradients(compiled, given, choice) == gradients(program, given, choice)


class TwoHeads(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.trunk, self.first, self.second = (torch.nn.Linear(3, 3) for _ in range(3))

    def forward(self, x):
        h = self.trunk(x).relu()
        return self.first(h), self.second(h)


def trained(backend):
    """The parameters after steps that train one head at a time, by an optimizer that decays what has a gradient."""
    torch.manual_seed(0)
    model = TwoHeads()
    run = model if backend is None else frontend.compile(model, backend=backend)
    optimizer = torch.optim.AdamW(model.parameters(), lr=0.1, weight_decay=0.5)
    for step in range(6):
        optimizer.zero_grad()
        run(torch.ones(2, 3) * step)[step % 2 if step < 4 else 0].sum().backward()
        optimizer.step()
    return [parameter.detach().clone() for parameter in model.parameters()]


@pytest.mark.parametrize("backend", ["aot_eager", pytest.param("inductor", marks=pytest.mark.inductor)])
def test_a_head_that_is_not_trained_is_left_alone(backend):
    for eager, compiled in zip(trained(None), trained(backend), strict=True):
        torch.testing.assert_close(compiled, eager)


@pytest.mark.parametrize("given", [leaves, computed])
def test_a_hook_of_what_is_not_reached_is_given_a_tensor(given):
    leaf, other = torch.ones(2, requires_grad=True), torch.ones(2, requires_grad=True)
    a, b = given(leaf, other)
    seen = []
    b.register_hook(lambda gradient: seen.append(gradient.tolist()))
    a.register_hook(lambda gradient: seen.append(gradient.tolist()))
    frontend.compile(lambda a, b: (a * 2, b * 3), backend="aot_eager")(a, b)[0].sum().backward()
    # Eager does not run the hook of `b`.
    assert sorted(seen) == [[0.0, 0.0], [2.0, 2.0]]
    assert leaf.grad.tolist() == [2.0, 2.0]


def in_two_graphs(x, y):
    h = x.sin()
    print("between")
    return h * 2, y * 3


def test_a_graph_before_the_last_one_gives_none_either(capsys):
    compiled = frontend.compile(in_two_graphs, backend="aot_eager")
    for choice in (0, 1, 1, 0):
        x, y = torch.ones(2, requires_grad=True), torch.ones(2, requires_grad=True)
        compiled(x, y)[choice].sum().backward()
        assert (x.grad is None, y.grad is None) == (choice == 1, choice == 0)
