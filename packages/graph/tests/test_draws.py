"""The generator goes back to where it stood before a graph that raised."""

import pytest
import torch
from torch import fx

from framesmith.graph.running.draws import Draws

TABLE = torch.arange(4.0)


def graph_of(function):
    return fx.symbolic_trace(function).graph


def draw_and_index(x, index):
    return torch.rand_like(x) + torch.index_select(x, 0, index)


def draw_alone(x, index):
    return torch.rand_like(x) + x


def index_alone(x, index):
    return torch.index_select(x, 0, index) + x


def raising(*values):
    torch.rand(3)
    raise IndexError("in the midst")


def test_what_was_drawn_is_taken_back():
    draws = Draws()
    call = draws.watch(raising, graph_of(draw_and_index))
    before = torch.get_rng_state()
    with pytest.raises(IndexError, match="in the midst"):
        call()
    assert not torch.equal(torch.get_rng_state(), before)  # the error may go on as it is
    draws.take_back()
    assert torch.equal(torch.get_rng_state(), before)


@pytest.mark.parametrize("function", [draw_alone, index_alone])
def test_a_graph_that_draws_nothing_or_cannot_raise_is_called_as_it_is(function):
    assert Draws().watch(raising, graph_of(function)) is raising


def test_nothing_is_taken_back_where_nothing_raised():
    before = torch.get_rng_state()
    torch.rand(1)
    after = torch.get_rng_state()
    Draws().take_back()
    assert torch.equal(torch.get_rng_state(), after) and not torch.equal(before, after)
