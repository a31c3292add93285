"""What autograd refuses when a backward pass runs raises there, not when a backend differentiates the graph."""

import pytest
from tests.end_to_end.support import check_source

BACKENDS = pytest.mark.parametrize("backend", ["eager", "aot_eager"])


def program(gradients, *lines):
    body = "\n".join(f"    {line}" for line in ("y = x * 2", *lines))
    return f"""
import torch
class Product(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, k): return x * k
    @staticmethod
    def backward(ctx, g): return {gradients}
def args(): return torch.tensor([0.5, -2.0]).requires_grad_(), []
def f(x, log):
{body}
"""


@BACKENDS
@pytest.mark.parametrize(
    "gradients",
    ["g", "(g, None, g)", "(g, g)", "(torch.ones(7), None)", "(3.0, None)", "(g[:1], None)"],
)
def test_gradients_that_autograd_refuses_raise_in_the_backward_pass(gradients, backend):
    caught = ["try: z.sum().backward()", "except RuntimeError as error: return str(error)"]
    inside = program(gradients, "z = Product.apply(y, 3)", *caught)
    check_source(inside, backend=backend, backward=False)
    outside = program(gradients, "return Product.apply(y, 3)") + (
        "inner = f\ndef f(x, log):\n    z = inner(x, log)\n    print('outside')\n"
        + "".join(f"    {line}\n" for line in caught)
    )
    check_source(outside, backend=backend, backward=False)


@BACKENDS
@pytest.mark.parametrize(
    "gradients",
    [
        "(g * 3, None)",
        "(g * 3, None, None)",
        "(g.double(), None)",
        "(torch.ones(4, 2), None)",
        "(None, None)",
    ],
)
def test_gradients_that_autograd_takes_stay_in_the_graph(gradients, backend):
    check_source(
        program(gradients, "return Product.apply(y, 3) + x"), backend=backend, breaks=0, tolerance=1e-6
    )


AGAIN = {
    "backward": ["y.sin().sum().backward(create_graph=True)", "g, x.grad = x.grad, None", "(g * g).sum().backward()"],
    "backward, used before": [
        "z = y.sin()", "z.sum().backward(create_graph=True)", "g, x.grad = x.grad, None", "return g.detach(), (g * z).sum().item()",
    ],
    "gradients of a value with a hook": [
        "y.register_hook(lambda g: g * 3)", "g, = torch.autograd.grad(y.sin().sum(), x, create_graph=True)", "return g.sin()",
    ],
    "gradients": ["g, = torch.autograd.grad(y.sin().sum(), x, create_graph=True)", "(g * g).sum().backward()"],
}  # fmt: skip


@BACKENDS
@pytest.mark.parametrize("name", AGAIN)
@pytest.mark.filterwarnings("ignore:Using backward")
def test_gradients_can_be_differentiated_again(name, backend):
    check_source(program("(g * 3, None)", *AGAIN[name]), backend=backend, tolerance=1e-6)
