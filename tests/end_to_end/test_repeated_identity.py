"""Equal layers that look at one of them, or ask which of them they are, do what they do in eager."""

import operator
import weakref

import pytest
import torch
import torch.nn.functional as F
from tests.end_to_end.support import check
from torch import nn

from framesmith import frontend


class Layer(nn.Module):
    """`layers`, `one`: where all of them and one of them are at hand."""

    layers: list[nn.Module]
    one: nn.Module

    def __init__(self, ask):
        super().__init__()
        self.a = nn.Linear(3, 3)
        self.register_buffer("count", torch.rand(3))
        self.ask = ask

    def forward(self, x, all_of_them, place):
        return self.a(x) * 0.5 + self.ask(self, x, all_of_them, place)


def is_it(layer, x, layers, place):
    return 2 if layer is layers[place] else 1


def is_in(layer, x, layers, place):
    return 2 if layer in [layers[place]] else 1


def index_of(layer, x, layers, place):
    return list(layers).index(layer)


def part_is(layer, x, layers, place):
    return 2 if layer.a.weight is layers[place].a.weight else 1


def equals(layer, x, layers, place):
    return 2 if layer == layers[place] or layer.a.__eq__(layers[place].a) is True else 1


def method_equals(layer, x, layers, place):
    return 2 if layer.forward == layers[place].forward else 1


def number_of(layer, x, layers, place):
    return 2 if id(layer) == id(layers[place]) else 1


def operator_is(layer, x, layers, place):
    return 2 if operator.is_(layers[place], layer) else 1


def key_of(layer, x, layers, place):
    return {one: number for number, one in enumerate(layers)}[layer]


def in_a_set(layer, x, layers, place):
    return 2 if layer.a in {one.a for one in list(layers)[place : place + 1]} else 1


def selected(layer, x, layers, place):
    return 2 if [one for one in layers if one is layer] == [layers[place]] else 1


def weak(layer, x, layers, place):
    return 2 if weakref.ref(layer)() is layers[place] else 1


def names_of(layer, x, layers, place):
    return 2 if layer._modules is layers[place]._modules else 1


def weight_of_one(layer, x, layers, place):
    return F.linear(x, layers[place].a.weight)


def buffer_of_one(layer, x, layers, place):
    return layers[place].count


def call_of_one(layer, x, layers, place):
    return layers[place].a(x)


def write_to_one(layer, x, layers, place):
    layers[place].count.add_(1)
    return layer.count


def of_the_class(layer, x, layers, place):
    return layer.count * 2 + type(layer).one.count if layer is not Layer.layers[place] else layer.count


def by_name(layer, x, layers, place):
    return getattr(layers, str(place)).count


def of_a_parameter_list(layer, x, layers, place):
    return [*layers.parameters()][2 * place].sum()


ASKS = [
    is_it, is_in, index_of, part_is, equals, method_equals, number_of, operator_is, key_of, in_a_set, selected, weak, names_of,
    weight_of_one, buffer_of_one, call_of_one, write_to_one, of_the_class, by_name, of_a_parameter_list,
]  # fmt: skip


def make(ask):
    torch.manual_seed(0)
    layers = nn.ModuleList(Layer(ask) for _ in range(5))
    return layers


def run(layers, x, place):
    Layer.layers, Layer.one = [*layers], layers[place]
    for layer in layers:
        x = layer(x, layers, place)
    return x


@pytest.mark.parametrize("ask", ASKS)
def test_layers_given_as_an_argument(ask):
    for place in range(4):
        check(run, make(ask), torch.ones(2, 3), place, calls=2)


@pytest.mark.parametrize("ask", [ask for ask in ASKS if ask is not of_the_class])
def test_layers_in_a_closure(ask):
    def closed(place):
        layers = make(lambda layer, x, given, number: ask(layer, x, layers, place))

        def function(x):
            for layer in layers:
                x = layer(x, None, None)
            return x

        return function

    for place in range(4):
        eager, compiled = closed(place), frontend.compile(closed(place), backend="eager")
        for _ in range(2):
            assert torch.equal(compiled(torch.ones(2, 3)), eager(torch.ones(2, 3)))


@pytest.mark.parametrize("ask", [is_it, part_is, weight_of_one, buffer_of_one])
def test_layers_that_hold_their_neighbours(ask):
    class Linked(Layer):
        def forward(self, x, others, place):
            return super().forward(x, self.__dict__["others"], place)

    def linked():
        layers = make(ask)
        for layer in layers:
            layer.__class__ = Linked
            layer.__dict__["others"] = [*layers]
        return layers

    for place in range(4):
        check(run, linked(), torch.ones(2, 3), place, calls=2)


MARK = torch.ones(2, 3)


def test_an_operand_that_is_an_existing_tensor_in_one_call():
    def is_mark(layer, x, layers, place):
        return 2 if x is MARK else 1

    def function(layers, x):
        for number, layer in enumerate(layers):
            x = layer(MARK if number == 3 else x, None, None)
        return x

    check(function, make(is_mark), torch.ones(2, 3), calls=2)


def test_layers_that_look_at_themselves_alone_are_repeated():
    class Own(Layer):
        def forward(self, x):
            return self.a(x) * (2 if self.a.weight is self.a.bias or self is None else 1) + self.count

    def own():
        layers = make(None)
        for layer in layers:
            layer.__class__ = Own
        return nn.Sequential(*layers)

    before = frontend.counters["stats"]["repeated_blocks"]
    model, copy = own(), own()
    model.load_state_dict(copy.state_dict())
    assert torch.equal(frontend.compile(model, backend="eager")(torch.ones(2, 3)), copy(torch.ones(2, 3)))
    assert frontend.counters["stats"]["repeated_blocks"] - before >= 3
