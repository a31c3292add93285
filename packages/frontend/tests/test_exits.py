"""The subpackage `exits`: `emit`, `ending`, `resumption`, `native_operation`, `number_reads`, `stand_ins`, `weakly_held`."""

import linecache
import traceback
import warnings
import weakref

import pytest
import torch
from stepping import frame_at, trace_of

from framesmith.bytecode.meaning import Kind
from framesmith.frontend.build_entry import write_entry
from framesmith.frontend.cache.trace_start import FunctionStart
from framesmith.frontend.exits.emit import escaping_values, write_ending
from framesmith.frontend.exits.ending import EntryEnding, ResumeTarget, TailCallWriter
from framesmith.frontend.exits.named_callers import names_its_caller, synthetic_frame_for
from framesmith.frontend.exits.native_operation import wrap_in_try
from framesmith.frontend.exits.number_reads import find_number_read
from framesmith.frontend.exits.resumption import Resumption, raising_layout
from framesmith.frontend.exits.weakly_held import WeaklyHeld, makes_reference
from framesmith.frontend.generated.source_writer import EntryWriter
from framesmith.frontend.generated.tail_calls import TailCall
from framesmith.frontend.tracing.frame_layout import layout_of
from framesmith.frontend.tracing.frame_places import places_of
from framesmith.frontend.tracing.frame_state import ResumeState
from framesmith.frontend.tracing.resume_points import ResumePoint
from framesmith.frontend.tracing.trace_end import BreakBefore, Finished, RunRestNatively
from framesmith.graph import GraphBreak
from framesmith.graph.breaks.break_kinds import NATIVE_CALL
from framesmith.guards import GuardSet, Scope
from framesmith.guards.sources import Pinned
from framesmith.variables.core import NULL, Constant, SkippedFrame, Tracker


def shown(log, x):
    log.append(x)
    print(x, end="")
    return x


def wrapped(trace, function) -> Tracker:
    """The tracker of a known function."""
    return trace.tx.wrap(function, Pinned(function, "function")).realize()


def ended(function, **values):
    """The ending of the trace of a function, and the trace."""
    trace = trace_of(function.__code__, **values)
    end = trace.interpreter.run()
    return write_ending(trace.writer, trace.machine, end), trace


def run(ending: EntryEnding, trace, function, values: list[object]) -> object:
    """Run an entry of this ending; each target becomes a function that returns its name and what it is given."""
    text = write_entry(FunctionStart(function), trace.writer, ending, GuardSet(), None)
    entry = text.bind(lambda target: lambda *given: (target, given))
    assert entry.leaves == ending.leaves
    scope = Scope({"log": values[0], "x": values[1]}, globals())
    return entry.function(*[source.read(scope) for source in entry.loads])


def test_a_returned_value_is_written_after_the_changes() -> None:
    def appended(log, x):
        log.append(x)
        return log

    log: list[int] = []
    ending, trace = ended(appended, log=[], x=5)
    assert not ending.leaves and not ending.targets
    assert run(ending, trace, appended, [log, 5]) is log == [5]


def test_a_break_replays_runs_the_operation_and_hands_the_rest_over(capsys) -> None:
    ending, trace = ended(shown, log=[], x=5)
    ((name, target),) = ending.targets.items()
    assert ending.leaves and name in ending.lines[-1] and not target.is_native
    log: list[int] = []
    call = run(ending, trace, shown, [log, 5])
    assert type(call) is TailCall and log == [5] and capsys.readouterr().out == "5"
    reached, given = call[0](*call[1])
    assert reached is target and len(given) == len(target.point.names) == 2  # what print gave, and x


def test_an_exception_that_leaves_the_frames_runs_them_natively() -> None:
    def failing(log, x):
        raise ValueError(x)

    ending, _ = ended(failing, log=[], x=1)
    ((target,),) = [ending.targets.values()]
    assert target.is_native and target.point.frames[0].code is failing.__code__
    assert "[" in ending.lines[0]  # a list, which the continuation empties


def test_equal_points_have_one_name_and_the_native_form_another() -> None:
    calls = TailCallWriter(EntryWriter(1))
    state: ResumeState[str] = ResumeState([], ["e"])
    points = [ResumePoint((), True), ResumePoint((), True)]
    texts = [calls.write_call(ResumeTarget(point, ()), state) for point in points]
    assert texts[0] == texts[1]
    calls.write_call(ResumeTarget(points[0], (), is_native=True), state)
    assert list(calls.make_ending([]).targets) == ["__fs_p0_continuation", "__fs_p1_natively"]


def test_what_escapes_is_needed_as_an_object() -> None:
    trace = frame_at(shown, 2, log=[], x=5)
    machine = trace.machine
    assert [value.as_python_constant() for value in escaping_values(machine, Finished(Constant(1)))] == [1]
    assert escaping_values(machine, RunRestNatively(None)) == []
    end = trace.interpreter.run()
    assert isinstance(end, BreakBefore)
    assert escaping_values(machine, end) == machine.frame.stack


def test_the_rest_is_handed_over_at_the_current_operation() -> None:
    trace = frame_at(shown, 2, log=[], x=5)
    frame = trace.machine.frame
    frame.current = frame.index
    resumption = Resumption(trace.writer, trace.machine, [])
    assert resumption.run_rest_natively().endswith("([5], )))")
    (target,) = resumption.calls.make_ending([]).targets.values()
    assert target.point.frames == (layout_of(frame, frame.current),)


def test_a_frame_that_raises_keeps_what_its_handler_reads() -> None:
    def handling(log, x):
        try:
            return log[x]
        except IndexError:
            return x

    frame = frame_at(handling, 2, log=[], x=5).machine.frame
    frame.current = frame.index
    assert "x" in raising_layout(frame, lambda value: False).locals


def test_the_handler_runs_outside_of_the_except_block() -> None:
    lines = wrap_in_try(["1 / 0"], ["import sys", "seen = (__fs_e, sys.exception())"], "BaseException")
    names: dict[str, object] = {}
    exec("\n".join(lines), names)
    assert type(names["seen"][0]) is ZeroDivisionError and names["seen"][1] is None


def test_a_stand_in_carries_the_line_of_the_inlined_frame() -> None:
    def helper(x):
        return x

    frames = frame_at(helper, 1, x=1).machine.frames
    found: list[traceback.FrameSummary] = []
    synthetic_frame_for(frames)(lambda: found.extend(traceback.extract_stack()))
    names = [(one.name, one.lineno) for one in found if one.name == "helper"]
    assert names == [("helper", helper.__code__.co_firstlineno)]  # the operation that has run so far


def test_skipped_frames_come_before_the_frame_that_they_call() -> None:
    def helper(x):
        return x

    frame = frame_at(helper, 1, x=1).machine.frame
    frame.skipped = (SkippedFrame(torch.nn.Module._call_impl, "forward_call"),)
    skipped, last = places_of([frame])
    assert "forward_call(" in linecache.getline(skipped.code.co_filename, skipped.line)
    assert skipped.namespace is vars(torch.nn.modules.module) and last.code is helper.__code__


@pytest.mark.parametrize(("function", "expected"), [(warnings.warn, True), (print, False)])
def test_what_names_its_caller_is_known(function, expected) -> None:
    assert names_its_caller(wrapped(trace_of(shown.__code__), function)) is expected


@pytest.mark.parametrize(
    ("function", "expected"), [(weakref.ref, True), (weakref.finalize, True), (len, False)]
)
def test_what_makes_weak_references_is_known(function, expected) -> None:
    assert makes_reference(wrapped(trace_of(shown.__code__), function)) is expected


def test_a_constant_is_not_kept_for_a_weak_reference() -> None:
    trace = frame_at(shown, 2, log=[], x=5)
    held = WeaklyHeld(trace.machine, trace.writer)
    held.note_operands([Constant(1)], refers=True)
    assert trace.machine.value_ends.watched and not held.keeps(Constant(1))


def test_what_reads_the_frames_around_an_inlined_one_breaks_the_whole() -> None:
    def inner():
        return locals()

    def outer(log, x):
        return inner()

    trace = trace_of(outer.__code__, log=[], x=1)
    trace.machine.frames.append(frame_at(inner, 1).machine.frames[0])
    frame = trace.machine.frame
    frame.stack.clear()
    frame.push_callable(wrapped(trace, locals))
    call = next(i for i, one in enumerate(frame.reading.operations) if one.kind == "call")
    frame.current = call
    with pytest.raises(GraphBreak, match="have to be real"):
        write_ending(trace.writer, trace.machine, BreakBefore(GraphBreak(NATIVE_CALL, "x")))


def test_what_reads_numbers_alone_is_known_by_its_function():
    trace = trace_of((lambda x: x).__code__, x=torch.ones(1))
    tensor = trace.tx.wrap(torch.ones(1), Pinned(torch.ones(1), "x")).realize()
    for function, place in ((int, 2), (float, 2), (bool, 2), (str, None), (shown, None)):
        called = wrapped(trace, function)
        assert find_number_read(Kind.CALL, [NULL, called, tensor]) == place
        assert find_number_read(Kind.CALL, [called, NULL, tensor]) == place
    assert find_number_read(Kind.CALL, [NULL, wrapped(trace, int), Constant(1)]) is None
    assert find_number_read(Kind.POP_JUMP_IF, [tensor]) == 0
