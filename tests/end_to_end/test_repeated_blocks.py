"""Calls of equal layers repeat what the first one recorded: whatever differs in one layer, results are those of eager."""

import pytest
import torch
from tests.end_to_end.repeated_programs import CHANGES, SCALE, Stack, run
from tests.end_to_end.support import check
from torch import nn

from framesmith import frontend


@pytest.fixture(autouse=True)
def plain_globals():
    SCALE[0] = 1.0
    yield
    SCALE[0] = 1.0


X = torch.randn(4, 6)


def repeats(model, *args, backend="eager"):
    """How many calls one compilation repeated."""
    before = frontend.counters["stats"]["repeated_blocks"]
    frontend.compile(model, backend=backend)(*args)
    return frontend.counters["stats"]["repeated_blocks"] - before


def test_equal_layers_are_traced_once():
    assert repeats(Stack(5), X.clone().requires_grad_()) >= 3  # the first one gets a leaf


def test_hundred_linear_layers_in_a_loop_are_traced_once():
    model = nn.Sequential(*(nn.Linear(6, 6) for _ in range(100)))
    assert repeats(model, X) == 98  # the first input requires no gradient


def test_nothing_is_repeated_when_the_switch_is_off():
    with frontend.config.patch(reuse_blocks=False):
        assert repeats(Stack(5), X) == 0


@pytest.mark.parametrize("change", CHANGES)
@pytest.mark.parametrize("place", [0, 2])
def test_a_layer_that_differs_from_the_start(change, place):
    model = Stack()
    torch.manual_seed(1)
    CHANGES[change](model, place)
    check(run, model, X)


@pytest.mark.parametrize("change", CHANGES)
@pytest.mark.parametrize("place", [0, 2])
def test_a_layer_that_is_changed_between_calls(change, place):
    calls = []

    def once(model, x):
        calls.append(1)
        if len(calls) <= 2:  # each world once
            torch.manual_seed(1)
            CHANGES[change](model, place)

    check(run, Stack(), X, change=once, calls=4)


def seen_by_backend(model, *args, on):
    """The graph that a backend sees, with its metadata, and the guards of the entry."""
    nodes = []

    def backend(module, examples):
        nodes.extend(map(described, module.graph.nodes))
        return module.forward

    with frontend.config.patch(reuse_blocks=on):
        compiled = frontend.compile(model, backend=backend)
        compiled(*args)
        return nodes, sorted(frontend.explain(compiled)().guards)


def described(node):
    value, shape = node.meta.get("example_value"), None
    if isinstance(value, torch.Tensor):
        shape = value.dtype, value.shape, value.stride(), value.requires_grad, value.is_leaf, value._is_view()
    return (
        node.op,
        node.name,
        str(node.target),
        str(node.args),
        str(node.kwargs),
        str(shape),
        node.meta.get("stack_trace"),
    )


def computed(nodes):
    """All but the output node, and the values kept for an operation that raises: a repetition keeps fewer of them."""
    return [node for node in nodes[:-1] if node[2] != "detach"]


def test_a_backend_sees_the_operations_that_it_saw_before():
    repeated, traced = (computed(seen_by_backend(Stack(), X, on=on)[0]) for on in (True, False))
    assert repeated == traced
    assert len(repeated) > 10


def test_guards_are_those_of_a_trace_of_each_layer():
    repeated, traced = (set(seen_by_backend(Stack(), X, on=on)[1]) for on in (True, False))
    assert repeated <= traced
    assert all(
        guard.endswith("is there") for guard in traced - repeated
    )  # the guard on its identity reads it
