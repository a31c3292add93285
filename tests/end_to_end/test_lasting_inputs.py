"""Which inputs a compiler is told to keep their memory from call to call: parameters and buffers."""

import pytest
import torch
from tests.end_to_end.support import check
from torch import nn
from torch._functorch.aot_autograd import aot_module_simplified
from torch._guards import TracingContext

from framesmith import frontend


class Lasting:
    """A backend of AOTAutograd that notes which inputs it was told to last, by their sizes."""

    def __init__(self) -> None:
        self.sizes = []
        self.others = []

    def __call__(self, module, examples):
        def compiler(graph, inputs):
            metadata = TracingContext.get().fw_metadata
            for number, value in enumerate(examples):
                place = self.sizes if number in metadata.static_input_indices else self.others
                place.append(tuple(value.shape) if isinstance(value, torch.Tensor) else value)
            return lambda *arguments: graph(*arguments)

        return aot_module_simplified(
            module, examples, fw_compiler=compiler, bw_compiler=lambda graph, inputs: graph
        )


class Model(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.linear = nn.Linear(3, 5)
        self.norm = nn.BatchNorm1d(5)
        self.register_buffer("scale", torch.ones(1, 5))
        self.held = torch.ones(7, 5)

    def forward(self, x):
        return self.norm(self.linear(x)) * self.scale + self.held


@pytest.mark.parametrize("training", [False, True])
def test_parameters_and_buffers_last(training: bool) -> None:
    seen = Lasting()
    model = Model().train(training)
    frontend.compile(model, backend=seen)(torch.ones(7, 3))
    assert {(5, 3), (5,), (1, 5)} <= set(seen.sizes)
    assert sorted(set(seen.others)) == [(7, 3), (7, 5)]


def test_marked_tensors_last() -> None:
    seen = Lasting()
    x, y = torch.ones(2, 3), torch.ones(4, 3)
    torch._dynamo.mark_static_address(y, guard=False)
    frontend.compile(lambda x, y: (x + 1, y + 1), backend=seen)(x, y)
    assert (seen.sizes, seen.others) == ([(4, 3)], [(2, 3)])


def test_a_parameter_in_two_places_and_one_that_is_replaced() -> None:
    class Tied(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.one = nn.Linear(4, 4, bias=False)
            self.other = nn.Linear(4, 4, bias=False)
            self.other.weight = self.one.weight
            self.register_buffer("count", torch.zeros(()))

        def forward(self, x):
            self.count.add_(1)
            return self.other(self.one(x)) + self.count

    def replace(x, model):
        model.one.weight = nn.Parameter(model.one.weight.detach() * 2)
        model.count = model.count + 1

    model = Tied()
    check(lambda x, model: model(x), torch.ones(2, 4), model, backend="aot_eager", change=replace)


class Counting(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.register_buffer("count", torch.zeros(()))
        self.weight = nn.Parameter(torch.full((2,), 0.5))


def add_to_a_buffer(model, x):
    model.count += 1
    return (x * model.count).sum()


def write_in_place(model, x):
    y = x * 2
    model.count.add_(y.detach().sum())
    return y * model.count.sin() * model.count.view(1)


def write_through_data(model, x):
    model.weight.data.mul_(2)
    return x * model.weight.detach().sin()


def write_without_gradients(model, x):
    with torch.no_grad():
        model.weight.add_(1)
    return (x * model.weight * 3).exp()


def write_past_the_history(model, x):
    model.weight.detach().mul_(2)
    return x * 2


WRITING = [
    write_past_the_history,
    add_to_a_buffer,
    write_in_place,
    write_through_data,
    write_without_gradients,
]


@pytest.mark.parametrize("backend", [None, "aot_eager", pytest.param("inductor", marks=pytest.mark.inductor)])
@pytest.mark.parametrize("program", WRITING)
def test_gradients_are_those_of_what_the_forward_pass_has_read(program, backend) -> None:
    x = torch.linspace(-1, 1, 2, requires_grad=True)
    check(program, Counting(), x, backend=backend, change=None, tolerance=1e-5)


def test_a_written_buffer_lasts() -> None:
    seen = Lasting()
    norm = nn.BatchNorm1d(5)
    frontend.compile(norm, backend=seen)(torch.ones(7, 5))
    model = Counting()
    frontend.compile(add_to_a_buffer, backend=seen)(model, torch.ones(3))
    assert (seen.sizes.count((5,)), seen.sizes.count(())) == (4, 2)
    frontend.compile(add_to_a_buffer, backend=seen)(model, torch.ones(3, requires_grad=True))
    assert seen.sizes.count(()) == 3
