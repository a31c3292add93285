"""Clean-up, outputs, nested graphs, names."""

import operator

import pytest
import torch
from torch import fx

from framesmith.graph import DynamicDims, GraphOptions, Recorder, example, text, unify, verify
from framesmith.graph.operations.purity import may_mutate
from framesmith.guards.sources.roots import Local
from framesmith.guards.sources.steps import Attribute

X, Y = Local("x"), Local("y")
VALUE = torch.arange(6.0).reshape(2, 3)
WIDE, ONES, OTHER = torch.zeros(4, 3), torch.ones(3), torch.zeros(2, 3)
SWITCH = torch._C._set_grad_enabled


def lines(compiled):
    return text(compiled.graph_module.graph).splitlines()


def test_unused_operations_and_inputs_go():
    with Recorder() as recorder:
        x, _ = recorder.tensor_input(X, VALUE), recorder.tensor_input(Y, OTHER)
        dead = recorder.call("call_function", torch.sin, (x,))
        recorder.call("call_function", torch.cos, (dead,))
        compiled = recorder.finish([recorder.call("call_method", "relu", (x,))])
    assert compiled.inputs == (X,)
    assert lines(compiled) == [
        "l_x_: float32[2, 3] = input",
        "relu: float32[2, 3] = Tensor.relu(l_x_)",
        "return (relu,)",
    ]


def test_writes_random_draws_and_assertions_stay():
    with Recorder() as recorder:
        x = recorder.tensor_input(X, VALUE)
        recorder.call("call_method", "mul_", (x, 2))
        recorder.call("call_function", torch.rand, (2,))
        recorder.call("call_function", torch.nn.functional.relu, (x, True))
        recorder.call("call_function", torch._assert_async, (recorder.call("call_method", "all", (x,)),))
        compiled = recorder.finish([])
    assert [line.split(" = ")[1].split("(")[0] for line in lines(compiled)[1:-1]] == [
        "Tensor.mul_",
        "torch.rand",
        "torch.nn.functional.relu",
        "Tensor.all",
        "torch._assert_async",
    ]


def test_an_output_asked_for_twice_is_computed_once():
    with Recorder() as recorder:
        x = recorder.tensor_input(X, VALUE)
        one, two = recorder.call("call_method", "sin", (x,)), recorder.call("call_method", "cos", (x,))
        compiled = recorder.finish([one, two, one])
    assert (compiled.outputs, compiled.positions) == (2, (0, 1, 0))
    assert len(compiled.call(VALUE)) == 2


def test_without_operations_there_is_no_graph():
    with Recorder() as recorder:
        x, y = recorder.tensor_input(X, VALUE), recorder.tensor_input(Y, OTHER)
        recorder.call("call_method", "sin", (x,))
        compiled = recorder.finish([y, x, y])
    assert compiled.call is None
    assert compiled.inputs == (Y, X)
    assert compiled.positions == (0, 1, 0)


def test_redundant_switches_of_the_grad_mode_go():
    with Recorder() as recorder:
        x = recorder.tensor_input(X, VALUE)
        for mode in (False, True, False):
            recorder.call("call_function", SWITCH, (mode,))
        inside = recorder.call("call_method", "sin", (x,))
        for mode in (True, True, False, True):
            recorder.call("call_function", SWITCH, (mode,))
        compiled = recorder.finish([inside])
    assert [node.args[0] for node in compiled.graph_module.graph.nodes if node.target is SWITCH] == [
        False,
        True,
    ]


def test_placeholders_are_named_after_sources():
    with Recorder() as recorder:
        node = recorder.tensor_input(Attribute(Local("self"), "weight"), VALUE)
        assert node.name == "l_self_weight"


def branches(recorder, x, w):
    with recorder.subgraph() as yes:
        added = recorder.call("call_function", torch.add, (x, w))
    with recorder.subgraph() as no:
        sine = recorder.call("call_function", torch.sin, (x,))
    operands = unify([no, yes])
    return yes.finish([added], name="yes"), no.finish([sine], name="no"), operands


def record_cond(recorder):
    x, w = recorder.tensor_input(X, VALUE), recorder.tensor_input(Y, ONES)
    positive = recorder.call("call_function", operator.gt, (recorder.call("call_method", "sum", (x,)), 0))
    yes, no, operands = branches(recorder, x, w)
    result = recorder.call(
        "call_function", torch.ops.higher_order.cond, (positive, yes.node, no.node, operands)
    )
    return recorder.call("call_function", operator.getitem, (result, 0))


def check_cond(backend):
    with Recorder(GraphOptions(backend=backend)) as recorder:
        compiled = recorder.finish([record_cond(recorder)])
    values = {X: VALUE, Y: ONES}
    for value in (VALUE, -VALUE):
        given = [(values | {X: value})[source] for source in compiled.inputs]
        expected = value + ONES if value.sum() > 0 else value.sin()
        assert torch.equal(compiled.call(*given)[0], expected)


def test_branches_of_cond_take_the_same_operands():
    with Recorder() as recorder:
        x, w = recorder.tensor_input(X, VALUE), recorder.tensor_input(Y, ONES)
        yes, no, operands = branches(recorder, x, w)
        assert operands == (x, w)
        for nested in (yes, no):
            assert verify(nested.module.graph) == []
            assert [node.name for node in nested.module.graph.find_nodes(op="placeholder")] == [
                "l_x_",
                "l_y_",
            ]


def test_cond_runs_with_the_eager_backend():
    check_cond("eager")


def test_cond_runs_through_autograd():
    check_cond("aot_eager")


def test_variables_are_lifted_through_every_level():
    with Recorder() as recorder:
        x = recorder.tensor_input(X, VALUE)
        with recorder.subgraph() as outer:
            with recorder.subgraph() as inner:
                sine = recorder.call("call_function", torch.sin, (x,))
            nested = inner.finish([sine])
            assert len(outer.lifted) == len(nested.lifted) == 1
        assert outer.lifted == (x,)
        assert nested.lifted == (outer.body.lifted[x],)


def test_an_exception_in_a_nested_graph_leaves_the_outer_one():
    with Recorder() as recorder:
        x = recorder.tensor_input(X, VALUE)
        mark = recorder.marker()
        try:
            with recorder.subgraph():
                recorder.call("call_function", torch.sin, (x,))
                raise KeyError
        except KeyError:
            recorder.rollback(mark)
        assert [node.name for node in recorder.graph.nodes] == ["l_x_"]


def test_verify_names_what_is_wrong():
    graph = fx.Graph()
    x = graph.placeholder("x")
    one = graph.call_function(torch.sin, (x,))
    graph.placeholder("late")
    one.args = (graph.call_function(torch.cos, (x,)),)
    problems = "\n".join(verify(graph))
    assert "argument cos is computed later" in problems
    assert "an input after the first operation" in problems
    assert "has no example_value" in problems
    assert "0 outputs instead of one" in problems


def test_sizes_are_inputs_even_after_the_tensor_changed():
    with Recorder() as recorder:
        x = recorder.tensor_input(X, WIDE, DynamicDims.of(0))
        size = example(x).shape[0]
        recorder.call("call_method", "t_", (x,))
        compiled = recorder.finish([recorder.call("call_function", torch.arange, (size,))])
    assert [source.text() for source in compiled.inputs] == ["x", "x.size(0)"]
    wide = torch.zeros(5, 3)
    given = [wide if source == X else 5 for source in compiled.inputs]
    assert compiled.call(*given)[0].tolist() == [0, 1, 2, 3, 4]
    assert wide.shape == (3, 5)


@pytest.mark.parametrize(
    ("args", "changes"), [((None, 0.5, True), False), ((None, 0.5, True, True), True), ((None, 0.5), False)]
)
def test_the_flag_for_working_in_place_is_found_by_its_position(args, changes):
    assert may_mutate("call_function", torch.nn.functional.dropout, args, {}) is changes
