"""Sizes of tensors that wrap others: symbolic where they differ from call to call, or are marked, as those of plain tensors."""

import pytest
import torch
from tests.end_to_end.wrapper_classes import ASKED, Asked, Quantized, Sized, Tagged, show
from torch._dynamo.backends.debugging import aot_eager
from torch.testing._internal.two_tensor import TwoTensor

from framesmith import frontend

SIZES = (3, 4, 5, 7)


def pair(size, *, grad=False):
    return TwoTensor(torch.randn(size, 2), torch.randn(size, 2)).requires_grad_(grad)


def tagged(size, cls=Tagged):
    return cls(torch.randn(size, 2), "tag")


class Counting:
    """A backend that counts its graphs."""

    def __init__(self, name):
        self.graphs, self.backend = 0, {"eager": lambda module, _: module, "aot_eager": aot_eager}[name]

    def __call__(self, module, inputs):
        self.graphs += 1
        return self.backend(module, inputs)


def run_both(function, make, backend, sizes=SIZES, mark=None, **settings):
    """Call a function eagerly and compiled with equal arguments of each size; the number of graphs."""
    counting = Counting(backend)
    compiled = frontend.compile(function, backend=counting, fullgraph=True, **settings)
    for size in sizes:
        seen = []
        for runs in (function, compiled):
            torch.manual_seed(size)
            args = make(size)
            if mark is not None and size == sizes[0]:
                mark(args[0], 0)
            result = runs(*args)
            if isinstance(result, torch.Tensor) and result.requires_grad:
                result.backward(torch.ones_like(result))
            seen.append((show(result), show(args)))
        assert seen[0] == seen[1], size
    return counting.graphs


def write(x):
    x.add_(1)
    return x * 2


PROGRAMS = {
    "element by element": (lambda x: x.sin() + 1, lambda n: (pair(n),), 2),
    "two of them": (lambda x, y: x @ y.t(), lambda n: (pair(n), pair(n)), 2),
    "with a plain one": (lambda x, y: x * y, lambda n: (pair(n), torch.randn(n, 2)), 2),
    "its size": (lambda x: x.view(-1) * x.shape[0], lambda n: (pair(n),), 2),
    "its tensors": (lambda x: x.a + x.b * x.a.shape[0], lambda n: (pair(n),), 2),
    "gradients": (lambda x: (x.sin() * 2).sum(0), lambda n: (pair(n, grad=True),), 2),
    "a view": (lambda x: x[:, 0] + 1, lambda n: (pair(n),), 2),
    "written": (write, lambda n: (pair(n),), 2),
    "joined": (lambda x, y: torch.cat([x, y]), lambda n: (pair(n), pair(n + 1)), 2),
    "a decision": (lambda x: x + 1 if x.shape[0] > 4 else x - 1, lambda n: (pair(n),), 3),
    "one tensor": (lambda x: x.sin() * x.shape[0], lambda n: (tagged(n),), 2),
    "quantized": (lambda w, x: x @ w.t() + w.shape[0], lambda n: (Quantized.of(torch.randn(n, 2)), torch.randn(3, 2)), 2),
    "in a list": (lambda xs: [one * 2 for one in xs], lambda n: ([pair(n), pair(n + 2)],), 2),
}  # fmt: skip


@pytest.mark.parametrize("backend", ["eager", "aot_eager"])
@pytest.mark.parametrize("name", PROGRAMS)
def test_another_size_is_no_new_graph_each_time(name, backend):
    function, make, graphs = PROGRAMS[name]
    assert run_both(function, make, backend) == graphs


@pytest.mark.parametrize("backend", ["eager", "aot_eager"])
def test_sizes_of_zero_and_one_are_those_of_eager(backend):
    run_both(lambda x: x.sin().sum(0) * x.shape[0], lambda n: (pair(n),), backend, sizes=(3, 4, 1, 0, 9))


@pytest.mark.parametrize("backend", ["eager", "aot_eager"])
@pytest.mark.parametrize("cls", [Tagged, TwoTensor])
@pytest.mark.parametrize(
    "mark", [frontend.mark_dynamic, torch._dynamo.mark_dynamic, torch._dynamo.maybe_mark_dynamic]
)
def test_a_marked_wrapper_is_one_graph(mark, cls, backend):
    make = pair if cls is TwoTensor else tagged
    assert run_both(lambda x: x.sin() * x.shape[0], lambda n: (make(n),), backend, mark=mark) == 1


def test_dynamic_from_the_start_is_one_graph():
    assert run_both(lambda x: x.sin() * x.shape[0], lambda n: (pair(n),), "eager", dynamic=True) == 1


def test_a_static_mark_keeps_the_numbers():
    def mark(x, dim):
        frontend.mark_static(x, dim)

    counting = Counting("eager")
    compiled = frontend.compile(lambda x: x + 1, backend=counting)
    for size in SIZES:
        x = pair(size)
        mark(x, 0)
        assert show(compiled(x)) == show(x + 1)
    assert counting.graphs == len(SIZES)


def test_guards_on_symbolic_sizes_ask_no_class():
    compiled = frontend.compile(lambda x: x.sin() * 2, backend="eager", fullgraph=True)
    for size in (3, 4, 5, 6):
        seen = []
        for runs in (lambda x: x.sin() * 2, compiled):
            x = Asked(torch.arange(2.0 * size).view(size, 2), "tag")
            ASKED.clear()
            result = runs(x)
            seen.append((list(ASKED), show(result)))
        # while a new size is traced torch asks for metadata
        assert seen[0][1] == seen[1][1] and (size < 5 or seen[0][0] == seen[1][0])


def test_a_class_that_keeps_the_size_of_its_context_has_plain_sizes():
    graphs = run_both(lambda x: x.sin(), lambda n: (tagged(n, Sized),), "eager")
    assert graphs == len(SIZES)


def test_a_constant_that_changes_is_a_graph_each():
    def make(number):
        return (Tagged(torch.ones(3), number),)

    assert run_both(lambda x: (x.sin(), x.tag), make, "eager", sizes=(3, 4, 5)) == 3


def test_a_parameter_that_wraps_others_has_plain_sizes():
    class Linear(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.weight = torch.nn.Parameter(Quantized.of(torch.randn(4, 2)), requires_grad=False)

        def forward(self, x):
            return torch.nn.functional.linear(x, self.weight)

    module, counting = Linear(), Counting("aot_eager")
    compiled = frontend.compile(module, backend=counting, fullgraph=True)
    for size in SIZES:
        x = torch.randn(size, 2)
        assert torch.equal(compiled(x), Linear.forward(module, x))
    assert counting.graphs == 2


@pytest.mark.parametrize("backend", ["eager", "aot_eager"])
def test_a_result_over_the_memory_of_a_wrapper_of_slices_is_there(backend):
    def run(x):
        return x.detach().add_(x.shape[0]).mul_(2)

    compiled = frontend.compile(run, backend=backend)
    for size in SIZES:
        seen = []
        for runs in (run, compiled):
            memory = torch.arange(4.0 * (size + 2)).view(size + 2, 4)
            x = TwoTensor(memory[1 : size + 1, :2], (memory * 3)[1 : size + 1, :2])
            result = runs(x)
            seen.append((show(result), show(x), result.a.data_ptr() == x.a.data_ptr(), memory.tolist()))
        assert seen[0] == seen[1], size
