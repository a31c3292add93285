"""What is beside the subpackages: texts for users, settings of the process, marks, and the readers of frames."""

import sys
import warnings
import weakref
from dataclasses import replace
from types import ModuleType
from typing import final

import pytest
import torch
from stepping import OPTIONS, frame_at, trace_of

from framesmith import frontend
from framesmith.bytecode.meaning import Kind
from framesmith.frontend import (
    aliasing,
    api,
    argument_checks,
    compile_arguments,
    directives,
    dynamic_marks,
    events,
    known_functions,
    marked_functions,
    near_misses,
    recovery,
    reports,
    stances,
    user_lines,
    user_warnings,
    where,
)
from framesmith.frontend.build_entry import EntryBuilder
from framesmith.frontend.cache.binding import EntryBinder
from framesmith.frontend.cache.specialization import Policy
from framesmith.frontend.cache.trace_start import FunctionStart
from framesmith.frontend.demo import command
from framesmith.frontend.errors import TracingBugWarning
from framesmith.frontend.explain import Explanation
from framesmith.frontend.new_objects import add_made, check_made, made_among
from framesmith.frontend.registry import REGISTRY
from framesmith.frontend.signposts import definitions, objects, tables, topics
from framesmith.frontend.tracing import fact_check, parameter_names, stack_expressions, strict_breaks
from framesmith.frontend.tracing.change_places import ChangePlaces
from framesmith.frontend.tracing.frame_readers import may_read_own_variables, reads_frame
from framesmith.frontend.tracing.replanning import PlannedStop, Restart, TraceManner
from framesmith.frontend.tracing.trace_end import RunRestNatively
from framesmith.graph import GraphBreak
from framesmith.graph.running.failures import Failures, GraphFailed, Unrecoverable
from framesmith.graph.shapes.shape_guards import Specialized
from framesmith.guards import GuardSet, Scope
from framesmith.guards.kinds import DistinctObjects
from framesmith.guards.sources import Local, NewObject, Pinned
from framesmith.guards.sources.tensors import TensorSize
from framesmith.variables.core import Constant


def plain(x, y=2):
    return x + y


def wrapped(trace, value):
    """The tracker of a known object."""
    return trace.tx.wrap(value, Pinned(value, "value")).realize()


# -- frames and their code --------------------------------------------------------------------------
def test_a_frame_whose_code_reads_variables_keeps_them_all() -> None:
    def reading(x):
        return locals()

    assert may_read_own_variables(reading.__code__) and not may_read_own_variables(plain.__code__)


@pytest.mark.parametrize(
    ("function", "expected"), [(locals, True), (sys._getframe, True), (globals, True), (len, False)]
)
def test_a_function_that_reads_the_frame_of_its_caller_is_known(function, expected) -> None:
    assert reads_frame(wrapped(trace_of(plain.__code__), function)) is expected


def test_a_parameter_is_named_after_the_variable_of_the_outermost_frame() -> None:
    names = [parameter_names.local_name(name, 0) for name in ("x", "stack_1", "local_y", ".0")]
    assert names == ["x", "local_0_stack_1", "local_0_local_y", "hidden_2e30"]
    assert parameter_names.local_name("x", 2) == "local_2_x"
    assert parameter_names.variable_of("local_0_stack_1") == "stack_1"
    assert parameter_names.is_variable("x") and not parameter_names.is_variable("cell_0_x")


def test_a_value_on_the_stack_is_the_expression_that_computed_it() -> None:
    operations = frame_at(plain, 1, x=1, y=2).machine.frame.reading.operations
    index = next(i for i, one in enumerate(operations) if one.kind == Kind.RETURN)
    assert stack_expressions.stack_expression(plain.__code__, index, 0) == "x + y"


def test_the_innermost_open_switch_says_whether_a_break_is_an_error() -> None:
    machine = trace_of(plain.__code__).machine
    assert not strict_breaks.has_strict_breaks(machine)
    for error in (True, False):
        manager = strict_breaks.error_on_graph_break(error)
        machine.frame.push(machine.tx.wrap(manager.__exit__, Pinned(manager.__exit__, "exit")))
        assert strict_breaks.has_strict_breaks(machine) is error


def test_a_read_without_a_guard_is_an_error_that_names_it() -> None:
    trace = trace_of(plain.__code__, x=1)
    log = fact_check.new_log(trace.interpreter)
    log.note("has its type", Local("x"))
    with pytest.raises(fact_check.UnguardedRead, match=f"has its type: x .read at {__file__}"):
        fact_check.check_facts(log, GuardSet(), [])
    fact_check.check_facts(None, GuardSet(), [])


# -- entries ----------------------------------------------------------------------------------------
def test_a_builder_makes_an_entry_that_is_not_bound_yet() -> None:
    builder = EntryBuilder(FunctionStart(plain), OPTIONS, Policy(None), lambda reason, stack, strict: None)
    built = builder.build([torch.ones(2), 3])
    assert built.reason is None and not built.text.targets and built.graph is not None
    entry = built.text.bind(lambda target: len)
    scope = Scope({"x": torch.ones(2), "y": 3}, globals())
    assert torch.equal(entry.function(*[source.read(scope) for source in entry.loads]), torch.full((2,), 4.0))


@final
class Owner:
    """Makes the functions in which entries go on: here each says which target it was asked for."""

    def function_at(self, target):
        return lambda *values: (target, values)


def test_entries_are_bound_to_continuations_that_they_do_not_own() -> None:
    builder = EntryBuilder(FunctionStart(plain), OPTIONS, Policy(None), lambda reason, stack, strict: None)
    lines, owner = (("return go(1)", 7),), Owner()
    text = replace(builder.build([torch.ones(2), 3]).text, lines=lines, targets={"go": "there"})
    binder = EntryBinder(owner, ends_natively=False)
    entry = binder.bind(text, None)
    assert entry.function(*range(len(entry.loads))) == ("there", (1,))
    prefix = builder.build_partial([torch.ones(2), 3], 1, TraceManner())
    assert prefix is not None and binder.bind_partial(prefix, None).step == prefix.step
    gone = weakref.ref(owner)
    del owner
    assert gone() is None
    with pytest.raises(AssertionError, match="the compiled function is gone"):
        binder.bind(text, None)


def test_a_prefix_stops_before_its_step() -> None:
    builder = EntryBuilder(FunctionStart(plain), OPTIONS, Policy(None), lambda reason, stack, strict: None)
    prefix = builder.build_partial([torch.ones(2), 3], 4, TraceManner())
    assert prefix.step == 4 and len(prefix.text.targets) == 1


def test_without_the_operation_that_raised_nothing_is_recovered(monkeypatch) -> None:
    class Nothing:
        def restore(self, *, blocks: bool) -> None:
            assert not blocks  # those of the caller stay open

    kept = recovery.Recovery(object.__new__(Failures), Policy(None), TraceManner(), ())
    monkeypatch.setattr(Failures, "start", Nothing(), raising=False)
    monkeypatch.setattr(Failures, "find", lambda *args: None)
    with pytest.raises(Unrecoverable):
        kept.prepare(GraphFailed(kept, ValueError("x")), Scope({}, {}), lambda step: None)


def test_an_entry_goes_on_with_what_the_failed_run_has_made() -> None:
    new, other = NewObject(0, list, (), "new"), NewObject(1, list, (), "other")
    assert made_among([new, Local("x"), new]) == (new,)
    made = {new: [1]}
    assert new.read(add_made(Scope({}, {}), made)) is made[new]
    check_made([new], made)
    with pytest.raises(Unrecoverable):
        check_made([new, other], made)


def test_changed_objects_that_differed_have_to_differ_again() -> None:
    def changing(x, y):
        x.append(y[0])

    trace = trace_of(changing.__code__, x=[], y=[1])
    trace.interpreter.run()
    (guard,) = aliasing.distinct_objects(trace.tx.changes, trace.wrapper)
    assert guard.claim == DistinctObjects((Local("x"), Local("y"))) or set(guard.sources) == {
        Local("x"),
        Local("y"),
    }


# -- what users say and read ------------------------------------------------------------------------
def test_what_compile_returned_has_a_session() -> None:
    assert api.session_of(frontend.compile(plain, backend="eager")).function is plain
    assert api.session_of(plain) is None


def test_options_are_checked_when_compile_is_called() -> None:
    assert compile_arguments.require_options(False, None, "eager", None, None, False).backend == "eager"
    with pytest.raises(frontend.InvalidArgument):
        compile_arguments.require_options(1, None, "eager", None, None, False)


def test_a_near_miss_is_suggested() -> None:
    assert near_misses.near_miss("inductr", ["eager", "inductor"]) == ", did you mean 'inductor'?"
    assert near_misses.near_miss("zzz", ["eager"]) == ""


def test_dimensions_count_from_both_ends() -> None:
    assert argument_checks.require_dimensions("f()", [0, -1], 3) == {0, 2}
    with pytest.raises(IndexError, match="dimension 3"):
        argument_checks.require_dimensions("f()", 3, 3)


def test_a_marked_size_that_the_program_fixed_is_an_error() -> None:
    owner = torch.ones(5)
    fixed = Specialized(TensorSize(Local("x"), 0), 5, owner, None)
    dynamic_marks.check_promises([fixed], plain.__code__)  # not marked
    frontend.mark_dynamic(owner, 0)
    with pytest.raises(frontend.DynamicSizeFixed, match="dimension 0 of x"):
        dynamic_marks.check_promises([fixed], plain.__code__)


def test_a_disabled_function_carries_its_reason() -> None:
    native = directives.disable(plain, reason="slow")
    assert native(1) == 3 and "slow" in native.__dict__.values()


def test_a_function_without_a_mark_is_traced_as_any_other() -> None:
    trace = trace_of(plain.__code__)
    assert marked_functions.begin_marked_call(trace.tx, wrapped(trace, plain), (), {}) is None


def test_a_break_that_is_asked_for_carries_its_message() -> None:
    trace = trace_of(plain.__code__)
    assert REGISTRY.current() is REGISTRY.current()
    assert known_functions.answer_is_compiling(trace.tx).as_python_constant() is True
    with pytest.raises(GraphBreak, match="here"):
        known_functions.call_graph_break(trace.tx, Constant("here"))


def test_an_explanation_counts_graphs_and_breaks() -> None:
    def loud(x):
        print(end="")
        return x + 1

    found = frontend.explain(loud)(torch.ones(2))
    assert isinstance(found, Explanation)
    assert (found.graph_count, found.break_count) == (1, 1) and "1 graph break" in found.text()


def test_a_topic_that_is_not_asked_for_is_not_logged(monkeypatch) -> None:
    monkeypatch.setattr(events, "log", lambda *said: pytest.fail("logged"))
    reports.report_dynamic(plain.__name__, [])
    reports.report_changes(plain.__name__, [])


def test_a_changed_list_is_named_as_the_program_does() -> None:
    trace = trace_of(plain.__code__, x=[])
    places = ChangePlaces(trace.machine)
    changed = trace.machine.frame.locals["x"].realize()
    trace.tx.changes.on_change(changed)
    assert places.describe(changed)[0][0] == "x (list)"


def test_a_bug_of_ours_is_a_warning_that_names_the_function() -> None:
    with pytest.warns(TracingBugWarning, match=r"tracing plain .*KeyError: 'x'"):
        reports.report_bug(KeyError("x"), plain.__code__)


def test_a_warning_names_the_line_of_the_user() -> None:
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        user_warnings.warn("text", UserWarning)
    assert caught[0].filename == __file__ and not user_warnings.is_ours(plain.__code__)


def test_a_line_of_a_library_is_not_the_users() -> None:
    assert user_lines.is_library_file(torch.__file__) and not user_lines.is_library_file(__file__)
    line = plain.__code__.co_firstlineno + 1
    assert user_lines.with_source(user_lines.place_text(__file__, line, "plain")).endswith(
        "in plain: return x + y"
    )


def test_a_stance_says_what_runs(monkeypatch) -> None:
    assert stances.Stance("force_eager").is_eager and not stances.Stance("force_eager").keeps_entries
    assert stances.Stance("eager_then_compile").first_call == "eager"
    with pytest.raises(frontend.RecompileError, match="plain has to be compiled"):
        stances.Stance("fail_on_recompile").check_recompile("plain", [])
    home = ModuleType("home")
    monkeypatch.setitem(sys.modules, "torch._dynamo.eval_frame", home)
    assert stances.current() == stances.Stance()


def test_where_finds_the_module_of_a_builtin_and_of_an_operation(capsys) -> None:
    assert where.main(["BINARY"]) == 0 and "tracing/opcodes/operators.py" in capsys.readouterr().out
    assert where.main(["no_such_thing"]) == 1


def test_a_trace_that_never_ends_as_planned_runs_natively(monkeypatch):
    def restart(self, values, stop, name, exact):
        raise Restart(PlannedStop(0, None, 0, RunRestNatively(None)))

    monkeypatch.setattr(EntryBuilder, "_trace", restart)
    builder = EntryBuilder(FunctionStart(plain), OPTIONS, Policy(None), lambda reason, stack, strict: None)
    built = builder.build((1,))
    assert (
        built.runs_natively and built.reason is not None and built.reason.kind.id == "nondeterministic-trace"
    )


def test_a_topic_names_code_that_is_there() -> None:
    known = definitions.definitions()
    assert topics.TOPICS and known["EntryBuilder"] and "BINARY" in {post.name for post in tables.signposts()}


def test_a_stack_names_the_innermost_line_of_the_user() -> None:
    own = user_lines.UserLocation(__file__, plain.__code__.co_firstlineno, "plain")
    inner = user_lines.UserLocation(torch.__file__, 1, "torch")
    assert user_lines.innermost_place((own, inner)) == user_lines.with_source(user_lines.place_text(*own))
    assert user_lines.innermost_place((inner,)).startswith(torch.__file__)
    assert user_lines.innermost_place(()) is None
    assert user_lines.stack_text((own,)).splitlines()[0].endswith(", in plain")


def test_near_names_are_suggested_in_their_own_case() -> None:
    known = ("list.append", "Tensor.add_", "BINARY")
    assert near_misses.nearest("binary", known, 3) == ["BINARY"] and near_misses.near_miss("zzz", known) == ""
    assert near_misses.near_miss("list.apend", known) == ", did you mean 'list.append'?"


def test_a_dotted_name_leads_to_the_real_object() -> None:
    assert objects.real_object("torch.add") is torch.add


def test_an_unknown_case_of_the_demo_is_refused(capsys) -> None:
    assert command.run_demo(["nothing"], None, False) == 2 and "no case is called" in capsys.readouterr().out


def test_equal_frames_in_a_row_are_counted() -> None:
    place = user_lines.UserLocation("/no/such/file.py", 3, "deeper")
    said = user_lines.stack_text((place,) * 250).splitlines()
    assert len(said) == 4 and said[-1] == "  [Previous line repeated 247 more times]"
