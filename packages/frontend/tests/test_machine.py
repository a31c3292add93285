"""`machine`, `frame_roles`, `user_stack`, `module_stacks`: frames, what inner frames give to outer ones, the user's lines and modules."""

import pytest
import torch
from stepping import assembled, step, trace_of

from framesmith.bytecode.meaning import Kind
from framesmith.bytecode.operation_tables import ITERATOR_SLOTS
from framesmith.frontend.tracing.frame_roles import FrameRole, end_of_iteration, is_generator
from framesmith.frontend.tracing.machine import MAXIMUM_FRAMES, new_frame, reading_of
from framesmith.frontend.tracing.module_stacks import ModuleStacks
from framesmith.frontend.tracing.user_stack import StackTexts, location, user_stack
from framesmith.frontend.user_lines import UserLocation, stack_text
from framesmith.graph import GraphBreak
from framesmith.guards.sources import Local
from framesmith.variables.core import NULL, Constant, ObservedException, SkippedFrame
from framesmith.variables.core.wrap_rules import lazy

RETURN = "LOAD_CONST 7\nRETURN_VALUE"


def inner_of(trace):
    """A second frame of the same code, entered."""
    outer = trace.machine.frame
    frame = new_frame(outer.code, outer.namespace, {}, ())
    trace.machine.enter(frame)
    return frame


def test_a_frame_returns_into_the_stack_of_the_one_around() -> None:
    trace = trace_of(assembled(RETURN))
    outer = trace.machine.frame
    inner_of(trace)
    assert step(trace.machine, 2) is outer
    assert [value.as_python_constant() for value in outer.stack] == [7]


def test_a_value_behind_a_barrier_is_the_outcome_of_the_run() -> None:
    trace = trace_of(assembled(RETURN))
    with pytest.raises(IndexError):  # no frame is left
        step(trace.machine, 2)
    assert trace.machine.outcome.as_python_constant() == 7


def test_a_callable_is_popped_with_its_receiver_wherever_the_null_stands() -> None:
    frame = trace_of(assembled(RETURN)).machine.frame
    callee, receiver = Constant(1), Constant(2)
    frame.push_callable(callee)
    assert frame.pop_callable() == (callee, ())
    frame.stack += [callee, receiver]
    assert frame.pop_callable() == (callee, (receiver,))
    frame.stack += [NULL, callee]
    assert frame.pop_callable() == (callee, ())


def test_too_many_frames_break_the_graph() -> None:
    trace = trace_of(assembled(RETURN))
    with pytest.raises(GraphBreak, match=f"depth {MAXIMUM_FRAMES}"):
        for _ in range(MAXIMUM_FRAMES):
            inner_of(trace)


def test_an_unbound_local_raises_what_cpython_raises() -> None:
    machine = trace_of(assembled(RETURN)).machine
    with pytest.raises(ObservedException) as caught:
        machine.load_local("x")
    assert caught.value.exception.python_type is UnboundLocalError


def test_the_end_of_an_iteration_leaves_the_loop_around() -> None:
    code = assembled(
        "LOAD_CONST ()\nGET_ITER\nL0: FOR_ITER -> L1\nPOP_TOP\nJUMP_BACKWARD -> L0\nL1: LOAD_CONST 1\nRETURN_VALUE"
    )
    loop = next(operation for operation in reading_of(code).operations if operation.kind is Kind.FOR_ITER)
    found = end_of_iteration(FrameRole.LOOP, loop)
    assert (found.target, found.drops, found.pushes) == (loop.target, ITERATOR_SLOTS, False)
    assert end_of_iteration(FrameRole.CALL, loop) is None
    assert end_of_iteration(FrameRole.DEFAULT, loop).pushes


def test_a_constant_of_the_code_is_one_object_wherever_it_is_loaded() -> None:
    machine = trace_of(assembled(RETURN)).machine
    value = (1, 2.0)
    assert machine.load_literal(value) is machine.load_literal(value)


def test_generators_are_known_by_their_flag() -> None:
    def generator():
        yield 1

    assert is_generator(generator.__code__) and not is_generator(inner_of.__code__)


def test_a_location_names_the_users_line() -> None:
    def user(x):
        return x

    trace = trace_of(user.__code__, x=1)
    step(trace.machine, 2)
    here = location(trace.machine.frame)
    assert here == UserLocation(__file__, user.__code__.co_firstlineno + 1, "user")
    assert UserLocation.of(user.__code__).line == here.line - 1
    assert stack_text(user_stack(trace.machine.frames)).splitlines()[1].strip() == "return x"


def test_the_text_of_the_frames_is_that_of_the_present_operation():
    def user(x):
        y = x
        return y

    trace = trace_of(user.__code__, x=1)
    written, places = StackTexts(trace.machine), []

    def texts():
        assert written() == written()
        return "".join(
            line for line in written().splitlines(True) if line.strip(" ^~\n")
        )  # without the marks

    for _ in range(3):
        places.append(texts())
        assert texts() == stack_text(user_stack(trace.machine.frames)) == places[-1]
        step(trace.machine, 1)
    inner = inner_of(trace)
    assert texts() == stack_text(user_stack(trace.machine.frames)) != places[-1]
    trace.machine.frames.remove(inner)
    assert texts() == stack_text(user_stack(trace.machine.frames))


def test_the_text_of_the_frames_marks_the_operation_and_leaves_out_calls_by_modules():
    def user(x):
        y = x + 1; return y  # fmt: skip

    trace = trace_of(user.__code__, x=1)
    step(trace.machine, 3)
    texts = StackTexts(trace.machine)
    before = texts()
    assert set(before.splitlines()[-1].strip()) <= {"~", "^"}
    called = trace_of(torch.nn.Linear.forward.__code__, self=1, input=1)
    assert "in forward" in StackTexts(called.machine)()  # there is nothing else
    called.machine.frames.insert(0, trace.machine.frame)
    assert StackTexts(called.machine)() == before


def test_modules_are_those_in_whose_calls_the_frames_stand() -> None:
    def forward(this, x):
        return x

    trace = trace_of(forward.__code__, x=1)
    stacks, layer = ModuleStacks(trace.machine), torch.nn.ReLU()
    assert stacks() == {}
    inner = inner_of(trace)
    inner.skipped = (SkippedFrame(torch.nn.Module._call_impl, "forward_call"),)
    inner.locals["this"] = lazy(trace.tx, layer, Local("layer"))
    inner.locals["this"].realize()
    assert stacks() == {"L__layer__": ("L['layer']", torch.nn.ReLU)}
    # a function that the module calls stands in its call
    helper = inner_of(trace)
    assert stacks() == inner.modules
    trace.machine.frames.remove(helper)
    trace.machine.frames.remove(inner)
    assert stacks() == {}
