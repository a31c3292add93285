"""Tensors that wrap others and are made by the compiled function: part of its graph, and the same as in eager."""

import pytest
import torch
from tests.end_to_end.support import check
from tests.end_to_end.wrapper_classes import Quantized, Tagged, show
from torch.testing._internal.two_tensor import TwoTensor

from framesmith import frontend

MADE: list[str] = []


class Noted(Tagged):
    """Notes that it is made."""

    def __init__(self, elem, tag):
        MADE.append(f"{type(self).__name__} {tag}")
        super().__init__(elem, tag)


class Limited(Tagged):
    """Holds more constants than its context tells."""

    def __init__(self, elem, tag):
        super().__init__(elem, tag)
        self.limits = None


class Escaping(Tagged):
    """Is known elsewhere before it is complete."""

    ALL: list[torch.Tensor] = []

    def __init__(self, elem, tag):
        self.ALL.append(self)
        super().__init__(elem, tag)


def made_of_products(a, b):
    return TwoTensor(a * 2, b).sin() + 1


def parts_of_result(a, b):
    pair = TwoTensor(a.sin(), b) * 2
    return pair.a + 1, pair.b, pair.shape


def identity_of_parts(a, b):
    pair = TwoTensor(a, b)
    return pair, pair.a is a, pair.b is a, type(pair).__name__, isinstance(pair, torch.Tensor)


def written_in_place(a, b):
    pair = TwoTensor(a, b)
    pair.add_(1)
    return a + 0, b * 2


def written_and_returned(a, b):
    pair = TwoTensor(a, b)
    pair.mul_(3)
    return pair


def nested(a, b):
    return TwoTensor(TwoTensor(a, b), TwoTensor(b, a)) * 2


def with_tag(a, b):
    tagged = Tagged(a + b, "tag").cos()
    return tagged, tagged.tag, tagged.elem * 2


def with_effects(a, b):
    noted = Noted(a, "one")
    return noted, Noted(b, "two").tag, list(MADE)


def quantized(a, b):
    weight = Quantized.of(b)
    return torch.nn.functional.linear(a, weight), weight.dequantize(), weight.data_int8


def swapped(a, b):
    pair = TwoTensor(a, b)
    return TwoTensor(pair.b, pair.a) + pair


def of_its_size(a, b):
    pair = TwoTensor(a, b)
    return pair.view(-1) * pair.shape[0], pair.numel()


PROGRAMS = (
    made_of_products,
    parts_of_result,
    identity_of_parts,
    written_in_place,
    written_and_returned,
    nested,
    with_tag,
    quantized,
    swapped,
    of_its_size,
)


def run_both(function, make, backend="eager", *, full=True, sizes=(3, 4, 5, 1, 3)):
    compiled = frontend.compile(function, backend=backend, fullgraph=full)
    for size in sizes:
        seen = []
        for runs in (function, compiled):
            torch.manual_seed(size)
            MADE.clear()
            args = make(size)
            seen.append((show(runs(*args)), show(args), list(MADE)))
        assert seen[0] == seen[1], size


def operands(size, *, grad=False):
    return torch.randn(size, 2, requires_grad=grad), torch.randn(size, 2, requires_grad=grad)


@pytest.mark.parametrize("backend", ["eager", "aot_eager"])
@pytest.mark.parametrize("function", PROGRAMS, ids=lambda one: one.__name__)
def test_the_wrapper_is_part_of_the_graph(function, backend):
    run_both(function, operands, backend)


def test_a_new_size_is_no_new_graph_each_time():
    report = check(
        lambda a, b: TwoTensor(a, b) * 2, torch.ones(3), torch.ones(3), calls=3, graphs=1, breaks=0
    )
    assert not report.recompiles
    counts = []

    def backend(module, inputs):
        counts.append(module)
        return module

    compiled = frontend.compile(lambda a, b: TwoTensor(a, b) * 2, backend=backend, fullgraph=True)
    for size in (3, 4, 5, 7):
        compiled(*operands(size))
    assert len(counts) == 2


def test_effects_of_the_constructor_happen_once():
    run_both(with_effects, operands)


def holds_more(a, b):
    limited = Limited(a, "tag")
    return limited * 2, limited.limits


def keeps_a_note(a, b):
    tagged = Tagged(a, "tag")
    tagged.note = b
    return tagged * 2


def requires_gradient(a, b):
    return (Tagged(a, "tag") * b).sum()


def holds_a_list(a, b):
    return Tagged(a, [1, 2]) * 2


def tuple_of_result(a, b):
    return (Tagged(a, (1, 2)) * 2).tag, (Tagged(b, "tag") * 2).tag


def escapes(a, b):
    made = Escaping(a, "tag")
    return made, Escaping.ALL.pop() is made


def by_no_call(a, b):
    made = Tagged.__new__(Tagged, a, "tag")
    made.elem, made.tag = a, "late"
    return made * 2


@pytest.mark.parametrize("grad", [False, True])
@pytest.mark.parametrize(
    "function",
    [
        holds_more,
        keeps_a_note,
        tuple_of_result,
        requires_gradient,
        holds_a_list,
        escapes,
        by_no_call,
        nested,
        swapped,
    ],
)
def test_what_is_no_node_is_as_in_eager(function, grad):
    run_both(function, lambda size: operands(size, grad=grad), full=False)


def test_a_mistake_in_the_constructor_is_that_of_eager():
    def run(a, b):
        try:
            return TwoTensor(a, b)
        except Exception as error:
            return str(error), type(error).__name__

    run_both(run, lambda size: (torch.ones(size, 2), torch.ones(2, size + 1)), full=False)
    run_both(run, lambda size: (torch.ones(size), torch.ones(size, dtype=torch.int64)), full=False)


def test_a_tuple_that_torch_put_into_a_result_is_read_natively():
    def run(x):
        return (x * 2).tag

    run_both(run, lambda size: (Tagged(torch.ones(size), (1, 2)),), full=False)


def test_a_wrapper_that_is_not_complete_breaks_the_graph():
    def run(x):
        x.elem, x.tag = torch.ones(2), "tag"
        return x * 2

    run_both(run, lambda size: (Tagged.__new__(Tagged, torch.ones(2), "tag"),), full=False)
