"""The guards of equal layers in one loop: an entry serves exactly the calls that it serves with guards one by one."""

import copy
import gc
import weakref
from types import FunctionType

import pytest
import torch
from tests.end_to_end.repeated_programs import CHANGES, SCALE, Layer, Stack
from torch import nn

from framesmith import frontend
from framesmith.frontend.api import session_of
from framesmith.guards import Member, families, first_failure

COUNT = 24


@pytest.fixture(autouse=True)
def plain_globals():
    SCALE[0] = 1.0
    yield
    SCALE[0] = 1.0


def entries_of(compiled):
    return session_of(compiled).units()[0].dispatcher.entries


def has_loop(compiled):
    held = [cell.cell_contents for cell in entries_of(compiled)[0].code.guarded.cells.values()]
    return any("__fs_roots" in one.__code__.co_varnames for one in held if isinstance(one, FunctionType))


def outcome(function, x):
    """What a call returns, or the type of what it raises."""
    try:
        return function(x)
    except RuntimeError as error:
        return type(error)


def serves_one_by_one(compiled, *values):
    """Whether the guards of an entry hold, each checked by itself."""
    unit = session_of(compiled).units()[0]
    scope = unit._scope_of(values)
    return any(first_failure(entry.guards, scope) is None for entry in unit.dispatcher.entries)


@pytest.mark.parametrize("change", CHANGES)
def test_a_layer_of_many_is_changed_and_changed_back(change, monkeypatch):
    monkeypatch.setattr(families, "_FEWEST_GUARDS", 0)
    x = torch.randn(4, 6)
    model = Stack(COUNT)
    layers = [*model.layers]
    compiled = frontend.compile(lambda x: model(x), backend="eager")

    def call():
        count, serves = len(entries_of(compiled)), serves_one_by_one(compiled, x)
        expected, found = outcome(model, x), outcome(compiled, x)
        assert torch.equal(found, expected) if isinstance(expected, torch.Tensor) else found is expected
        assert (len(entries_of(compiled)) == count) is serves

    call()
    assert has_loop(compiled)
    model.layers[11] = copy.deepcopy(layers[11])
    torch.manual_seed(1)
    CHANGES[change](model, 11)
    call()
    SCALE[0] = 1.0
    model.layers = nn.ModuleList(layers)
    assert serves_one_by_one(compiled, x)
    call()


def test_text_of_many_layers_is_that_of_few():
    sizes = []
    for count in (10, 48):
        model = Stack(count)
        function = frontend.compile(model, backend="eager")
        with torch.no_grad():
            function(torch.randn(4, 6))
        (entry,) = entries_of(function)
        assert any(isinstance(item, Member) for item in entry.guards.items)
        sizes.append(len(entry.code.guarded.code.co_code) + len(entry.source))
    assert sizes[1] < 1.5 * sizes[0]  # what each layer shares with the first is compared one by one


def test_a_reason_names_the_layer():
    model = Stack(COUNT)
    function = frontend.compile(model, backend="eager")
    function(torch.randn(4, 6))
    model.layers[17].first.bias = None
    function(torch.randn(4, 6))
    (reason,) = frontend.explain(function)().recompiles
    assert "self.layers.17.first" in reason


def test_guards_in_a_report_are_those_of_each_layer():
    model = Stack(COUNT)
    function = frontend.compile(model, backend="eager")
    function(torch.randn(4, 6))
    guards = frontend.explain(function)().guards
    assert all(any(f"self.layers.{place}.second" in guard for guard in guards) for place in range(COUNT))


def test_nothing_of_the_model_is_kept():
    model = Stack(COUNT)
    function = frontend.compile(model, backend="eager")
    function(torch.randn(4, 6))
    watched = [weakref.ref(model.layers[place].first.weight) for place in (0, 9, COUNT - 1)]
    gc.disable()
    try:
        del model, function
        assert all(one() is None for one in watched)
    finally:
        gc.enable()


def test_models_of_one_class_share_an_entry_with_a_loop():
    models = [Stack(COUNT) for _ in range(3)]
    functions = [frontend.compile(model, backend="eager") for model in models]
    before = frontend.counters["stats"]["entries"]
    x = torch.randn(4, 6)
    for function, model in zip(functions, models, strict=True):
        for layer in model.layers:
            layer.second.weight.data.normal_()
        assert torch.equal(function(x), Stack.forward(model, x))
    assert frontend.counters["stats"]["entries"] == before + 1
    models[1].layers[5].flag = True
    for function, model in zip(functions, models, strict=True):
        assert torch.equal(function(x), Stack.forward(model, x))
    assert frontend.counters["stats"]["entries"] == before + 2


def test_gradients_reach_the_parameters_of_each_layer():
    model = Stack(COUNT)
    twin = copy.deepcopy(model)
    function = frontend.compile(model, backend="aot_eager")
    x = torch.randn(4, 6)
    for _ in range(2):
        function(x).sum().backward()
        twin(x).sum().backward()
    for one, other in zip(model.parameters(), twin.parameters(), strict=True):
        assert torch.allclose(one.grad, other.grad)


class Writing(Layer):
    """A layer whose graph writes to a buffer."""

    def forward(self, x):
        self.mask.mul_(1.01)
        return super().forward(x)


def test_layers_that_write_to_a_buffer():
    model = Stack(0)
    model.layers.extend(Writing() for _ in range(COUNT))
    twin = copy.deepcopy(model)
    function = frontend.compile(model, backend="aot_eager")
    with torch.no_grad():
        for _ in range(3):
            x = torch.randn(4, 6)
            assert torch.allclose(function(x), twin(x))
            model.layers[3].mask.add_(1.0)
            twin.layers[3].mask.add_(1.0)
        assert all(
            torch.equal(one, other) for one, other in zip(model.buffers(), twin.buffers(), strict=True)
        )
        for each in (model, twin):
            each.layers[4].mask = each.layers[5].mask
        assert torch.allclose(function(x), twin(x))
    assert torch.equal(model.layers[5].mask, twin.layers[5].mask)
