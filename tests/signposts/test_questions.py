"""`framesmith where` answers a newcomer's questions in one call: each answer names the files that matter, with lines that exist."""

import pytest
from tools import pages

from framesmith.frontend import where
from framesmith.frontend.signposts.definitions import definitions
from framesmith.frontend.signposts.topics import TOPICS

ANSWERS = {
    "list.append": ["builtin_types/list_methods.py"],
    "BINARY_OP": [
        "operation_tables.py",
        "opcodes/operators.py",
        "callables/operator_calls.py",
        "operations/binary.py",
    ],
    "tensor shape guard": [
        "tensor_inputs.py",
        "guards/kinds/tensor.py",
        "guards/program.py",
        "guards/kinds/shapes.py",
    ],
    "break on print": ["callables/builtin_functions.py", "graph/break_kinds.py"],
    "recompile limit": ["cache/recompile_limit.py", "cache/unit.py"],
    "nn.Module hooks": ["nn_modules.py", "guards/kinds/modules.py"],
    "super()": ["objects/super_objects.py", "bytecode/supers.py", "opcodes/attributes.py"],
    "automatic dynamic": ["cache/specialization.py"],
    "an optimizer's step": ["docs/optimizer-step.md", "grouped_tensors.py", "recipes.py"],
    "a new Python version": ["docs/adding/python-version.md", "bytecode/opcodes.py"],
    "a new builtin type": ["docs/adding/builtin-type.md"],
    "a torch function with a recipe": ["docs/adding/torch-recipe.md", "recipes.py"],
    "Tensor.addcdiv_": ["recipes.py"],
    "torch.Tensor.addcdiv_": ["recipes.py"],
    "nn.Module": ["nn_modules.py"],
    "torch.nn.Linear.forward": ["nn_modules.py"],
    "torch.optim.Adam.step": ["docs/optimizer-step.md", "grouped_tensors.py"],
    "collections.deque": ["builtin_types/deque_methods.py"],
    "json.dumps": ["json/__init__.py", "callables/functions.py"],
    "GuardSet.add": ["guards/guard_set.py"],
    "LOAD_ATTR": ["operation_tables.py", "opcodes/attributes.py"],
}


@pytest.mark.parametrize("question", ANSWERS)
def test_one_call_answers(question, capsys) -> None:
    assert where.main([question]) == 0
    lines = capsys.readouterr().out.splitlines()
    for file in ANSWERS[question]:
        assert any(file in line for line in lines), lines
    assert len(lines) <= 12


def test_a_question_needs_no_quotes(capsys) -> None:
    assert where.main(["recompile", "limit"]) == 0
    assert "limit_text" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("wrong", "right"),
    [("lst.append", "list.append"), ("LOAD_ATR", "LOAD_ATTR"), ("recompil limit", "recompile limit")],
)
def test_a_near_miss_is_suggested(wrong, right, capsys) -> None:
    assert where.main([wrong]) == 1
    said = capsys.readouterr().out
    assert "did you mean" in said and right in said


@pytest.mark.parametrize("topic", TOPICS, ids=lambda topic: topic.title)
def test_what_a_topic_names_is_there_once(topic) -> None:
    for _, name in topic.steps:
        if name.startswith("docs/"):
            assert (pages.ROOT / name).exists(), name
        else:
            assert len(definitions().get(name, ())) == 1, (name, definitions().get(name))


def test_no_phrase_asks_two_questions() -> None:
    phrases = [phrase for topic in TOPICS for phrase in topic.phrases]
    assert len(phrases) == len(set(phrases))


def test_rows_of_the_page_can_be_read() -> None:
    text = (pages.ROOT / "docs" / "where-is.md").read_text()
    names = text.partition("## What a user calls")[2]
    assert max(map(len, names.splitlines())) < 420 and "pybind11" not in text
