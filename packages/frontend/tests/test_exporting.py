"""The parts of `export`, each alone: targets, example calls, declarations, conditions, names of attributes."""

import functools
import pickle
from types import SimpleNamespace

import pytest
import torch
from torch import fx, nn
from torch.export import Dim

from framesmith.frontend.errors import ExportError, InvalidArgument
from framesmith.frontend.export import export
from framesmith.frontend.exporting.conditions import add_checks
from framesmith.frontend.exporting.dynamic_shapes import (
    ExampleInt,
    ExportPolicy,
    mark_tensors,
    read_declarations,
)
from framesmith.frontend.exporting.effects import EffectsWatch
from framesmith.frontend.exporting.example import flatten_call
from framesmith.frontend.exporting.input_check import InputCheck, NoCheck
from framesmith.frontend.exporting.named_sizes import find_relations
from framesmith.frontend.exporting.outer_graph import keep_persistence
from framesmith.frontend.exporting.proxies import NodeProxy, NodeScope, NodeTracer
from framesmith.frontend.exporting.target import find_target, names_of_tensors
from framesmith.frontend.exporting.tied_names import check_names
from framesmith.frontend.tracing.trace_end import Finished, RunRestNatively
from framesmith.graph.shapes.dynamic_dims import Dim as Treatment
from framesmith.guards import Guard, Reason, Scope
from framesmith.guards.kinds.shapes import ShapeExpression
from framesmith.guards.sources import Local
from framesmith.guards.sources.tensors import TensorSize
from framesmith.variables.core import MutationLog, Tracker


def program(a, *rest, k=1, **more):
    return a, rest, k, more


def test_a_partial_s_arguments_are_part_of_the_program() -> None:
    target = find_target(functools.partial(functools.partial(program, 1), 2, k=3))
    assert (target.fixed, target.fixed_keywords, target.function) == ((1, 2), {"k": 3}, program)


@pytest.mark.parametrize("wrong", [int, len, 3])
def test_what_has_no_python_code_is_no_target(wrong) -> None:
    with pytest.raises(InvalidArgument):
        find_target(wrong)


def test_a_tensor_with_two_names_has_its_first() -> None:
    module = nn.Sequential(nn.Linear(2, 2), nn.Linear(2, 2))
    module[1].weight = module[0].weight
    assert names_of_tensors(module)[id(module[1].weight)] == "0.weight"


def test_leaves_are_named_after_the_way_to_them() -> None:
    example = flatten_call(find_target(program), (1, [2, {"x-y": 3}]), {"k": 4, "other": 5})
    assert example.names == ("a", "rest_0_0", "rest_0_1_x_y", "k", "other")
    assert example.parameters == ("a", "rest_0", "k", "other")


def test_leaves_are_bound_in_the_order_of_the_code_s_variables() -> None:
    example = flatten_call(find_target(program), (1, 2), {"other": 5})
    assert example.bind([10, 20, 50]) == [10, 1, (20,), {"other": 50}]


def test_declared_dimensions_are_counted_from_the_end_as_well() -> None:
    tensor = torch.ones(4, 3)
    found = read_declarations({"t": {-1: Dim("n", max=9)}}, {"t": tensor}, ()).sizes
    policy = ExportPolicy(found)
    with mark_tensors(list(found.values())):
        dims = policy.dynamic_dims(Local("t"), tensor)
    assert dims.treatments(2) == [Treatment.STATIC, Treatment.DYNAMIC] and dims.bounds[1][1] == 9
    assert policy.promised and not vars(tensor)


def scope_of(graph: fx.Graph, **tensors: torch.Tensor) -> NodeScope:
    tracer = NodeTracer(graph)
    proxies = {name: NodeProxy(graph.placeholder(name), tracer) for name in tensors}
    return NodeScope(tracer, Scope(proxies, {}), lambda source, tensor: graph.get_attr(source.text()))


@pytest.mark.parametrize(
    ("template", "count"), [("{0} > 2", 1), ("2 <= {0} and {0} <= 9", 2), ("2 <= {0} <= Max(9, {0})", 2)]
)
def test_a_relation_becomes_checks(template, count) -> None:
    graph = fx.Graph()
    size = TensorSize(Local("t"), 0)
    add_checks(
        scope_of(graph, t=torch.ones(3)),
        [Guard.relation(ShapeExpression(template, (size,)), Reason("asked"))],
    )
    assert len(graph.find_nodes(op="call_function", target=torch.ops.aten._assert_scalar.default)) == count


def test_a_relation_that_no_node_can_hold_is_refused() -> None:
    size = TensorSize(Local("t"), 0)
    relation = Guard.relation(ShapeExpression("{0} > 2 or {0} < 1", (size,)), Reason("asked"))
    with pytest.raises(ExportError, match="cannot be checked in a graph"):
        add_checks(scope_of(fx.Graph(), t=torch.ones(3)), [relation])


def test_a_node_as_a_text_is_refused() -> None:
    scope = scope_of(fx.Graph(), t=torch.ones(3))
    with pytest.raises(ExportError, match="as a text"):
        f"{scope.value_of(TensorSize(Local('t'), 0))}"


def test_only_saved_buffers_stay_in_the_state_dict() -> None:
    module = nn.BatchNorm1d(2)
    keep_persistence(module, {"running_mean"})
    assert "running_mean" in module.state_dict() and "running_var" not in module.state_dict()


class Changed(Tracker):
    """An existing object that the trace has changed."""

    python_type = list

    def __init__(self, source) -> None:
        self.source = source


def test_a_watch_refuses_what_was_changed_and_begins_anew_with_each_trace() -> None:
    watch, log = EffectsWatch("f"), MutationLog()
    recorder = SimpleNamespace(specialized=list)
    tx = SimpleNamespace(changes=log)
    trace = SimpleNamespace(tx=tx, machine=SimpleNamespace(frames=[], tx=tx), recorder=recorder)
    watch.begin(trace)
    log.note(Changed(Local("x")))
    with pytest.raises(ExportError, match=r"f has side effects.*\n  x \(list\) is changed"):
        watch.finish(trace, Finished(Changed(None)))
    trace.tx.changes = MutationLog()
    watch.begin(trace)
    watch.finish(trace, RunRestNatively(None, uncaught="KeyError: 1"))
    assert watch.uncaught == "KeyError: 1"


def test_export_returns_what_asks_for_arguments() -> None:
    assert export(program)(torch.ones(2)).graph_module(torch.ones(2))[2] == 1


def test_a_pickled_check_accepts_all_arguments() -> None:
    check = InputCheck(
        flatten_call(find_target(program), (1,), {}), ["a", "rest", "k", "more"], {}, [], ExportPolicy({})
    )
    again = pickle.loads(pickle.dumps(check))
    assert isinstance(again, NoCheck) and again(nn.Identity(), (2,), {}) is None


def test_sizes_of_one_name_are_compared_with_the_first_and_others_with_what_they_are_computed_from() -> None:
    x, y, z = torch.ones(4), torch.ones(4), torch.ones(9)
    size = Dim("n")
    shapes = {"x": {0: size}, "y": {0: size}, "z": {0: 2 * size + 1}}
    declared = read_declarations(shapes, {"x": x, "y": y, "z": z}, ())
    found = [
        (one.first.path, one.size.path, one.condition(5, 5), one.condition(5, 11))
        for one in find_relations(declared.sizes.values())
    ]
    assert found == [("x", "y", True, False), ("x", "z", False, True)]


def test_two_names_that_a_guard_makes_equal_are_refused() -> None:
    x, y = torch.ones(4), torch.ones(4)
    declared = read_declarations(({0: Dim("n")}, {0: Dim("m")}), {"x": x, "y": y}, ()).sizes
    sizes = (TensorSize(Local("x"), 0), TensorSize(Local("y"), 0))
    guards = [Guard.relation(ShapeExpression("{0} == {1}", sizes), Reason("asked"))]
    policy = ExportPolicy(declared, places=Scope({"x": x, "y": y}, {}))
    with pytest.raises(ExportError, match="declare m in place of n"):
        check_names(guards, policy, "program")
    check_names(guards, ExportPolicy({}, places=policy.places), "program")


def test_an_int_of_the_example_is_found_by_its_source() -> None:
    places = Scope({"n": ExampleInt(0, 3), "m": ExampleInt(1, 3)}, {})
    policy = ExportPolicy({}, numbers={1: True}, places=places)
    assert policy.is_dynamic_number(Local("m")) and not policy.is_dynamic_number(Local("n"))
    assert not policy.is_dynamic_number(Local("missing"))
