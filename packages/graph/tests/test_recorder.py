"""Recorder: inputs, recorded calls, errors, and rollback of what was recorded."""

import gc
import operator
import weakref

import pytest
import torch

from framesmith.graph import (
    DynamicDims,
    FakeFailure,
    GraphBreak,
    GraphOptions,
    Recorder,
    RecorderMisuse,
    example,
    text,
    verify,
)
from framesmith.guards.sources.roots import Local

X = Local("x")
VALUE = torch.arange(12.0).reshape(3, 4).clone()
PARAMETER = torch.nn.Parameter(torch.ones(4))
NUMBER = torch.tensor(5)


def finish(recorder, *outputs):
    compiled = recorder.finish(outputs)
    if compiled.graph_module is not None:
        assert verify(compiled.graph_module.graph) == []
    return compiled


def test_a_source_has_one_node():
    with Recorder() as recorder:
        node = recorder.tensor_input(X, VALUE)
        assert recorder.tensor_input(X, VALUE) is node


def test_the_fake_keeps_class_and_gradient():
    with Recorder() as recorder:
        fake = example(recorder.tensor_input(Local("p"), PARAMETER))
    assert isinstance(fake, torch.nn.Parameter)
    assert fake.requires_grad
    assert fake.is_leaf


def test_the_fake_of_a_view_is_a_view():
    base = torch.ones(4, 4, requires_grad=True)
    view = base[1:]
    with Recorder() as recorder:
        fake = example(recorder.tensor_input(X, view))
    assert fake._is_view()
    assert fake._base.is_leaf
    assert fake.storage_offset() == 4


def test_a_call_records_and_runs():
    with Recorder() as recorder:
        x = recorder.tensor_input(X, VALUE)
        total = recorder.call("call_function", torch.add, (x,), {"other": 2}, stack="line 1")
        assert example(total).shape == (3, 4)
        assert total.meta["stack_trace"] == "line 1"
        compiled = finish(recorder, total)
    assert compiled.inputs == (X,)
    assert torch.equal(compiled.call(VALUE)[0], VALUE + 2)


def test_nested_arguments_hold_nodes():
    with Recorder() as recorder:
        x = recorder.tensor_input(X, VALUE)
        joined = recorder.call("call_function", torch.cat, ([x, x],), {"dim": 0})
        part = recorder.call("call_function", operator.getitem, (joined, (slice(None, 2), 0)))
        compiled = finish(recorder, part)
    assert torch.equal(compiled.call(VALUE)[0], VALUE[:2, 0])


def test_an_in_place_operation_returns_the_same_fake():
    with Recorder() as recorder:
        x = recorder.tensor_input(X, VALUE)
        changed = recorder.call("call_method", "add_", (x, 1))
        assert example(changed) is example(x)
        compiled = finish(recorder, recorder.call("call_method", "sum", (x,)))
    given = VALUE.clone()
    assert compiled.mutated == (X,)
    assert compiled.call(given)[0] == (VALUE + 1).sum()
    assert torch.equal(given, VALUE + 1)


def test_a_mistake_of_the_user_keeps_its_exception():
    with Recorder() as recorder:
        x = recorder.tensor_input(X, VALUE)
        before = text(recorder.graph)
        with pytest.raises(FakeFailure, match=r"torch.mm raised RuntimeError") as caught:
            recorder.call("call_function", torch.mm, (x, x))
        assert text(recorder.graph) == before
    assert isinstance(caught.value.original, RuntimeError)


def test_a_failed_in_place_operation_leaves_the_fake_alone():
    def half_way(tensor):
        tensor.unsqueeze_(0)
        tensor.requires_grad_()
        raise ValueError("later")

    half_way.__name__ = "half_way_"
    with Recorder() as recorder:
        x = recorder.tensor_input(X, VALUE)
        with pytest.raises(FakeFailure):
            recorder.call("call_function", half_way, (x,))
        assert example(x).shape == (3, 4)
        assert not example(x).requires_grad


@pytest.mark.parametrize(
    ("op", "target", "kind"),
    [
        ("call_method", "item", "tensor-item"),
        ("call_method", "tolist", "tensor-item"),
        ("call_method", "nonzero", "data-dependent-shape"),
        ("call_function", torch.unique, "data-dependent-shape"),
        ("call_function", bool, "tensor-item"),
    ],
)
def test_what_depends_on_the_data_breaks(op, target, kind):
    with Recorder() as recorder:
        x = recorder.tensor_input(X, NUMBER)
        with pytest.raises(GraphBreak) as caught:
            recorder.call(op, target, (x,))
        assert len(recorder.graph.nodes) == 1
    assert caught.value.kind.id == kind


def test_an_operator_without_a_fake_breaks():
    @torch.library.custom_op("framesmith_tests::no_fake", mutates_args=())
    def no_fake(x: torch.Tensor) -> torch.Tensor:
        return x.clone()

    with Recorder() as recorder:
        x = recorder.tensor_input(X, VALUE)
        with pytest.raises(GraphBreak) as caught:
            recorder.call("call_function", torch.ops.framesmith_tests.no_fake.default, (x,))
    assert caught.value.kind.id == "operator-without-fake"


def test_an_object_that_no_graph_can_hold_breaks():
    with Recorder() as recorder:
        x = recorder.tensor_input(X, VALUE)
        with pytest.raises(GraphBreak, match="an argument of type object"):
            recorder.call("call_function", torch.add, (x, object()))


def test_rollback_erases_nodes_and_inputs():
    with Recorder() as recorder:
        x = recorder.tensor_input(X, VALUE)
        mark, before = recorder.marker(), text(recorder.graph)
        other = recorder.tensor_input(Local("p"), PARAMETER)
        recorder.call("call_function", torch.add, (x, other))
        recorder.rollback(mark)
        assert text(recorder.graph) == before
        again = recorder.tensor_input(Local("p"), PARAMETER)
        assert example(again) is example(other)


@pytest.mark.parametrize(
    "change",
    [
        lambda recorder, x, p: recorder.call("call_method", "t_", (x,)),
        lambda recorder, x, p: recorder.call("call_method", "unsqueeze_", (x, 0)),
        lambda recorder, x, p: recorder.call("call_method", "add_", (x, p)),
        lambda recorder, x, p: recorder.call("call_method", "requires_grad_", (x,)),
        lambda recorder, x, p: recorder.call("call_method", "resize_", (x, 2, 2)),
        lambda recorder, x, p: recorder.call("call_function", setattr, (x, "data", p)),
        lambda recorder, x, p: recorder.call(
            "call_method", "add_", (recorder.call("call_function", operator.getitem, (x, 0)), p)
        ),
        lambda recorder, x, p: recorder.call("call_function", torch._C._set_grad_enabled, (False,)),
    ],
    ids=["t_", "unsqueeze_", "add_", "requires_grad_", "resize_", "data", "view", "grad-mode"],
)
def test_rollback_undoes_changes_of_fakes_and_switches(change):
    with Recorder() as recorder:
        x = recorder.tensor_input(X, VALUE)
        p = recorder.tensor_input(Local("p"), PARAMETER)
        mark = recorder.marker()
        change(recorder, x, p)
        assert recorder.rollback(mark)
        fake = example(x)
        assert (fake.shape, fake.stride(), fake.requires_grad) == ((3, 4), (4, 1), False)
        assert torch.is_grad_enabled()


def test_rollback_says_when_a_fake_cannot_be_brought_back():
    with Recorder() as recorder:
        x = recorder.tensor_input(X, VALUE)
        p = recorder.tensor_input(Local("p"), PARAMETER)
        row = recorder.call("call_function", operator.getitem, (x, 0))
        mark = recorder.marker()
        recorder.call("call_method", "add_", (row, p))
        clean = recorder.rollback(mark)
        assert clean == (not example(row).requires_grad)


def test_the_switches_are_back_after_the_trace():
    with Recorder() as recorder:
        recorder.call("call_function", torch._C._set_grad_enabled, (False,))
        assert not torch.is_grad_enabled()
    assert torch.is_grad_enabled()


def test_real_tensors_can_be_worked_with_while_paused():
    with Recorder() as recorder, recorder.pause_recording():
        assert (VALUE + 1).sum().item() == 78


def test_a_fake_of_the_recording_is_no_input():
    with Recorder() as recorder:
        x = recorder.tensor_input(X, VALUE)
        with pytest.raises(RecorderMisuse, match="y is a fake tensor of this very recording"):
            recorder.tensor_input(Local("y"), example(x))


def test_opaque_objects_are_inputs():
    generator = torch.Generator().manual_seed(0)
    with Recorder() as recorder:
        x = recorder.tensor_input(X, VALUE)
        node = recorder.object_input(Local("g"), generator)
        drawn = recorder.call("call_function", torch.bernoulli, (x,), {"p": 0.5, "generator": node})
        compiled = finish(recorder, drawn)
    expected = torch.bernoulli(VALUE, 0.5, generator=torch.Generator().manual_seed(0))
    assert torch.equal(compiled.call(VALUE, generator.manual_seed(0))[0], expected)


def test_a_wrapper_subclass_is_faked_as_itself():
    two = pytest.importorskip("torch.testing._internal.two_tensor").TwoTensor(
        torch.ones(2, 3), torch.zeros(2, 3)
    )
    with Recorder(GraphOptions(backend="aot_eager")) as recorder:
        x = recorder.tensor_input(X, two, DynamicDims.of(0))
        compiled = finish(recorder, recorder.call("call_function", torch.add, (x, 1)))
        assert type(example(x)) is type(two)
    (result,) = compiled.call(two)
    assert torch.equal(result.a, two.a + 1)
    assert torch.equal(result.b, two.b + 1)


def test_nothing_keeps_the_inputs_alive():
    value = torch.ones(3)
    alive = weakref.ref(value)
    with Recorder(GraphOptions(backend="aot_eager")) as recorder:
        x = recorder.tensor_input(X, value)
        compiled = finish(recorder, recorder.call("call_function", torch.add, (x, 1)))
    del value, recorder
    gc.collect()
    assert alive() is None
    assert compiled.call(torch.ones(3))[0].tolist() == [2, 2, 2]
