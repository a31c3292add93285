"""Equal layers that do more than compute: what is repeated, and what is traced again, does what eager does."""

import pytest
import torch
from tests.end_to_end.repeated_effects import KINDS, Effects
from tests.end_to_end.repeated_programs import Stack, run
from tests.end_to_end.support import check
from torch import nn

from framesmith import frontend

X = torch.randn(5, 6)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("backend", [None, "aot_eager"])
def test_layers_do_what_they_do_eagerly(kind, backend):
    check(run, Effects(kind), X.clone(), backend=backend)


@pytest.mark.parametrize("kind", KINDS)
def test_layers_with_a_gradient_of_their_input(kind):
    check(run, Effects(kind), X.clone().requires_grad_())


@pytest.mark.parametrize("kind", ["decides_on_a_size", "returns_a_tuple", "splits", "batch_norm"])
@pytest.mark.parametrize("dynamic", [None, True, False])
def test_other_sizes_of_the_batch(kind, dynamic):
    model = Effects(kind).eval()
    compiled = frontend.compile(model.forward, backend="eager", dynamic=dynamic)
    for size in (5, 4, 3, 1, 2, 7):
        x = torch.randn(size, 6)
        for one, other in zip(compiled(x), model.forward(x), strict=True):
            assert str(one) == str(other)


def test_no_grad_around_some_layers():
    def mixed(model, x):
        with torch.no_grad():
            for layer in model.layers[:3]:
                x = layer(x)
        for layer in model.layers[3:]:
            x = layer(x)
        return x

    check(mixed, Stack(6), X.clone())


def test_layers_called_twice_and_in_another_order():
    def twice(model, x):
        for layer in (*model.layers, *reversed(model.layers)):
            x = layer(x)
        return x

    check(twice, Stack(3), X.clone())


def test_a_layer_that_is_changed_midway():
    def changing(model, x):
        x = model.layers[0](model.layers[1](x))
        model.layers[1].scale = 3.0
        model.layers[2].flag = True
        for layer in model.layers:
            x = layer(x)
        return x

    check(changing, Stack(4), X.clone())


def test_a_weight_of_another_layer_as_an_argument():
    def crossing(model, x):
        for layer in model.layers:
            x = layer(x)
        return x + model.layers[1].norm(model.layers[2].norm.weight)

    check(crossing, Stack(4), X.clone())


def test_an_error_inside_a_repeated_layer_is_that_of_eager():
    check(run, Effects("raises"), torch.randn(2, 5, 6))


@pytest.mark.parametrize("place", [0, 1, 3])
def test_data_that_one_layer_refuses_raises_what_eager_raises(place):
    seen = []

    def spoil(model, x):
        seen.append(1)
        model.layers[place].rows[0] = 99 if len(seen) > 2 else 1

    def noted(model, x):
        model.notes.append("begins")
        y = model(x)
        model.notes.append("ends")
        return y

    model = Effects("looks_up")
    model.notes = []
    check(noted, model, X.clone(), change=spoil, calls=4)


class ReadsANumber(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.register_buffer("count", torch.tensor(0))

    def forward(self, x):
        return x * 2 if self.count.item() > 0 else x + 1


class WritesIt(ReadsANumber):
    def forward(self, x):
        y = super().forward(x)
        self.count.add_(1)
        return y


class Thrice(nn.Module):
    def __init__(self, kind) -> None:
        super().__init__()
        self.part, self.other = kind(), kind()

    def forward(self, x):
        return self.part(self.other(self.part(x)))


@pytest.mark.parametrize("kind", [ReadsANumber, WritesIt])
@pytest.mark.parametrize("capture", [False, True])
def test_a_number_that_a_layer_reads_out_of_a_tensor_is_read_by_each_call(kind, capture) -> None:
    eager, net = Thrice(kind), Thrice(kind)
    compiled = frontend.compile(lambda x: net(x), backend="eager")
    with frontend.config.patch(capture_scalar_outputs=capture):
        for call in range(4):
            for model in (eager, net):
                model.part.count.fill_(call % 2)
            assert torch.equal(compiled(torch.ones(2)), eager(torch.ones(2)))
            assert torch.equal(net.part.count, eager.part.count)


class Asks(nn.Module):
    """Does what torch would ask of a subclass."""

    def __init__(self):
        super().__init__()
        self.linear = nn.Linear(6, 6)

    def forward(self, x):
        return self.linear(x) + (2 if torch._C._is_torch_function_enabled() else 1)


class HalfAsked(nn.Module):
    """The second of two equal layers runs where no subclass is asked."""

    def __init__(self):
        super().__init__()
        torch.manual_seed(0)
        self.layers = nn.ModuleList(Asks() for _ in range(3))

    def forward(self, x):
        x = self.layers[1](self.layers[0](x))
        with torch._C.DisableTorchFunctionSubclass():
            return self.layers[2](x)


def test_layers_where_no_subclass_is_asked():
    check(HalfAsked.forward, HalfAsked(), X.clone())


class Counting(nn.Module):
    """Changes itself at each call."""

    def __init__(self):
        super().__init__()
        self.linear = nn.Linear(6, 6)
        self.calls = 0

    def forward(self, x):
        self.calls += 1
        return self.linear(x) * self.calls


def test_many_layers_that_change_themselves():
    torch.manual_seed(0)
    check(nn.Sequential.forward, nn.Sequential(*(Counting() for _ in range(20))), X.clone())
