"""What users read: names are those of their program, articles and plurals are right, near misses are suggested."""

import pytest
import torch

from framesmith import frontend
from framesmith.frontend import api, events
from framesmith.frontend.where import find, main
from framesmith.guards.words import a_type, write_count


def test_reasons_of_recompiles_name_the_users_variables() -> None:
    def inner(value):
        frontend.graph_break()
        return value.sum() + 1

    def f(x):
        y = x + 1
        return y * inner(y) * len(str(frontend.graph_break()))

    compiled = frontend.compile(f, backend="eager")
    for shape in ((2,), (2, 3), (2, 3, 4)):
        compiled(torch.ones(shape))
    text = "\n".join(api.session_of(compiled).history.recompiles)
    assert "number of dimensions" in text and "local_" not in text and "stack_" not in text


@pytest.mark.parametrize(("kind", "text"), [(int, "an int"), (str, "a str"), (object, "an object")])
def test_a_type_has_its_article(kind: type, text: str) -> None:
    assert a_type(kind) == text


def test_one_is_not_a_plural() -> None:
    assert [write_count(number, "graph break") for number in (0, 1, 2)] == [
        "0 graph breaks",
        "1 graph break",
        "2 graph breaks",
    ]

    def f(x):
        frontend.graph_break()
        return x + 1

    assert "1 graph break," in str(frontend.explain(f)(torch.ones(2)))


def test_errors_of_compile_use_the_right_article() -> None:
    with pytest.raises(TypeError, match="got 3, an int, which cannot be called"):
        frontend.compile(3)


def test_an_unknown_topic_of_the_logs_gets_a_suggestion(monkeypatch, caplog) -> None:
    monkeypatch.setenv("FRAMESMITH_LOGS", "graph_brakes")
    assert events.find_enabled_topics() == frozenset()
    assert "'graph_brakes', did you mean 'graph_breaks'?" in caplog.text


def test_where_shows_reading_and_execution_of_several_names(capsys) -> None:
    assert main(["LOAD_ATTR", "list.append"]) == 0
    text = capsys.readouterr().out
    assert "LOAD_ATTR: opcode, read by" in text and "LOAD_ATTR: opcode, may be read as" in text
    assert "list.append: call" in text
    assert any("opcodes" in post.file for post in find("LOAD_ATTR"))
