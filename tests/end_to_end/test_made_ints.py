"""Ints in tensors without dimensions that were made of ints: as sizes and numbers they are known, until the tensor is written to."""

import pytest
import torch
from tests.end_to_end.compare import Comparison
from torch.utils._pytree import tree_map_only

from framesmith import frontend

HALF = 'torch.div(x.size(0), n, rounding_mode="trunc")'
READS = {
    "a size": "x.new_zeros(t), x.view(t, -1)",
    "sizes": "x.new_ones((t, 2, t)), x.new_full((t - 1, n), 2.0)",
    "an int": "x * int(t), int(t - 1), t.item() + 1",
    "a float": "float(t), x",
    "a range": "[x + i for i in range(t)]",
    "a truth": "x + 1 if t else x - 1",
    "an argument": "x.narrow(0, 0, t), x.repeat(t), torch.arange(t)",
    "arithmetic": "x.new_zeros(t * 2 - 1 + t), x.new_zeros((t * t) // 2)",
    "further divisions": 'x.new_zeros(torch.div(t, 2, rounding_mode="floor")), x.new_zeros(t.div(2, rounding_mode="trunc"))',
    "a tensor too": "x.new_zeros(t) * t, t, t + 1, x + t",
    "a factor": "torch.add(x.int().sum(), t, alpha=t - 1)",
}
MAKERS = {
    "trunc": HALF,
    "floor": HALF.replace("trunc", "floor"),
    "method": 'torch.tensor(x.size(0)).div(n, rounding_mode="floor")',
    "tensor": "torch.tensor(x.size(0) // n)",
    "as_tensor": "torch.as_tensor(x.size(0) // n)",
    "int": "torch.tensor(n) + 1",
    "typed": "torch.tensor(n, dtype=torch.int32) + 1",
    "floats": "torch.div(x.size(0), n).long()",
}
WRITES = {
    "nothing": "0",
    "addition": "t.add_(1)",
    "operator": "t.__iadd__(1)",
    "filling": "t.fill_(3)",
    "copying": "t.copy_(x.sum())",
    "a view": "t.view(1).add_(1)",
    "an item": "t.view(1).__setitem__(0, 3)",
    "data": "t.data.add_(1)",
    "a detached alias": "t.detach().add_(1)",
    "memory of numpy": "t.numpy().fill(3)",
    "zeros": "t.zero_()",
    "an output": "torch.add(t, 1, out=t)",
    "lists": "torch._foreach_add_([t], 1)",
    "swapped": "torch.utils.swap_tensors(t, torch.tensor(5))",
    "other data": "setattr(t, 'data', torch.tensor(3))",
    "another memory": "t.set_(torch.tensor(3))",
}


def outcome(function, *args):
    try:
        return function(*args)
    except Exception as error:
        return type(error), str(error)


def both(text, rows, backend="eager", **options):
    """The graphs after these calls, each compared with eager, and the number of breaks."""
    graphs: list[torch.fx.GraphModule] = []

    def counted(module, examples):
        graphs.append(module)
        return module.forward

    function = eval(f"lambda x, n: {text}")
    compiled = frontend.compile(function, backend=counted if backend == "eager" else backend, **options)
    for size, n in rows:
        x = torch.arange(size, dtype=torch.float32)
        # AOTAutograd leaves notes on results of varying size
        found = tree_map_only(torch.Tensor, torch.clone, outcome(compiled, x.clone(), n))
        Comparison().same(outcome(function, x, n), found, f"{text} of {size}, {n}")
    return graphs, frontend.explain(compiled)().break_count


ROWS = [(8, 2), (8, 2), (12, 2), (12, 3), (20, 4), (6, 2)]


@pytest.mark.parametrize("backend", ["eager", "aot_eager"])
@pytest.mark.parametrize("maker", MAKERS)
@pytest.mark.parametrize("read", READS)
def test_an_int_in_a_tensor(read, maker, backend):
    both(f"(lambda t: ({READS[read]}))({MAKERS[maker]})", ROWS, backend)


@pytest.mark.parametrize("write", WRITES)
@pytest.mark.parametrize("maker", ["trunc", "tensor", "int"])
def test_a_write_ends_it(maker, write):
    read = "(int(t), x.new_zeros(t), t.item(), bool(t), t)"
    both(f"(lambda t: ({WRITES[write]}, {read})[1])({MAKERS[maker]})", ROWS)
    both(f"(lambda t: (int(t), {WRITES[write]}, {read})[2])({MAKERS[maker]})", ROWS)
    both(
        f"(lambda t: (lambda u: ({WRITES[write]}, int(u), x.new_zeros(u)))(t + 1)[1:])({MAKERS[maker]})", ROWS
    )


@pytest.mark.parametrize("fullgraph", [True, False])
@pytest.mark.parametrize("maker", ["trunc", "floor", "method", "tensor", "as_tensor"])
@pytest.mark.parametrize(
    "read", ["a size", "sizes", "an int", "an argument", "arithmetic", "further divisions"]
)
def test_sizes_of_any_number_share_a_graph(read, maker, fullgraph):
    rows = [(8, 2), (12, 2), (20, 2), (40, 2)]
    graphs, breaks = both(f"(lambda t: ({READS[read]}))({MAKERS[maker]})", rows, fullgraph=fullgraph)
    assert (len(graphs), breaks) == (2, 0)
    # A number that only the running graph knows is one of these.
    assert not any(node.target == "item" for graph in graphs for node in graph.graph.nodes)


ODD = [(8, 3), (8, -3), (12, 5), (8, 0), (3, 2**62), (3, 2**63 - 1), (8, -1), (8, 2**40), (8, 3)]


@pytest.mark.parametrize("dynamic", [None, True])
@pytest.mark.parametrize("mode", ["trunc", "floor"])
@pytest.mark.parametrize(
    "made", ["x.size(0), n", "n, x.size(0)", "-x.size(0), n", "n * 3, 2", "torch.tensor(n) * 4, 1", "n, n"]
)
def test_what_the_kernel_rounds_otherwise(made, mode, dynamic):
    both(f'(int(torch.div({made}, rounding_mode="{mode}")), x + 1)', ODD, dynamic=dynamic)


def test_blocks_of_a_sequence():
    def f(hidden, window):
        chunks = torch.div(hidden.size(1), window, rounding_mode="trunc") - 1
        parts = hidden.view(
            hidden.size(0), torch.div(hidden.size(1), window * 2, rounding_mode="trunc"), window * 2, -1
        )
        return hidden.new_zeros((hidden.size(0), chunks + 1, window, window * 2 + 1)), parts

    graphs = []
    compiled = frontend.compile(f, backend=lambda g, _: graphs.append(g) or g.forward)
    for size in (8, 16, 24, 48):
        hidden = torch.ones(2, size, 3)
        for found, expected in zip(compiled(hidden, 2), f(hidden, 2), strict=True):
            assert torch.equal(found, expected)
    assert len(graphs) == 2


@pytest.mark.parametrize("count", [40, 400])
def test_sums_of_sums(count):
    def f(x):
        t = torch.tensor(x.size(0))
        for i in range(count):
            t = t + t if i % 10 == 0 else t - 1
        return x + int(t)

    compiled = frontend.compile(f, backend="eager", dynamic=True)
    for size in (500, 600):
        assert torch.equal(compiled(torch.ones(size)), f(torch.ones(size)))
