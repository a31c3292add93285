"""Which results lead to which inputs, and what a common backward pass gives the others."""

import torch

from framesmith.graph.backends.absent_gradients import drop_absent
from framesmith.graph.fakes.histories import reached_places


class Common(torch.autograd.Function):
    """Two results of two operands, differentiated together."""

    @staticmethod
    def forward(ctx, a, b):
        return a * 2, b * 3

    @staticmethod
    def backward(ctx, first, second):
        return first * 2, second * 3


def leaf():
    return torch.ones(2, requires_grad=True)


def test_places_that_a_backward_pass_reaches():
    a, b = leaf(), leaf()
    h = a * 2
    first, second = h.unbind()
    outputs = [first + b, second, b.exp(), a, h]
    assert reached_places(outputs, [a, b, h, first, second]) == [
        {0, 1, 2, 3},
        {0, 2, 4},
        {1},
        {0},
        {0, 2},
    ]


def test_what_is_not_reached_gets_no_gradient():
    call = drop_absent(Common.apply, {0: frozenset({0}), 1: frozenset({1})})
    for _ in range(2):
        a, b = leaf(), leaf()
        call(a, b)[1].sum().backward()
        assert a.grad is None
        assert b.grad.tolist() == [3.0, 3.0]
    a, b = leaf(), leaf()
    sum(one.sum() for one in call(a, b)).backward()
    assert (a.grad.tolist(), b.grad.tolist()) == ([2.0, 2.0], [3.0, 3.0])


def test_values_in_one_place_keep_their_gradients():
    call = drop_absent(Common.apply, {0: frozenset({0}), 1: frozenset({1})})
    a = leaf()
    call(a, a)[0].sum().backward()
    assert a.grad.tolist() == [2.0, 2.0]


def test_what_has_hooks_keeps_its_gradient():
    call = drop_absent(Common.apply, {0: frozenset({0}), 1: frozenset({1})})
    a, b, seen = leaf(), leaf(), []
    b.register_hook(seen.append)
    call(a, b)[0].sum().backward()
    assert [one.tolist() for one in seen] == [[0.0, 0.0]]


def test_a_pass_without_any_gradient_gives_none():
    call = drop_absent(Common.apply, {0: frozenset({0, 1}), 1: frozenset({0, 1})})
    a, b, c = leaf(), leaf(), leaf()
    behind = drop_absent(Common.apply, {0: frozenset({0}), 1: frozenset({1})})
    behind(call(a, b)[0], c)[1].sum().backward()
    assert (a.grad, b.grad, c.grad.tolist()) == (None, None, [3.0, 3.0])


def test_nothing_is_added_where_no_result_requires_gradients():
    assert drop_absent(Common.apply, {}) == Common.apply
