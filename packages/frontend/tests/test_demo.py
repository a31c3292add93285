"""The demo's own parts: comparing leaves, counting operators, cells of the table. No model of transformers is needed."""

import io

import pytest
import torch
from rich.console import Console

from framesmith.frontend.demo import cases, compare, measure, models, report, run


def mlp() -> cases.DemoProgram:
    """The training step, built anew."""
    return next(case for case in cases.CASES if case.name == "MLP training step").build()


def test_a_case_builds_equal_programs_with_separate_state() -> None:
    first, second = mlp(), mlp()
    assert compare.differences(compare.state(first), compare.state(second)) == []
    compare.call(first, first.target)
    assert compare.differences(compare.state(first), compare.state(second))


def test_the_time_in_graphs_is_not_trace_time() -> None:
    capture = measure.Capture(timing=True)
    once = measure.bind(mlp(), measure.FRAMESMITH.compile(mlp().target, capture))
    seconds = measure.elapsed_outside(capture, once)
    assert capture.in_graphs > 0 and seconds > 0
    assert measure.trace_seconds(measure.FRAMESMITH, mlp, repeats=1) > 0


def test_eager_agrees_with_itself() -> None:
    first, second = mlp(), mlp()
    assert (
        compare.differences(compare.observe(first, first.target), compare.observe(second, second.target))
        == []
    )


@pytest.mark.parametrize(
    ("eager", "compiled"),
    [
        (torch.ones(2), torch.zeros(2)),
        (torch.ones(2), torch.ones(3)),
        (torch.ones(2), torch.ones(2, dtype=torch.float64)),
        (torch.ones(2, requires_grad=True), torch.ones(2)),
        (torch.nn.Parameter(torch.ones(2)), torch.ones(2, requires_grad=True)),
        (1, 1.0),
        (1, True),
        ("a", "b"),
        (None, torch.ones(1)),
        ([1], (1,)),
        ({"a": 1}, {"b": 1}),
    ],
)
def test_a_difference_is_found(eager, compiled) -> None:
    assert compare.differences(dict(compare.leaves(eager, "x")), dict(compare.leaves(compiled, "x")))


def test_a_difference_shows_both_sides() -> None:
    (found,) = compare.differences({"x": 1}, {"x": 2})
    assert str(found) == "x: eager 1, compiled 2"


def test_what_is_printed_counts_as_state() -> None:
    program = cases.loop_with_a_break()
    compare.call(program, program.target)
    assert compare.state(program)["printed"].splitlines() == [f"step {step}" for step in range(5)]


def test_a_capture_records_the_runs_of_its_graph() -> None:
    capture = measure.Capture(recording=True)
    compiled = capture(torch.fx.symbolic_trace(lambda x: torch.sin(x) + 1), [])
    compiled(torch.ones(2))
    assert (capture.operators, len(capture.runs)) == (2, 1)


def test_a_warning_of_a_bug_is_a_row_that_failed(monkeypatch) -> None:
    def make(build):
        raise KeyError("a bug")

    case = next(case for case in cases.CASES if case.name == "MLP training step")
    monkeypatch.setattr("framesmith.frontend.cache.unit.CompiledUnit._make_builder", make)
    row = run.run(case, "eager", measured=False)
    assert not row.passed and "TracingBugWarning" in row.failure and "a bug" in row.failure


def test_a_failed_row_shows_dashes_and_its_text() -> None:
    row = run.CaseRow("BERT", failure="ValueError: why")
    console = Console(file=io.StringIO(), width=160)
    report.explain_failures(console, [row])
    assert not row.passed and report.cells(row)[2:] == ["-"] * (len(report.COLUMNS) - 2)
    assert "ValueError: why" in console.file.getvalue()


def test_a_row_shows_milliseconds_microseconds_and_the_ratio() -> None:
    ours = run.Cost(0.2, measure.Overhead(3e-6, 1e-6))
    theirs = run.Cost(0.4, measure.Overhead(9e-6, 1e-6))
    row = run.CaseRow("add", counts=run.Counts(1, 0, 2, 5), cost=ours, peer=theirs)
    assert report.cells(row)[2:] == ["1", "0", "2", "5", "200", "400", "2.0", "8.0", "0.25"]


def test_without_transformers_the_message_says_what_to_install(monkeypatch) -> None:
    monkeypatch.setattr(models.importlib.util, "find_spec", lambda name: None)
    with pytest.raises(models.MissingTransformers, match=r'pip install "framesmith-frontend\[demo\]"'):
        models.require()


def test_without_a_compiler_the_backend_is_aot_eager(monkeypatch) -> None:
    monkeypatch.setattr(run.shutil, "which", lambda name: None)
    assert run.choose_backend() == "aot_eager"
