"""Operators that run a body many times: what a body sees, what it may give, and the nodes that call the operators."""

import pytest
import torch
from torch._higher_order_ops.associative_scan import associative_scan_op
from torch._higher_order_ops.map import map_impl
from torch._higher_order_ops.scan import scan, scan_op
from torch._higher_order_ops.while_loop import while_loop_op
from torch_tracing import Trace, same

from framesmith.graph import GraphBreak
from framesmith.variables.builtin_types.iterators import unpack
from framesmith.variables.builtin_types.tuples import TupleTracker
from framesmith.variables.core import Constant, Tracker
from framesmith.variables.higher_order import attention, bodies, flat_bodies, loops
from framesmith.variables.tensors.tensors import TensorTracker

X = torch.arange(6.0).reshape(3, 2)


class Flat(Tracker):
    """In place of the polyfills, which only the translator can run: the leaves of what the body gives, without a structure."""

    def begin_call(self, tx, args, kwargs):
        body, *values = [one for one in args if not isinstance(one, Constant)]
        result = body.call(tx, values, {}).realize()
        leaves = unpack(tx, result) if isinstance(result, TupleTracker) else [result]
        return TupleTracker([TupleTracker(leaves), Constant(None)])


class Nested:
    """The values of an operator as they are."""

    def bind(self, tx, args, kwargs):
        return args[0]


class Doubled(Tracker):
    """A body that gives its first value twice, as what is carried and as a step."""

    def begin_call(self, tx, args, kwargs):
        total = args[0].attribute(tx, "add").call(tx, [args[1]], {})
        return TupleTracker([total, total.realize().attribute(tx, "neg").call(tx, [], {})])


@pytest.fixture
def called_by_torch(monkeypatch):
    """Traces in which torch's own function calls the operator."""
    for name in ("FLAT_RESULTS", "FLAT_STEPS"):
        monkeypatch.setattr(loops, name, Flat())
    monkeypatch.setattr(attention, "FLAT_RESULTS", Flat())
    monkeypatch.setattr(flat_bodies, "_NESTED", Nested())

    def make(**inputs):
        trace = Trace(**inputs)
        trace.recorder.asking = lambda: (scan.__code__, {}.get)
        return trace

    return make


def listed(*values):
    return TupleTracker(list(values))


def results(trace, called):
    return trace.run(*unpack(trace.tx, called))


def test_a_body_sees_a_carried_tensor_without_its_history():
    with Trace(x=X.clone().requires_grad_()) as trace:
        fake = (trace.x.realize().fake * 2).t()
        seen = flat_bodies.as_input(fake)
        assert (seen.shape, seen.stride(), seen.requires_grad) == (fake.shape, fake.stride(), True)
        assert seen.is_leaf and not fake.is_leaf


def test_a_slice_is_a_view_and_a_step_is_a_copy():
    with Trace(x=X) as trace:
        fake = trace.x.realize().fake
        view, copy = flat_bodies.as_slice(fake), flat_bodies.as_step(fake)
        assert view.shape == copy.shape == (2,)
        memory = [one.untyped_storage()._cdata for one in (fake, view, copy)]
        assert memory[0] == memory[1] != memory[2]


@pytest.mark.parametrize("empty", [torch.ones(()), torch.ones(0, 2)])
def test_there_has_to_be_a_first_slice(empty):
    with Trace(x=empty) as trace, pytest.raises(GraphBreak, match="no first slice"):
        flat_bodies.as_slice(trace.x.realize().fake)


def test_what_is_carried_keeps_its_kind():
    with Trace(x=X, y=X.double(), z=X.t()) as trace:
        x, y, z = (one.realize() for one in (trace.x, trace.y, trace.z))
        flat_bodies.check_alike([x, Constant(3)], [x.fake, None])
        for leaves, given in (
            ([x], []),
            ([y], [x.fake]),
            ([z], [x.fake]),
            ([Constant(3)], [x.fake]),
            ([x], [None]),
            ([Constant(True)], [None]),
        ):
            with pytest.raises(GraphBreak):
                flat_bodies.check_alike(leaves, given)


def test_a_step_gives_a_tensor_or_none():
    with Trace(x=X) as trace:
        flat_bodies.check_steps([trace.x.realize(), Constant(None)])
        with pytest.raises(GraphBreak, match="it gives"):
            flat_bodies.check_steps([Constant(3)])


@pytest.mark.parametrize("operator", [while_loop_op, map_impl, scan_op, associative_scan_op])
def test_an_operator_that_the_program_calls_runs_natively(operator):
    count = 3 if operator in (map_impl, associative_scan_op) else 4
    with Trace(x=X) as trace, pytest.raises(GraphBreak, match="called by the program"):
        trace.call(operator, *[trace.x] * count)


def test_map_is_a_node(called_by_torch):
    with called_by_torch(x=X) as trace:
        called = trace.call(map_impl, trace.wrap(torch.sin), listed(trace.x), listed())
        assert trace.nodes.count("map_impl") == 1
        assert same(results(trace, called)[0], X.sin())


def test_scan_is_a_node(called_by_torch):
    start = torch.zeros(2)
    with called_by_torch(x=X, y=start) as trace:
        called = trace.call(scan_op, Doubled(), listed(trace.y), listed(trace.x), listed())
        last, steps = results(trace, called)
        assert same(last, X.sum(0)) and same(steps, -X.cumsum(0))


def test_associative_scan_is_a_node(called_by_torch):
    with called_by_torch(x=X) as trace:
        called = trace.call(associative_scan_op, trace.wrap(torch.add), listed(trace.x), listed())
        assert isinstance(unpack(trace.tx, called)[0], TensorTracker)
        assert trace.nodes.count("associative_scan") == 1


def test_a_loop_is_a_node(called_by_torch):
    with called_by_torch(x=torch.tensor([True, True])) as trace:
        condition, body = trace.wrap(torch.any), trace.wrap(torch.logical_not)
        called = trace.call(while_loop_op, condition, body, listed(trace.x), listed())
        assert trace.nodes.count("while_loop") == 1
        assert same(results(trace, called)[0], torch.tensor([False, False]))


def test_a_condition_is_a_bool(called_by_torch):
    with called_by_torch(x=X) as trace, pytest.raises(GraphBreak, match="condition is no bool"):
        trace.call(while_loop_op, trace.wrap(torch.sum), trace.wrap(torch.sin), listed(trace.x), listed())


@pytest.mark.parametrize(
    ("body", "problem"), [(torch.relu_, "changes a tensor|memory"), (torch.detach, "memory of an operand")]
)
def test_a_body_that_does_more_breaks_the_graph(called_by_torch, body, problem):
    with called_by_torch(x=X) as trace, pytest.raises(GraphBreak, match=problem):
        trace.call(map_impl, trace.wrap(body), listed(trace.x), listed())


def test_a_change_of_a_score_gives_one_number(called_by_torch):
    with called_by_torch(x=torch.ones(1, 1, 2, 4)) as trace:
        fake = trace.x.realize().fake

        class Score(Tracker):
            def begin_call(self, tx, args, kwargs):
                return args[0].attribute(tx, "mul").call(tx, [args[1]], {})

        assert attention._trace(trace.tx, Score(), fake, has_score=True).inputs == 5
        with pytest.raises(GraphBreak, match="one number"):
            attention._trace(trace.tx, Doubled(), fake, has_score=False)


def test_what_breaks_around_an_operator_leaves_nothing(monkeypatch):
    class Around:
        def bind(self, tx, args, kwargs):
            args[0].attribute(tx, "sin").call(tx, [], {})
            raise GraphBreak(flat_bodies.REPEATED_BODY, "inside")

    with Trace(x=X) as trace:
        with pytest.raises(GraphBreak, match="inside"):
            bodies.call_to_end(trace.tx, Around(), [trace.x], {}, flat_bodies.REPEATED_BODY)
        assert trace.nodes == []
