"""What a checkpointed function gives: any structure of tensors and constants, each object as often as eager gives it."""

import pytest
from tests.end_to_end.support import check_source

BACKENDS = pytest.mark.parametrize("backend", [None, "aot_eager"])
PROGRAM = """
import collections, torch
from torch.nn.attention.flex_attention import flex_attention
from torch.utils.checkpoint import checkpoint
torch.manual_seed(0)
Pair = collections.namedtuple("Pair", "first second")
W, L = torch.randn(4, 4), {{"k": 1}}
def g(x):
    {body}
def f(x):
    return checkpoint(g, x, use_reentrant=False)
def args(): return (torch.ones(3, 4, requires_grad=True),)
"""
RESULTS = {
    "a dict": "return {'a': x @ W, 'b': [x.sin(), (x.cos(), None)]}",
    "a named tuple": "return Pair(x @ W, x.sin())",
    "constants": "return {'n': Pair(x @ W, 3), 's': 'text', 'z': [x.sin(), None, 2.5]}",
    "one tensor twice": "y = x @ W; return y, [y]",
}
SHARED = {
    "one list twice": "y = [x @ W]; return y, y",
    "a list in two places": "y = [x @ W]; return {'a': y, 'b': (y, x.sin())}",
    "a dict that is there": "return x @ W, L",
}


@BACKENDS
@pytest.mark.parametrize("body", RESULTS)
def test_a_structure_comes_back_in_one_graph(body, backend):
    tolerance = 1e-6 if backend else 0.0
    check_source(PROGRAM.format(body=RESULTS[body]), calls=5, breaks=0, backend=backend, tolerance=tolerance)


@pytest.mark.parametrize("body", SHARED)
def test_a_container_that_is_shared_is_one_object(body):
    check_source(PROGRAM.format(body=SHARED[body]), calls=5)


@BACKENDS
def test_an_operator_that_takes_functions_stands_in_a_checkpoint(backend):
    # eagerly torch's own compiler traces the function, and would import the module whose globals it reads
    body = "q, w = x.detach()[None, None], W; y = flex_attention(q, q, q, score_mod=lambda s, b, h, i, j: s * w[i, j]); return x @ W + y[0, 0]"
    tolerance = 1e-6 if backend else 0.0
    check_source(PROGRAM.format(body=body), calls=5, breaks=0, backend=backend, tolerance=tolerance)
