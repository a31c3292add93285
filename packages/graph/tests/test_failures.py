"""What goes on after a graph raised: which values another trace takes over, and the marks of leaves that it sees."""

import pytest
import torch
from torch import fx

from framesmith.graph import Recorder
from framesmith.graph.inputs.leaf_inputs import read_marks, restored_marks
from framesmith.graph.running.failures import STEP, Failures, Replay, Unrecoverable
from framesmith.guards.sources.roots import Local


def captured(*steps: int) -> fx.GraphModule:
    """A graph that adds to `x`, writes to it and adds again; each operation in a step of the trace."""
    given = torch.ones(2)
    with Recorder() as recorder:
        x = recorder.tensor_input(Local("x"), given)
        made = []
        for step, (name, number) in zip(steps, [("add", 1), ("mul_", 2), ("sub", 3)], strict=True):
            recorder.step = step
            made.append(recorder.call("call_method", name, (x, number), {}))
        module = recorder.finish([made[0], made[2]]).graph_module
    assert module is not None
    return module


def failures_of(module: fx.GraphModule) -> Failures:
    return Failures(module, None)  # type: ignore[arg-type]  # the state of the switches is not asked for


def test_traces_agree_where_operations_have_the_same_places():
    failures = failures_of(captured(1, 2, 3))
    assert failures.agree_with(captured(1, 2, 3))
    assert not failures.agree_with(captured(1, 2, 4))


def test_values_of_another_trace_are_refused():
    replay = Replay()
    replay(captured(1, 2, 4), [])
    with pytest.raises(Unrecoverable, match="other operations"):
        replay.give(failures_of(captured(1, 2, 3)), {}, None)


def test_a_value_that_is_lost_behind_a_write_is_missed_before_the_run():
    module = captured(1, 2, 3)
    first = next(node for node in module.graph.nodes if STEP in node.meta)
    replay = Replay()
    run = replay(module, [])
    with pytest.raises(Unrecoverable, match="wrote"):
        replay.give(failures_of(module), {}, None)
    known = torch.full((2,), 7.0)
    replay.give(failures_of(module), {first.meta[STEP][1]: known}, None)
    taken, computed = run(torch.ones(2))
    assert taken is known and torch.equal(computed, torch.ones(2) - 3)


def test_leaves_have_their_former_marks_for_a_while():
    x, y = torch.ones(2), torch.ones(2)
    before = read_marks(x, 3, y)
    assert before == (False, False, False)
    x.requires_grad_()
    with restored_marks([x, 3, y], before):
        assert not x.requires_grad
    assert x.requires_grad and not y.requires_grad


def test_a_tensor_with_a_history_keeps_it():
    x = torch.ones(2)
    before = read_marks(x)
    x.mul_(torch.ones(2, requires_grad=True))
    with restored_marks([x], before):
        assert x.requires_grad
