"""The generator goes back to where it stood before a graph that raised."""

import pytest
import torch
from torch import fx

from framesmith.graph.running.draws import Draws

TABLE = torch.arange(4.0)


def module_of(function):
    return fx.symbolic_trace(function)


def draw_and_index(x, index):
    return torch.rand_like(x) + torch.index_select(x, 0, index)


def draw_and_need_a_kernel(x, index):
    return torch.rand_like(x) + torch.gcd(x, x)


def draw_into_a_tensor(x, index):
    return x.clone().uniform_() + index


class DrawsInside(torch.nn.Module):
    """Calls a graph that draws."""

    def __init__(self):
        super().__init__()
        self.inner = module_of(draw_into_a_tensor)

    def forward(self, x, index):
        return self.inner(x, index)


def nest_a_draw():
    tracer = fx.Tracer()
    tracer.is_leaf_module = lambda module, name: True
    root = DrawsInside()
    return fx.GraphModule(root, tracer.trace(root))


def index_alone(x, index):
    return torch.index_select(x, 0, index) + x


def raising(*values):
    torch.rand(3)
    raise IndexError("in the midst")


def test_what_was_drawn_is_taken_back():
    draws = Draws()
    call = draws.watch(raising, module_of(draw_and_index))
    before = torch.get_rng_state()
    with pytest.raises(IndexError, match="in the midst"):
        call()
    assert not torch.equal(torch.get_rng_state(), before)  # the error may go on as it is
    draws.take_back()
    assert torch.equal(torch.get_rng_state(), before)


@pytest.mark.parametrize("function", [draw_and_index, draw_and_need_a_kernel, draw_into_a_tensor])
def test_the_state_is_kept_whichever_operation_raises(function):
    assert Draws().watch(raising, module_of(function)) is not raising


def test_the_state_is_kept_for_a_graph_that_draws_inside_of_another():
    assert Draws().watch(raising, nest_a_draw()) is not raising


def test_a_graph_that_draws_nothing_is_called_as_it_is():
    assert Draws().watch(raising, module_of(index_alone)) is raising


def test_nothing_is_taken_back_where_nothing_raised():
    before = torch.get_rng_state()
    torch.rand(1)
    after = torch.get_rng_state()
    Draws().take_back()
    assert torch.equal(torch.get_rng_state(), after) and not torch.equal(before, after)
