"""`Tensor.grad_fn` of what a graph computes: names and neighbours of the autograd graph are those of eager under each backend."""

import pytest
from tests.end_to_end.support import check_source

QUESTIONS = {
    "name": "y.grad_fn.name()",
    "class": "type(y.grad_fn).__name__",
    "absence": "y.grad_fn is None, y.detach().grad_fn is None",
    "truth": "1 if y.grad_fn else 2",
    "next": "[node.name() for node, _ in y.grad_fn.next_functions if node is not None]",
    "the one behind": "y.grad_fn.next_functions[0][0].next_functions[0][0].name()",
    "leaf": "y.grad_fn.next_functions[0][0].next_functions[0][0].variable is x",
    "in a function": "asked(y)",
    "after another": "y.grad_fn.name(), (y * 2).grad_fn.name()",
}
PROGRAM = """
import torch
def args(): return (torch.linspace(-1, 1, 6).reshape(2, 3).requires_grad_(),)
def asked(t): return t.grad_fn.name(), t.grad_fn.next_functions[0][1]
def f(x):
    y = x.sin() * 2
    return y + 1, {}
"""


@pytest.mark.parametrize("backend", ["eager", "aot_eager"])
@pytest.mark.parametrize("name", QUESTIONS)
def test_a_history_is_that_of_eager(name, backend):
    check_source(PROGRAM.format(QUESTIONS[name]), backend=backend)
