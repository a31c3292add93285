"""Functions that become nodes, questions that fold, switches that are turned in the graph and while tracing."""

import pytest
import torch
import torch.nn.functional as F
from torch_tracing import Trace, same

from framesmith.graph import GraphBreak
from framesmith.variables.builtin_types.lists import ListTracker
from framesmith.variables.core import from_python

X = torch.randn(3, 4)
W = torch.randn(5, 4)
CALLS = [
    (torch.add, ("x", 1), {}),
    (torch.cat, (["x", "x"],), {"dim": 1}),
    (torch.stack, (("x", "x"),), {}),
    (torch.matmul, ("x", "w"), {}),
    (torch.einsum, ("ij,kj->ik", "x", "w"), {}),
    (torch.split, ("x", 2), {}),
    (torch.max, ("x",), {"dim": 1}),
    (torch.zeros, (2, 3), {}),
    (torch.arange, (5,), {"dtype": torch.float32}),
    (torch.tensor, ([1, 2, 3],), {}),
    (torch.tensor, (2.5,), {}),
    (torch.full, ((2, 2), 1.5), {}),
    (torch.fft.rfft, ("x",), {}),
    (torch.linalg.norm, ("x",), {}),
    (torch.special.expit, ("x",), {}),
    (torch.broadcast_shapes, ((3, 1), (1, 4)), {}),
    (torch.numel, ("x",), {}),
    (torch.is_tensor, ("x",), {}),
    (torch.is_tensor, (1,), {}),
    (torch.is_floating_point, ("x",), {}),
    (torch.promote_types, (torch.int32, torch.float16), {}),
    (torch.result_type, ("x", 1), {}),
    (torch.ones_like, ("x",), {}),
    (torch.broadcast_tensors, ("x", 1), {}),
    (torch.is_grad_enabled, (), {}),
    (torch.get_default_dtype, (), {}),
    (torch.cuda.is_available, (), {}),
    (torch.are_deterministic_algorithms_enabled, (), {}),
    (torch.jit.is_scripting, (), {}),
    (torch.device, ("cpu",), {}),
    (torch.overrides.has_torch_function, (("x",),), {}),
    (torch._C._get_flash_sdp_enabled, (), {}),
    (F.relu, ("x",), {}),
    (F.linear, ("x", "w"), {}),
    (F.layer_norm, ("x", (4,)), {}),
    (F.gelu, ("x",), {"approximate": "tanh"}),
    (F.max_pool1d, ("x", 2), {}),
    (F.pad, ("x", (1, 1)), {}),
    (F.cross_entropy, ("x", "i"), {}),
    (F.dropout, ("x",), {"training": False}),
    (F.scaled_dot_product_attention, ("x", "x", "x"), {}),
    (torch.ops.aten.add.Tensor, ("x", "x"), {}),
    (torch.ops.aten.relu, ("x",), {}),
    (torch._C._nn.gelu, ("x",), {}),
]


def operand(trace, value):
    if isinstance(value, str) and value in trace.inputs:
        return getattr(trace, value)
    if isinstance(value, list | tuple):
        built = from_python(trace.tx, type(value)())
        if isinstance(value, list):
            return ListTracker([operand(trace, item) for item in value])
        built.items = tuple(operand(trace, item) for item in value)
        return built
    return from_python(trace.tx, value)


def real(trace, value):
    if isinstance(value, str) and value in trace.inputs:
        return trace.inputs[value]
    return type(value)(real(trace, item) for item in value) if isinstance(value, list | tuple) else value


def flat(tracker):
    items = getattr(tracker, "items", None)
    return [tracker] if items is None or callable(items) else [leaf for item in items for leaf in flat(item)]


def leaves(value):
    return [leaf for item in value for leaf in leaves(item)] if isinstance(value, tuple | list) else [value]


@pytest.mark.parametrize(("function", "args", "kwargs"), CALLS)
def test_a_function_is_as_in_eager(function, args, kwargs):
    w = W if function is F.linear or function is torch.einsum else W.T
    try:
        expected = function(*(real(FakeTrace(w), arg) for arg in args), **kwargs)
    except TypeError:
        expected = TypeError
    with Trace(x=X, w=w, i=torch.tensor([0, 1, 2])) as trace:
        if expected is TypeError:
            with pytest.raises(GraphBreak):
                trace.call(function, *(operand(trace, arg) for arg in args), **kwargs)
            return
        result = trace.call(function, *(operand(trace, arg) for arg in args), **kwargs)
        found = trace.run(*flat(result))
    assert result.python_type is type(expected)
    assert all(map(same, found, leaves(expected)))


class FakeTrace:
    def __init__(self, w):
        self.inputs = {"x": X, "w": w, "i": torch.tensor([0, 1, 2])}


def test_tracing_says_that_it_compiles():
    with Trace() as trace:
        assert trace.call(torch.compiler.is_compiling).as_python_constant() is True


def test_out_is_the_result():
    with Trace(x=X, y=torch.empty(3, 4)) as trace:
        assert trace.call(torch.add, trace.x, 1, out=trace.y) is trace.y
        trace.run()
        assert same(trace.inputs["y"], X + 1)


def test_out_that_is_resized_breaks():
    with Trace(x=X, y=torch.empty(0)) as trace:
        with pytest.raises(GraphBreak):
            trace.call(torch.add, trace.x, 1, out=trace.y)
        assert trace.nodes == []


def test_the_grad_mode_is_turned_in_the_graph():
    x = torch.ones(3, requires_grad=True)
    with Trace(x=x) as trace:
        trace.call(torch._C._set_grad_enabled, False)
        assert trace.call(torch.is_grad_enabled).as_python_constant() is False
        inside = trace.call(torch.mul, trace.x, 2)
        assert inside.attribute(trace.tx, "requires_grad").as_python_constant() is False
        trace.call(torch._C._set_grad_enabled, True)
        outside = trace.call(torch.mul, trace.x, 2)
        first, second = trace.run(inside, outside)
    assert torch.is_grad_enabled()
    assert not first.requires_grad
    assert second.requires_grad


def test_a_switch_that_stays_turned_is_a_change():
    with Trace() as trace:
        trace.call(torch._C._set_grad_enabled, False)
        assert [(setting.name, value) for setting, value in trace.tx.changes.ambient.changes()] == [
            ("is_grad_enabled", False)
        ]
    assert torch.is_grad_enabled()


def test_autocast_is_turned_in_the_graph():
    with Trace(x=X, w=W.T) as trace:
        trace.call(torch.set_autocast_enabled, "cpu", True)
        trace.call(torch.set_autocast_dtype, "cpu", torch.bfloat16)
        result = trace.call(torch.matmul, trace.x, trace.w)
        assert result.attribute(trace.tx, "dtype").as_python_constant() is torch.bfloat16
        trace.call(torch.set_autocast_enabled, "cpu", False)
        assert trace.run(result)[0].dtype is torch.bfloat16
    assert not torch.is_autocast_enabled("cpu")


def test_a_changing_answer_is_guarded():
    with Trace() as trace:
        trace.call(torch._C._get_flash_sdp_enabled)
        assert trace.accepts()
        torch._C._set_sdp_use_flash(False)
        try:
            assert not trace.accepts()
        finally:
            torch._C._set_sdp_use_flash(True)


def test_a_python_function_with_a_callable_is_left_to_the_translator():
    with Trace(x=X) as trace:
        with pytest.raises(AssertionError, match="nothing is inlined"):
            trace.call(
                F.triplet_margin_with_distance_loss,
                trace.x,
                trace.x,
                trace.x,
                distance_function=trace.wrap(len),
            )


def test_numbers_of_a_type():
    with Trace() as trace:
        info = trace.call(torch.finfo, torch.float16)
        assert info.attribute(trace.tx, "max").as_python_constant() == 65504.0


def test_a_generator_is_an_input():
    generator = torch.Generator().manual_seed(1)
    with Trace(g=generator) as trace:
        result = trace.call(torch.rand, 3, generator=trace.g)
        found = trace.run(result)[0]
    assert same(found, torch.rand(3, generator=torch.Generator().manual_seed(1)))


@pytest.mark.parametrize(("name", "keyword"), [("addcdiv", "value"), ("addcmul_", "value")])
def test_a_tensor_stands_for_a_number(name, keyword):
    expected = getattr(X.clone(), name)(X + 5, X + 6, **{keyword: 0.5})
    with Trace(x=X.clone(), a=X + 5, b=X + 6, v=torch.tensor(0.5)) as trace:
        result = trace.method(trace.x, name, trace.a, trace.b, **{keyword: trace.v})
        found = trace.run(result)[0]
    assert torch.allclose(found, expected)


@pytest.mark.parametrize("function", [torch.add, torch.sub])
def test_alpha_may_be_a_tensor(function):
    with Trace(x=X, v=torch.tensor(0.5)) as trace:
        result = trace.call(function, trace.x, trace.x, alpha=trace.v)
        found = trace.run(result)[0]
    assert torch.allclose(found, function(X, X, alpha=0.5))
