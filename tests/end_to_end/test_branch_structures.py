"""Branches of `torch.cond` that give nested structures, and those that torch refuses."""

import pytest
import torch
from tests.end_to_end.children import in_child
from tests.end_to_end.support import check_source

from framesmith import frontend

BACKENDS = pytest.mark.parametrize("backend", [None, "aot_eager"])
SETUP = """
import collections, torch
Pair = collections.namedtuple("Pair", "first second")
torch.manual_seed(0)
def make(torch, collections, Pair, W, V):
    return {branches}
# eagerly torch's own compiler traces the branches, and imports the module whose globals one reads
W = torch.randn(4, 4)
Y, N = make(torch, collections, Pair, W, W.t())
def f(x):
    return torch.cond(x.sum() > 0, Y, N, (x,))
def args(): return (torch.ones(3, 4, requires_grad={gradient}),)
"""
STRUCTURES = {
    "a dict": "lambda x: {'a': x + 1, 'b': [x * 2, (x.sin(),)]}, lambda x: {'a': x - 1, 'b': [x * 3, (x.cos(),)]}",
    "a named tuple": "lambda x: Pair(x + 1, x.sin()), lambda x: Pair(x - 1, x.cos())",
    "an ordered dict": "lambda x: collections.OrderedDict(a=x + 1), lambda x: collections.OrderedDict(a=x * 2)",
    "a default dict": "lambda x: collections.defaultdict(list, a=x + 1), lambda x: collections.defaultdict(list, a=x * 2)",
    "ints": "lambda x: (x + 1, 3), lambda x: (x - 1, 4)",
    "ints in a tuple of a dict": "lambda x: {'a': Pair(x + 1, 3)}, lambda x: {'a': Pair(x - 1, 3)}",
    "of another one": "lambda x: torch.cond(x.max() > 1, lambda x: {'a': x * 2}, lambda x: {'a': x * 3}, (x,)), lambda x: {'a': x - 1}",
    "of a view": "lambda x: {'a': x @ W[1:].t()}, lambda x: {'a': x.sin() @ W[1:].t()}",
}
REFUSED = {
    "other keys": "lambda x: {'a': x + 1}, lambda x: {'b': x - 1}",
    "another class": "lambda x: Pair(x + 1, x * 2), lambda x: (x + 1, x * 2)",
    "a float": "lambda x: (x + 1, 3.5), lambda x: (x - 1, 4.5)",
    "an int for a tensor": "lambda x: (x + 1, 3), lambda x: (x - 1, x * 2)",
    "one tensor twice": "lambda x: (x + 1,) * 2, lambda x: (x.sin(), x.cos())",
    "a view of an operand": "lambda x: {'a': x.t()}, lambda x: {'a': x.t() * 2}",
    "views of one tensor": "lambda x: x @ V + W[1, 1], lambda x: x @ V - W[1, 1]",
    "the operand, written to": "torch.relu_, torch.cos",
    "an effect": "lambda x: [print('yes'), x + 1][1], lambda x: x - 1",
}


@BACKENDS
@pytest.mark.parametrize("name", STRUCTURES)
def test_branches_give_nested_structures(name, backend):
    # torch does not differentiate a branch that gives an int
    source = SETUP.format(branches=STRUCTURES[name], gradient="int" not in name)
    tolerance = 1e-6 if backend else 0.0
    check_source(source, calls=5, breaks=0, backend=backend, tolerance=tolerance, options={"fullgraph": True})


@pytest.mark.parametrize("name", REFUSED)
def test_torch_refuses_what_is_more_than_that(name):
    """Eagerly `torch.cond` compiles its branches, and the text of its error has the frames of that."""
    world: dict[str, object] = {}
    exec(SETUP.format(branches=REFUSED[name], gradient=False), world)

    def refused():
        for function in (world["f"], frontend.compile(world["f"], backend="eager")):
            with pytest.raises(RuntimeError):
                function(torch.ones(3, 4))

    in_child(refused)  # torch leaves a hook in the interpreter when it refuses a branch
