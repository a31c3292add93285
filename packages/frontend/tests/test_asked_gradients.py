"""`framesmith.frontend.tracing.asked_gradients`: where a trace stops whose result gets a hook."""

from types import SimpleNamespace

import pytest
import torch
from torch import fx

from framesmith.frontend.tracing.asked_gradients import check_asked_gradients
from framesmith.frontend.tracing.replanning import Restart
from framesmith.graph.nodes.arguments import EXAMPLE
from framesmith.graph.running.failures import STEP


def context(*users, runs_as_captured=False, asked=True):
    """A graph with `y = x * 2`, made at step 1, and uses of y: pairs of a step and the value of the use."""
    graph = fx.Graph()
    x = graph.placeholder("x")
    y = graph.call_method("mul", (x, 2))
    y.meta.update({STEP: (1, 0), EXAMPLE: torch.ones(2, requires_grad=True) * 2})
    for step, value in users:
        graph.call_method("sin", (y,)).meta.update({STEP: (step, 0), EXAMPLE: value(y.meta[EXAMPLE])})
    return SimpleNamespace(
        graph=SimpleNamespace(runs_as_captured=runs_as_captured),
        changes=SimpleNamespace(asked_gradients=[y] if asked else []),
    )


def test_a_trace_stops_before_the_first_use():
    with pytest.raises(Restart) as raised:
        check_asked_gradients(context((5, torch.sin), (3, torch.cos)))
    assert raised.value.stop.step == 3


@pytest.mark.parametrize(
    "tx",
    [
        context(),
        context((3, torch.sin), asked=False),
        context((3, torch.sin), runs_as_captured=True),
        context((3, torch.detach)),
        context((3, lambda y: y)),
    ],
    ids=["unused", "not asked for", "captured operations", "a use without history", "changed in place"],
)
def test_a_trace_goes_on(tx):
    check_asked_gradients(tx)
