"""Gradients: after the graph, inside it, switched off, through in-place changes and views."""

import torch
from tests.end_to_end.support import check, check_source

X = torch.tensor([-1.5, 0.25, 2.0])
G = X.clone().requires_grad_()


def test_gradient_of_the_input():
    check(lambda x: (x * 2).relu().sum(), G, graphs=1, breaks=0)


def test_gradient_through_a_break():
    def f(x):
        y = x * 2
        print("break")
        return (y * x).sum()

    check(f, G)


def test_gradient_of_a_closed_over_tensor():
    w = G.clone().detach().requires_grad_()
    check(lambda x: x * w, X)


def test_detach_and_requires_grad():
    def f(x):
        y = x.detach()
        z = y * 2
        return x * y, z, z.requires_grad, y.requires_grad_() is y

    check(f, G)


def test_requires_grad_in_place_on_the_input():
    def f(x):
        x.requires_grad_()
        return (x * 3).sum()

    check(f, X)


def test_backward_inside():
    def f(x):
        loss = (x * x).sum()
        loss.backward()
        return loss.detach(), x.grad

    check(f, G)


def test_autograd_grad_inside():
    def f(x):
        (g,) = torch.autograd.grad((x**3).sum(), x)
        return g * 2

    check(f, G)


def test_accumulated_gradient():
    def f(x):
        (x * 2).sum().backward()
        (x * 3).sum().backward()
        return x.grad.clone()

    check(f, G)


def test_gradient_is_cleared_and_set():
    def f(x):
        x.grad = None
        (x * 2).sum().backward()
        x.grad.mul_(2)
        return x.grad

    check(f, G)


def test_gradient_presence_is_guarded():
    check(
        lambda x: x * 2 if x.grad is None else x * x.grad,
        G,
        change=lambda x: setattr(x, "grad", torch.ones(3)),
    )


def test_no_grad_result_has_no_gradient():
    def f(x):
        with torch.no_grad():
            y = x * 2
        return y, y.requires_grad, x + y

    check(f, G)


def test_in_place_on_an_intermediate():
    def f(x):
        y = x * 2
        y.add_(1)
        y[0] = 5
        return y * x

    check(f, G, graphs=1, breaks=0)


def test_in_place_on_a_leaf_raises_like_eager():
    check(lambda x: x.add_(1), G)


def test_view_of_an_intermediate_is_changed():
    def f(x):
        y = x * 2
        v = y[:2]
        v.mul_(3)
        return y, v

    check(f, G)


def test_custom_function():
    class Double(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            ctx.save_for_backward(x)
            return x * 2

        @staticmethod
        def backward(ctx, g):
            (x,) = ctx.saved_tensors
            return g * x

    check(lambda x: Double.apply(x) + 1, G)


def test_tensor_hook():
    def f(x):
        y = x * 2
        y.register_hook(lambda g: g * 10)
        return y.sum()

    check(f, G)


def test_checkpoint():
    check(lambda x: torch.utils.checkpoint.checkpoint(lambda t: t.sin() * 2, x, use_reentrant=False), G)


def test_requires_grad_of_the_input_is_guarded():
    check(lambda x: (x * 2, x.requires_grad), X, change=lambda x: x.requires_grad_(not x.requires_grad))


def test_retain_graph_and_second_backward():
    def f(x):
        y = (x * x).sum()
        y.backward(retain_graph=True)
        y.backward()
        return x.grad

    check(f, G)


def test_grad_fn_and_is_leaf():
    check(lambda x: ((x * 2).is_leaf, x.is_leaf, (x * 2).grad_fn is None, x.grad_fn), G)


def test_set_data():
    def f(x, y):
        x.data = y * 2
        return x + 1

    check(f, X, X)


def test_higher_order_gradient():
    def f(x):
        (g,) = torch.autograd.grad((x**3).sum(), x, create_graph=True)
        return g.sum()

    check(f, G)


def test_func_grad_and_vmap():
    check(lambda x: torch.func.grad(lambda t: (t * t).sum())(x), X)
    check(lambda x: torch.func.vmap(lambda t: t * 2)(x), X)


CLIPPING = """
import torch

def f(weights):
    norm = torch.nn.utils.clip_grad_norm_(weights, 1.0)
    torch.nn.utils.clip_grad_value_(weights, 0.1)
    return norm, torch.nn.utils.get_total_norm([weight.grad for weight in weights])

def args(second=torch.float32):
    weights = [torch.nn.Parameter(torch.ones(3)), torch.nn.Parameter(torch.ones(2, 2, dtype=second))]
    for number, weight in enumerate(weights):
        weight.grad = torch.full_like(weight, number + 1.0)
    return (weights,)
"""


def test_gradients_are_clipped_in_the_graph():
    check_source(CLIPPING, breaks=0)


def test_gradients_of_several_types_are_clipped():
    check_source(CLIPPING + "args.__defaults__ = (torch.float64,)\n")


def test_no_gradient_to_clip():
    check(lambda weights: torch.nn.utils.clip_grad_value_(weights, 0.1), [torch.nn.Parameter(torch.ones(3))])
