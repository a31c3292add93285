"""`mark_dynamic` is a promise: a program that fixes the size all the same is an error that names the line."""

import pytest
import torch

from framesmith import frontend

FIXING = {
    "a branch": "y = x + 1\n    if x.shape[0] == 5: return y * 2\n    return y",
    "an operation": "return x + torch.ones(5)",
    "a shape": "return x.reshape(5)",
    "an index": "return [1, 2, 3, 4, 5, 6][x.shape[0]] + x",
    "a loop": "t = 0\n    for i in range(x.shape[0]): t = t + x[i]\n    return t",
    "a callee": "return callee(x)",
    "after a break": "graph_break()\n    if x.shape[0] == 5: x = x * 2\n    return x + 1",
}
FREE = {
    "a range": "return x if x.shape[0] > 3 else -x",
    "not that size": "return x if x.shape[0] != 7 else -x",
    "a multiple": "return x * 2 if x.shape[0] % 5 == 0 else x",
    "arithmetic": "return x * x.shape[0]",
}
HEAD = """
import torch
from framesmith.frontend import graph_break
def callee(x):
    if x.shape[0] == 5:
        return x * 2
    return x
def f(x):
    """
X = torch.arange(5.0)


def program(body, tmp_path):
    file = tmp_path / "program.py"
    file.write_text(HEAD + body)
    namespace: dict = {}
    exec(compile(file.read_text(), str(file), "exec"), namespace)
    return namespace["f"], (HEAD + body).splitlines()


def marked(mark=frontend.mark_dynamic, tensor=X):
    tensor = tensor.clone()
    mark(tensor, 0)
    return tensor


@pytest.mark.parametrize("name", FIXING)
def test_a_program_that_fixes_a_marked_size_is_an_error(name, tmp_path) -> None:
    function, lines = program(FIXING[name], tmp_path)
    with pytest.raises(frontend.DynamicSizeFixed) as caught:
        frontend.compile(function, backend="eager")(marked())
    text = str(caught.value)
    assert (
        "dimension 0 of x is to differ" in text and "the size 5 only" in text and "maybe_mark_dynamic" in text
    )
    number = int(text.split("program.py:")[2 if text.count("program.py:") > 1 else 1].split(" ")[0])
    assert "5" in lines[number - 1] or "range(" in lines[number - 1] or "6]" in lines[number - 1], text


@pytest.mark.parametrize("name", FREE)
def test_a_program_that_holds_for_more_sizes_is_none(name, tmp_path) -> None:
    function, _ = program(FREE[name], tmp_path)
    assert torch.equal(frontend.compile(function, backend="eager")(marked()), function(X))


@pytest.mark.parametrize("name", FIXING)
def test_maybe_mark_dynamic_is_never_an_error(name, tmp_path) -> None:
    function, _ = program(FIXING[name], tmp_path)
    given = marked(frontend.maybe_mark_dynamic)
    assert torch.equal(frontend.compile(function, backend="eager")(given), function(X))


def test_marks_of_torch_mean_the_same(tmp_path) -> None:
    function, _ = program(FIXING["a branch"], tmp_path)
    with pytest.raises(frontend.DynamicSizeFixed):
        frontend.compile(function, backend="eager")(marked(torch._dynamo.mark_dynamic))
    given = marked(torch._dynamo.maybe_mark_dynamic)
    assert torch.equal(frontend.compile(function, backend="eager")(given), function(X))


def test_the_setting_lets_it_pass_here_and_in_torch(tmp_path) -> None:
    function, _ = program(FIXING["a branch"], tmp_path)
    with frontend.config.patch(allow_ignore_mark_dynamic=True):
        assert torch.equal(frontend.compile(function, backend="eager")(marked()), function(X))
    with torch._dynamo.config.patch(allow_ignore_mark_dynamic=True):
        assert torch.equal(frontend.compile(function, backend="eager")(marked()), function(X))


@pytest.mark.parametrize("size", [0, 1])
def test_a_size_of_zero_or_one_has_an_entry_of_its_own(size) -> None:
    compiled = frontend.compile(lambda x: x * 2, backend="eager")
    for rows in (size, 4, 7, size):
        given = marked(tensor=torch.ones(rows))
        assert torch.equal(compiled(given), torch.full((rows,), 2.0))
    assert len(frontend.api.session_of(compiled).history.entries) == 2


def test_a_broken_promise_is_an_error_at_each_call(tmp_path) -> None:
    function, _ = program(FIXING["a branch"], tmp_path)
    compiled = frontend.compile(function, backend="eager")
    for _ in range(2):
        with pytest.raises(frontend.DynamicSizeFixed):
            compiled(marked())
    assert torch.equal(compiled(X), function(X))


def test_a_guard_on_a_size_names_the_line(tmp_path) -> None:
    function, _ = program(FREE["a multiple"], tmp_path)
    compiled = frontend.compile(function, backend="eager")
    compiled(marked())
    entry = frontend.api.session_of(compiled)._root().dispatcher.entries[0]
    frames = [guard.reason.user_frame for guard in entry.guards if "%" in guard.text()]
    assert frames and "program.py:9" in frames[0]


def sized(mark, rows, **promise):
    tensor = torch.ones(rows, 2)
    mark(tensor, 0, **promise)
    return tensor


@pytest.mark.parametrize("mark", [frontend.mark_dynamic, torch._dynamo.mark_dynamic])
def test_a_range_is_promised(mark) -> None:
    graphs = []

    def branch(x):
        return x + 1 if 2 <= x.shape[0] <= 6 else x - 1

    def backend(module, examples):
        graphs.append(module)
        return module

    compiled = frontend.compile(branch, backend=backend, fullgraph=True)
    for rows in (3, 2, 6):
        assert torch.equal(compiled(sized(mark, rows, min=2, max=6)), torch.full((rows, 2), 2.0))
    assert len(graphs) == 1
    with pytest.raises(frontend.SizeOutOfRange, match="dimension 0 of x has the size 9, .* min=2 and max=6"):
        compiled(sized(mark, 9, min=2, max=6))
    assert torch.equal(compiled(torch.ones(9, 2)), torch.zeros(9, 2))


def test_an_open_range() -> None:
    compiled = frontend.compile(lambda x: x * 2, backend="eager")
    compiled(sized(frontend.mark_dynamic, 4, min=3))
    with pytest.raises(frontend.SizeOutOfRange, match="says min=3;"):
        compiled(sized(frontend.mark_dynamic, 2, min=3))


def test_one_graph_serves_all_sizes_that_nothing_is_decided_about() -> None:
    graphs = []

    def backend(module, examples):
        graphs.append(module)
        return module

    compiled = frontend.compile(lambda x: x * 2 + x.sum(0), backend=backend, fullgraph=True)
    for rows in (3, 1, 0, 5):
        assert torch.equal(compiled(sized(frontend.mark_unbacked, rows)), torch.full((rows, 2), rows + 2.0))
    assert len(graphs) == 1
    strict = frontend.compile(lambda x: x if x.shape[0] > 2 else -x, backend="eager", fullgraph=True)
    with pytest.raises(frontend.FullGraphError, match="data-dependent-guard"):
        strict(sized(frontend.mark_unbacked, 3))


UNBACKED = {
    "a branch": lambda x: x if x.shape[0] > 2 else -x,
    "a computed condition": lambda x: x if x.size(0) * 2 != 4 else -x,
    "a list": lambda x: (x, [1] * x.shape[0]),
}


@pytest.mark.parametrize("name", UNBACKED)
def test_a_decision_on_a_size_without_a_value_names_size_and_mark(name) -> None:
    compiled = frontend.compile(UNBACKED[name], backend="eager", fullgraph=True)
    message = r"(u\d+) is x\.size\(0\), marked with mark_unbacked\)(.|\n)*with mark_dynamic in place of mark_unbacked"
    with pytest.raises(frontend.FullGraphError, match=message):
        compiled(sized(frontend.mark_unbacked, 3))
