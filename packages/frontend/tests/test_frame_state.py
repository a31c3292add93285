"""`frame_state`: what is handed over for frames, and the one order of it, on all three sides."""

import pytest
from stepping import frame_at, trace_of

from framesmith.bytecode.resume import StackItem
from framesmith.frontend.resuming.symbolic import rebuild_frames
from framesmith.frontend.tracing.frame_layout import FrameLayout, layout_of
from framesmith.frontend.tracing.frame_roles import FrameRole
from framesmith.frontend.tracing.frame_state import FrameState, Reference, ResumeState, names_of, state_of
from framesmith.frontend.tracing.resume_points import ResumePoint


def full(code, **more) -> FrameLayout:
    """A layout with a value of every kind."""
    stack = (StackItem.VALUE, StackItem.NULL, StackItem.HANDLED)
    return FrameLayout(code, 0, 0, stack, ("x", ".0"), ("cell",), True, 0, FrameRole.DEFAULT, **more)


def user(x, y):
    z = x + y
    return z * 2


ORDER = [
    "stack_1_0",
    "stack_1_2",
    "local_1_x",
    "local_1_hidden_2e30",
    "cell_1_cell",
    "result_1",
    "default_1",
]


def test_the_order_is_stack_locals_cells_replacement_default() -> None:
    assert ResumeState([names_of(full(user.__code__), 1)], ["raised"]).flatten() == [*ORDER, "raised"]


def test_what_is_flattened_is_unflattened() -> None:
    point = ResumePoint((full(user.__code__), full(user.__code__)), True, (full(user.__code__),))
    values = list(range(len(point.names)))
    state = point.form.unflatten(given := list(values))
    assert given == []  # nothing else holds the values
    assert state.flatten() == values
    assert state.frames[0] == FrameState([0, 1], [2, 3], [4], [5], [6])
    assert (len(state.frames), state.raised) == (3, [values[-1]])


def test_a_slot_that_refers_to_a_generator_has_no_value_of_its_own() -> None:
    layout = full(user.__code__, references=((1, 2), (2, 0)))
    state = names_of(layout, 0)
    assert state.stack == ["stack_0_0", Reference(2)] and state.locals[0] == Reference(0)
    assert ResumeState([state], []).unflatten(list("abcde")).frames[0] == FrameState(
        ["a", Reference(2)], [Reference(0), "b"], ["c"], ["d"], ["e"]
    )


def test_too_many_values_are_refused() -> None:
    with pytest.raises(AssertionError, match="1 values more"):
        ResumePoint(()).form.unflatten([1])


def test_a_frame_is_taken_apart_and_put_together_again() -> None:
    trace = frame_at(user, 2, x=3, y=4)
    frame = trace.machine.frame
    layout = layout_of(frame, frame.index)
    state = state_of(layout, frame)
    assert [value.realize().as_python_constant() for value in ResumeState([state], []).flatten()] == [7]
    point = ResumePoint((layout,))
    assert point.names == ["z"]
    again = trace_of(user.__code__)
    again.machine.frames.clear()
    raised = rebuild_frames(again.tx, again.machine, point, [globals()], [7])
    rebuilt = again.machine.frame
    assert raised is None and rebuilt.index == frame.index
    assert {name: value.realize().as_python_constant() for name, value in rebuilt.locals.items()} == {"z": 7}
