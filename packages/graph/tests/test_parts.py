"""Where a graph is divided, and that its parts together do what it does."""

import pytest
import torch
from torch import fx
from torch._subclasses.fake_tensor import FakeTensorMode

from framesmith.graph.backends.gradient_buckets import find_borders
from framesmith.graph.backends.parts import PartsCall, _Step
from framesmith.graph.nodes.arguments import EXAMPLE
from framesmith.graph.operations.purity import IMPURE
from framesmith.graph.options import GradientBuckets

WEIGHTS = [torch.nn.Parameter(torch.ones(4, 4)) for _ in range(4)]
SIZE = WEIGHTS[0].numel() * 4


def graph_of(function, **given):
    """Operations and inputs of a function of `x` and the weights, with examples."""
    graph = fx.symbolic_trace(function).graph
    mode, inputs = FakeTensorMode(), {}
    values = dict(zip("abcd", WEIGHTS, strict=True), x=torch.ones(4, 4), **given)
    environment = {}
    for node in graph.nodes:
        if node.op == "placeholder":
            inputs[node] = values[node.target]
            environment[node] = mode.from_tensor(values[node.target])
        elif node.op != "output":
            args = fx.map_arg(node.args, environment.__getitem__)
            with mode:
                own = getattr(args[0], node.target) if node.op == "call_method" else None
                environment[node] = node.target(*args) if own is None else own(*args[1:])
            node.meta[IMPURE] = str(node.target).endswith("_")
        node.meta[EXAMPLE] = environment.get(node)
    return [node for node in graph.nodes if node.op not in ("placeholder", "output")], inputs


def borders(function, first=SIZE, size=SIZE, **given):
    """The operations before which the graph of a function is divided."""
    nodes, inputs = graph_of(function, **given)
    found = find_borders(nodes, inputs, GradientBuckets(frozenset(map(id, WEIGHTS)), first, size))
    return [nodes[place].name for place in found]


def chain(x, a, b, c, d):
    return (((x @ a) @ b) @ c) @ d


def test_each_full_bucket_ends_at_the_first_use_of_its_last_parameter():
    assert borders(chain) == ["matmul_1", "matmul_2", "matmul_3"]
    assert borders(chain, size=2 * SIZE) == ["matmul_1", "matmul_3"]
    assert borders(chain, first=4 * SIZE) == []


def test_what_has_no_parameter_in_front_is_no_part():
    assert borders(lambda x, a: ((x + 1) * 2) @ a) == []


def test_a_parameter_counts_where_it_is_used_first():
    assert borders(lambda x, a, b: ((x @ a) @ b) @ a) == ["matmul_1"]


@pytest.mark.parametrize(
    "function",
    [
        lambda x, a, b: [h := x @ a, h.add_(h @ b)],
        lambda x, a, b: [h := x @ a, v := h[0], h @ b, v.add_(1)],
    ],
)
def test_no_border_is_between_a_value_and_a_write_to_it(function):
    assert borders(function) == []


def test_what_may_raise_is_in_one_part_with_lasting_changes_before_it():
    def changed(x, a, b, s, i):
        s.add_(1)
        return ((x @ a) @ b)[i]

    given = {"s": torch.zeros(1), "i": torch.tensor([0])}
    assert borders(changed, **given) == []
    assert borders(lambda x, a, b, s, i: ((x @ a) @ b)[i], **given) == ["matmul_1"]


def test_the_parts_hand_on_what_is_needed():
    def double(x):
        return [x * 2]

    def add(x, y):
        return (x + y, x - y)

    call = PartsCall("any", [_Step(double, (0,), (2,), ()), _Step(add, (2, 1), (3, 4), (1, 2))], [3, 0, 4])
    assert call(3, 4) == (10, 3, 2) and len(call) == 2
