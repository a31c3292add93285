"""The subpackage `resuming`: the same resume point, put together symbolically and natively."""

import sys
from dataclasses import replace

import pytest
from stepping import frame_at, trace_of

from framesmith.frontend.resuming.native import NativeContinuation, pop_last, take_all
from framesmith.frontend.resuming.symbolic import rebuild_frames
from framesmith.frontend.resuming.unwinding import Unwinding, find_interruption
from framesmith.frontend.tracing.decomposed_generators import find_decomposed_generators
from framesmith.frontend.tracing.finalizers import has_observable_lifetime
from framesmith.frontend.tracing.frame_layout import layout_of
from framesmith.frontend.tracing.resume_points import ResumePoint, is_fresh, take_snapshot
from framesmith.frontend.tracing.trace_end import Finished

SPACE = globals()


def doubled(x, y):
    z = x + y
    return z * 2


def handled(x, y):
    try:
        return x // y
    except ZeroDivisionError as error:
        return type(error), sys.exception() is error


def counted(x, y):
    def numbers():
        yield x
        yield y

    generator = numbers()
    first = next(generator)
    return first, list(generator)


def point_at(function, line: int, *, raises: bool = False) -> ResumePoint:
    """The resume point of a function in front of a line."""
    trace = frame_at(function, line, x=1, y=0)
    frame = trace.machine.frame
    frame.current = frame.index
    layouts = [layout_of(frame, frame.index, frame.index)]
    decomposed = find_decomposed_generators(trace.machine, ())
    return take_snapshot(
        layouts, trace.machine.frames, decomposed, has_observable_lifetime, raises=raises
    ).point


def test_both_forms_give_the_same() -> None:
    point = point_at(doubled, 2)
    assert point.names == ["z"]
    trace = trace_of(doubled.__code__)
    trace.machine.frames.clear()
    assert rebuild_frames(trace.tx, trace.machine, point, [SPACE], [5]) is None
    end = trace.interpreter.run()
    assert isinstance(end, Finished)
    assert end.value.realize().as_python_constant() == NativeContinuation(point, [SPACE])([5]) == 10


def test_a_native_continuation_empties_what_it_is_given() -> None:
    values: list[object] = [5]
    NativeContinuation(point_at(doubled, 2), [SPACE])(values)
    assert values == []


def test_a_point_that_raises_begins_in_its_handler() -> None:
    point = point_at(handled, 2, raises=True)
    given: list[object] = [0 for _ in point.names[:-1]]
    result = NativeContinuation(point, [SPACE])([*given, ZeroDivisionError()])
    assert result == (ZeroDivisionError, True)


def test_what_nothing_handles_leaves_the_frames() -> None:
    point = point_at(doubled, 2, raises=True)
    error = KeyError("x")
    with pytest.raises(KeyError) as caught:
        NativeContinuation(point, [SPACE])([5, error])
    assert caught.value is error and error.__context__ is None


def test_a_suspended_generator_is_handed_over_in_pieces() -> None:
    point = point_at(counted, 7)
    (layout,) = point.generators
    assert layout.code.co_name == "numbers" and not is_fresh(layout)
    assert point.frames[0].references and "generator" in point.frames[0].locals
    values = {"first": 1, "cell_1_x": cell(1), "cell_1_y": cell(0)}
    given = [values.get(name) or (cell(1) if name.endswith("_x") else cell(0)) for name in point.names]
    assert NativeContinuation(point, [SPACE, SPACE])(given) == (1, [0])


def cell(value):
    return (lambda: value).__closure__[0]


def test_values_are_taken_out_of_the_list() -> None:
    values = [1, 2, 3]
    assert pop_last(values, 2) == [2, 3] and pop_last(values, 0) == [] and values == [1]
    assert take_all(values) == [1] and values == []


def cleaned(x, y):
    try:
        z = x + y
        y = z * 2
    except Exception:
        return y
    finally:
        LEFT.append(x)
    return z


LEFT: list[object] = []


def guarded(x, y):
    try:
        z = x + y
        y = z * 2
    finally:
        x = 0
    return z


def test_frames_that_are_left_clean_up() -> None:
    point = point_at(cleaned, 3)
    NativeContinuation(point, [SPACE]).unwind([{"x": 7}.get(name, 0) for name in point.names])
    assert LEFT == [7]


def test_a_frame_is_left_at_its_next_operation_unless_that_is_behind_the_block() -> None:
    inside = frame_at(guarded, 3, x=1, y=0).machine.frame
    inside.current = inside.index
    layout = layout_of(inside, inside.index, inside.index)
    assert find_interruption(layout) == (layout.index, (), 0)
    behind = frame_at(guarded, 6, x=1, y=0).machine.frame
    layout = replace(layout_of(behind, behind.index, behind.index), current=inside.current)
    assert find_interruption(layout)[0] == inside.current
    assert issubclass(Unwinding, BaseException)
    assert not issubclass(Unwinding, Exception)
