"""`interpreter`, `trace_end`, `replanning`: when a trace ends, and how. Frames are stepped over assembled text."""

import pytest
import torch
from stepping import assembled, frame_at, run_to_end, step, trace_of

from framesmith.frontend.tracing.interpreter import Interpreter, without_traceback
from framesmith.frontend.tracing.replanning import PlannedStop, Restart
from framesmith.frontend.tracing.trace_end import BreakBefore, Finished, ResumeHere, RunRestNatively
from framesmith.graph import GraphBreak
from framesmith.graph.breaks.break_kinds import NATIVE_CALL

ADD = """LOAD_FAST 'x'
LOAD_CONST 2
BINARY_OP '+'
RETURN_VALUE"""


def shown(x):
    y = x + 1
    print(y)
    return y


def test_three_operations_leave_their_sum_on_the_stack() -> None:
    trace = trace_of(assembled(ADD, parameters=("x",)), x=3)
    frame = step(trace.machine, 3)
    assert [value.as_python_constant() for value in frame.stack] == [5]
    assert (frame.current, frame.index) == (2, 3)


def test_a_returned_value_finishes_the_trace() -> None:
    assert run_to_end(ADD, {"x": 3}).as_python_constant() == 5


def test_a_break_puts_the_frame_back_in_front_of_the_operation() -> None:
    trace = frame_at(shown, 2, x=1)
    end = trace.interpreter.run()
    frame = trace.machine.frame
    assert isinstance(end, BreakBefore) and not end.makes_weak_references
    assert frame.index == frame.current and frame.operation.kind == "call"
    assert len(frame.stack) == 3  # print, NULL and y


def test_an_exception_that_nothing_handles_is_no_break() -> None:
    def failing(x):
        return [x][2]

    end = trace_of(failing.__code__, x=1).interpreter.run()
    assert end == RunRestNatively(None, uncaught="IndexError: list index out of range")


def test_an_unbound_variable_is_raised_as_it_is() -> None:
    trace = trace_of(assembled("LOAD_FAST 'x'\nRETURN_VALUE", names=("x",)))
    end = trace.interpreter.run()
    assert isinstance(end, RunRestNatively) and end.raised.python_type is UnboundLocalError


def test_a_value_whose_end_is_seen_ends_the_trace_without_a_native_operation() -> None:
    class Seen:
        def __del__(self) -> None:
            pass

    def dropping(x):
        x = None
        return x

    trace = trace_of(dropping.__code__, x=Seen())
    trace.machine.value_ends.owning = True  # as the values that a continuation is given
    end = trace.interpreter.run()
    assert isinstance(end, ResumeHere) and "the end of Seen" in str(end.reason)


def test_what_cannot_be_taken_back_is_traced_again_with_a_plan() -> None:
    class Key:
        def __index__(self) -> int:
            x.append(1)
            print(x)
            return 1

    def changing(x, key):
        return [1, 2][key]

    x = []
    trace = trace_of(changing.__code__, x=x, key=Key())
    with pytest.raises(Restart) as caught:
        trace.interpreter.run()
    stop = caught.value.stop
    assert isinstance(stop, PlannedStop) and isinstance(stop.end, BreakBefore)
    assert stop.code is changing.__code__ and stop.step > 1


def test_a_planned_stop_ends_in_front_of_its_step() -> None:
    end = BreakBefore(GraphBreak(NATIVE_CALL, "as planned"))
    trace = trace_of(assembled(ADD, parameters=("x",)), x=3)
    planned = Interpreter(PlannedStop(3, None, 0, end))
    planned._machine = trace.machine
    assert planned.run() is end
    assert trace.machine.frame.current == 2 and len(trace.machine.frame.stack) == 2


def test_a_second_trace_that_goes_another_way_breaks() -> None:
    trace = trace_of(assembled(ADD, parameters=("x",)), x=3)
    planned = Interpreter(PlannedStop(2, shown.__code__, 9, RunRestNatively(None)))
    planned._machine = trace.machine
    with pytest.raises(GraphBreak, match="went another way"):
        planned.run()


def test_an_exception_of_ours_keeps_no_frame() -> None:
    try:
        try:
            raise ValueError
        except ValueError:
            raise GraphBreak(NATIVE_CALL, "x")
    except GraphBreak as error:
        assert without_traceback(error, None) is error
        assert error.__traceback__ is None and error.__context__ is None


def test_a_tensor_operation_adds_a_node() -> None:
    trace = trace_of(assembled(ADD, parameters=("x",)), x=torch.ones(2))
    with trace.recorder:
        end = trace.interpreter.run()
    assert isinstance(end, Finished)
    assert [node.op for node in trace.recorder.graph.nodes] == ["placeholder", "call_function"]
