"""The subpackage `cache`: `session`, `session_state`, `unit`, `records`, `trace_start`, `recompile_limit`, `specialization`,
`frame_hooks`."""

import dataclasses
import functools
import gc
import inspect
import sys
import weakref
from types import FunctionType

import pytest
import torch
from stepping import OPTIONS

from framesmith import frontend
from framesmith.frontend import events
from framesmith.frontend.cache import frame_hooks, recompile_limit, records
from framesmith.frontend.cache.method_definition import MethodDefinition
from framesmith.frontend.cache.session import Session
from framesmith.frontend.cache.session_state import SessionState
from framesmith.frontend.cache.specialization import Policy, sizes_of
from framesmith.frontend.cache.trace_start import ContinuationStart, FunctionStart
from framesmith.frontend.cache.unit import CompiledUnit, Continuations
from framesmith.frontend.cache.user_names import UserNames
from framesmith.frontend.errors import FullGraphError
from framesmith.frontend.exits.ending import ResumeTarget
from framesmith.frontend.generated.dispatcher import Signature
from framesmith.frontend.generated.source_writer import EntryWriter
from framesmith.frontend.options import CompileOptions
from framesmith.frontend.refusal import Refusal
from framesmith.frontend.resuming.native import NativeContinuation
from framesmith.frontend.tracing.frame_layout import FrameLayout
from framesmith.frontend.tracing.resume_points import ResumePoint
from framesmith.frontend.user_lines import UserLocation
from framesmith.graph import GraphBreak
from framesmith.graph.breaks.break_kinds import NATIVE_CALL, OPERATION_RAISES
from framesmith.guards import Examination, Guard, GuardSet, Scope, all_failures, examine
from framesmith.guards.kinds import EqualTo
from framesmith.guards.sources import Local

ONES = torch.ones(2)


def loud(x, n):
    y = x + n
    print(end="")
    return y * 2


def plain(x, n=1):
    return x


def point() -> ResumePoint:
    """A continuation of `plain` at its start."""
    return ResumePoint((FrameLayout(plain.__code__, id(globals()), 1, (), ("x", "n"), (), False, 1),))


def target(*, is_native: bool = False) -> ResumeTarget:
    return ResumeTarget(point(), (globals(),), is_native)


# -- sessions and units ---------------------------------------------------------------------------
def test_a_session_has_a_unit_for_the_function_and_each_continuation() -> None:
    session = Session(loud, OPTIONS)
    compiled = session.make_function()
    assert torch.equal(compiled(ONES, 1), ONES * 4)
    names = [unit.start.code.co_name for unit in session.units()]
    assert names == ["loud", "loud"] and [len(unit.dispatcher.entries) for unit in session.units()] == [1, 1]
    assert len(session.history.entries) == 2 and len(session.history.breaks) == 1
    session.reset()
    assert len(session.units()) == 1 and session.history.entries == []


def test_a_session_dies_with_the_compiled_function() -> None:
    session = Session(loud, OPTIONS)
    compiled = session.make_function()
    compiled(ONES, 1)
    dead = [weakref.ref(one) for one in (session, *session.units())]
    gc.disable()
    try:
        del compiled, session
        assert [one() for one in dead] == [None] * 3
    finally:
        gc.enable()


def test_another_backend_has_a_session_of_its_own() -> None:
    session = Session(loud, OPTIONS)
    other = session.with_backend("aot_eager")
    assert session.with_backend("aot_eager") is other and isinstance(other, FunctionType)
    assert torch.equal(other(ONES, 1), ONES * 4) and session.history.entries == []


def test_defaults_that_were_replaced_are_taken_over() -> None:
    def scaled(x, n=1):
        return x * n

    compiled = frontend.compile(scaled, backend="eager")
    assert torch.equal(compiled(ONES), ONES)
    scaled.__defaults__ = (3,)
    with pytest.warns(frontend.IgnoredSettingWarning, match="__defaults__ of .*scaled was replaced"):
        compiled(ONES)
    assert torch.equal(compiled(ONES), ONES * 3)


def test_each_continuation_is_made_once() -> None:
    continuations = Continuations(SessionState(OPTIONS))
    made = continuations.function_at(target())
    assert continuations.function_at(target()) is made and made(5, 6) == 5
    native = continuations.function_at(target(is_native=True))
    assert isinstance(native, NativeContinuation) and native([5, 6]) == 5
    assert len(continuations.units()) == 1
    continuations.clear()
    assert continuations.function_at(target()) is not made


def test_a_unit_keeps_the_entry_that_a_miss_made() -> None:
    state = SessionState(OPTIONS)
    continuations = Continuations(state)
    unit = CompiledUnit(
        state, continuations, ContinuationStart(target()), Signature.of_names(plain.__code__, ["x", "n"])
    )
    call = unit.make_function()
    assert call(5, 6) == unit.handle_miss(5, 6) == 5
    assert len(unit.dispatcher.entries) == 1 and state.history.entries[0].function == "plain"
    unit.reset()
    assert unit.dispatcher.entries == ()


def test_a_break_is_an_error_with_fullgraph_or_where_the_code_says_so() -> None:
    reason = GraphBreak(NATIVE_CALL, "x")
    lenient, strict = (SessionState(CompileOptions("eager", flag)) for flag in (False, True))
    lenient.on_break(reason, "", False)
    for state, said in ((lenient, True), (strict, False)):
        with pytest.raises(FullGraphError):
            state.on_break(reason, "", said)


def test_continuations_of_the_same_frames_share_what_they_learn() -> None:
    state = SessionState(OPTIONS)
    one, other = (state.policy(ContinuationStart(target())) for _ in range(2))
    assert one.shared is other.shared and not one.alone
    assert state.policy(FunctionStart(plain)).alone
    state.reset()
    assert state.policy(ContinuationStart(target())).shared is not one.shared


def test_an_operation_that_raises_runs_before_the_break_is_refused() -> None:
    state = SessionState(CompileOptions("eager", fullgraph=True))
    refusal = state.on_break(GraphBreak(OPERATION_RAISES, "x"), (), False)
    assert isinstance(refusal, Refusal) and isinstance(refusal.error(), FullGraphError)
    for raises in (False, True):
        rest = Rest()
        with pytest.raises(FullGraphError):
            refusal.make_function(rest, raises=raises)(1, 2)
        assert (rest.ran, rest.left) == (([[1, 2]], []) if raises else ([], [[1, 2]]))


class Rest:
    """The rest of some frames, which notes what becomes of it."""

    def __init__(self) -> None:
        self.ran: list[list[object]] = []
        self.left: list[list[object]] = []

    def __call__(self, values: list[object]) -> None:
        self.ran.append(values)

    def unwind(self, values: list[object]) -> None:
        self.left.append(values)


# -- records ----------------------------------------------------------------------------------------
def test_a_break_of_one_kind_in_one_line_is_noted_once() -> None:
    history, reason = events.History(), GraphBreak(NATIVE_CALL, "x")
    for line in (3, 3, 4):
        records.record_break(history, reason, UserLocation("user.py", line, "f"), ())
    assert [(one.file, one.line, one.function) for one in history.breaks] == [
        ("user.py", 3, "f"),
        ("user.py", 4, "f"),
    ]


def test_a_recompilation_is_noted_with_the_users_names() -> None:
    history, names = events.History(), UserNames(ContinuationStart(target()), None)
    failure = dataclasses.replace(all_failures(*missed(1))[0], text="local_0_n == 3")
    misses = [Examination([failure, failure], frozenset()), Examination([failure], frozenset())]
    records.record_recompile(history, names, misses)
    assert history.recompiles == ["plain: n == 3"]


def test_a_recompile_logs_the_newest_entrys_reason_and_counts_the_older_ones(caplog) -> None:
    compiled = frontend.compile(lambda x: x + x.shape[0], backend="eager", dynamic=False)
    with caplog.at_level("INFO", "framesmith.recompiles"):
        for size in (3, 4, 5, 6):
            compiled(torch.ones(size))
    first, second, third = (record.getMessage() for record in caplog.records)
    assert "from 3 to 4" in first and "not fit" not in first
    assert "from 4 to 5" in second and second.endswith("; 1 older entry does not fit either")
    assert "from 5 to 6" in third and third.endswith("; 2 older entries do not fit either")


def reach_the_limit(function, dynamic, values) -> str:
    """What is warned when the limit of one entry is reached."""
    compiled = frontend.compile(function, backend="eager", dynamic=dynamic)
    with frontend.config.patch(recompile_limit=1), pytest.warns(frontend.RecompileLimitWarning) as warned:
        for value in values:
            compiled(value)
    return str(warned[0].message)


def test_the_limit_is_told_once(caplog) -> None:
    with caplog.at_level("INFO", "framesmith.recompiles"):
        reach_the_limit(lambda x: x + x.shape[0], None, (torch.ones(3), torch.ones(4)))
    assert not caplog.records


@pytest.mark.parametrize(
    ("dynamic", "remedy"),
    [
        (None, "Mark the size with frontend.mark_dynamic, compile with dynamic=True, or raise"),
        (False, "Mark the size with frontend.mark_dynamic, leave out dynamic=False, or raise"),
    ],
)
def test_the_remedy_for_a_size_follows_what_compile_was_told(dynamic, remedy) -> None:
    assert remedy in reach_the_limit(lambda x: x + x.shape[0], dynamic, (torch.ones(3), torch.ones(4)))


def test_the_remedy_for_a_number_follows_what_compile_was_told() -> None:
    said = reach_the_limit(lambda n: torch.ones(2) * n, False, (2, 3))
    assert "Pass the number as a tensor, leave out dynamic=False, or raise" in said


def _timed(function):
    @functools.wraps(function)
    def wrapper(*args, **kwargs):
        return function(*args[1:], **kwargs)

    return wrapper


def test_a_function_below_a_wrapper_of_a_library_goes_by_its_own_names() -> None:
    @torch.inference_mode()
    @torch.no_grad()
    def sample(x, *, scale):
        return x * scale

    names = UserNames(FunctionStart(sample), None)
    line = inspect.unwrap(sample).__code__.co_firstlineno
    assert names.function.endswith("sample") and names.begins == f"({__file__}:{line})"
    assert names.text("args[0]: dtype; kwargs['scale']: value; args: length") == (
        "x: dtype; scale: value; the positional arguments: length"
    )


def test_a_wrapper_of_the_program_goes_by_its_own_names() -> None:
    """It may hand over other arguments than it was given."""
    names = UserNames(FunctionStart(_timed(lambda x: x)), None)
    assert names.function == "_timed.<locals>.wrapper"
    assert names.text("args[0]: dtype") == "args[0]: dtype"


# -- origins ----------------------------------------------------------------------------------------
def test_a_root_knows_when_its_code_was_replaced() -> None:
    def user(x):
        return x

    start = FunctionStart(user)
    assert start.is_current(())
    user.__code__ = (lambda x: x + 1).__code__
    assert not start.is_current(()) and start.with_current_code().code is user.__code__
    user.__code__ = (lambda x, y: x).__code__
    assert start.with_current_code() is None


def test_a_method_finds_its_original_until_the_class_changes() -> None:
    class Holder:
        def __call__(self):
            return 1

    definition = MethodDefinition(Holder, "__call__", Holder.__call__)
    assert definition.is_found_by(Holder())
    Holder.__call__ = lambda self: 2
    assert not definition.is_found_by(Holder())
    (line,) = FunctionStart(definition.original, definition).write_current_call(EntryWriter(1)).lines
    assert line.endswith(".__call__(__fs_l0_self)")


def test_the_native_ending_of_a_continuation_leads_to_its_own_point() -> None:
    ending = ContinuationStart(target()).write_native_ending(EntryWriter(1))
    assert list(ending.targets.values()) == [target(is_native=True)]


# -- what is learnt from misses ---------------------------------------------------------------------
def missed(value: int) -> tuple[GuardSet, Scope]:
    return GuardSet([Guard(Local("n"), EqualTo(value))]), Scope({"n": 9}, {})


def test_the_limit_names_the_value_its_line_and_the_remedy() -> None:
    guards, scope = missed(1)
    text = recompile_limit.limit_text("loud", loud.__code__, [guards], scope, 1)
    line = loud.__code__.co_firstlineno + 1
    assert f"(read at {__file__}:{line})" in text and "what varies: n" in text
    assert "Pass the number as a tensor, or raise" in text


def test_a_limit_of_no_entries_and_one_that_was_lowered() -> None:
    guards, scope = missed(1)
    text = recompile_limit.limit_text("loud", loud.__code__, [], scope, 0)
    assert "gets no entry (config.recompile_limit is 0): calls run uncompiled" in text
    assert "none of them" not in text and "keep serving" not in text
    refused = recompile_limit.write_refusal("fullgraph=True", [])
    assert refused == "a call is an error, since fullgraph=True."
    text = recompile_limit.limit_text("loud", loud.__code__, [guards, guards], scope, 1)
    assert "has 2 entries (config.recompile_limit is 1)" in text


def test_the_failure_of_most_entries_counts() -> None:
    one, other = (all_failures(*missed(value)) for value in (1, 2))
    assert recompile_limit.most_frequent([one, other]).source == Local("n")
    assert recompile_limit.most_frequent([]) is None


def test_a_number_that_changes_becomes_dynamic() -> None:
    policy = Policy(None)
    guards, scope = missed(1)
    assert not policy.is_dynamic_number(Local("n"))
    frozen = policy.snapshot()
    policy.learn([examine(guards, scope)])
    assert policy.is_dynamic_number(Local("n")) and not frozen.is_dynamic_number(Local("n"))
    assert not Policy(False).is_dynamic_number(Local("n"))


def test_a_value_that_changes_often_is_no_longer_specialized_on() -> None:
    policy = Policy(None, patience=2)
    guards, scope = missed(1)
    for expected in (False, True):
        policy.learn([examine(guards, scope)])
        assert policy.is_unspecialized(Local("n")) is expected


def test_a_value_that_an_entry_was_made_for_does_not_count_as_changing() -> None:
    policy = Policy(None, patience=2)
    (guards, scope), (accepting, _) = missed(1), missed(9)
    for _ in range(3):
        policy.learn([examine(guards, scope), examine(accepting, scope)])
    assert not policy.is_unspecialized(Local("n"))


def test_sizes_that_differ_between_two_calls_become_dynamic() -> None:
    policy = Policy(None)
    before, now = sizes_of((torch.ones(2, 3), 1)), sizes_of((torch.ones(4, 3), 1))
    policy.compare(("x", "n"), before, now)
    assert policy.sizes == {Local("x"): {0}}


def test_without_torchs_compiler_there_is_no_hook_to_put_back(monkeypatch) -> None:
    monkeypatch.delitem(sys.modules, "torch._dynamo", raising=False)
    called: list[object] = []
    monkeypatch.setattr(frame_hooks.eval_frame, "set_eval_frame", called.append)
    with frame_hooks.without_frame_hook():
        pass
    assert called == []
