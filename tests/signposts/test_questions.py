"""`framesmith where` answers a newcomer's questions in one call: each answer names the files that matter, with lines that exist."""

import pytest
from tools import pages

from framesmith.frontend import where
from framesmith.frontend.signposts.definitions import definitions, is_page
from framesmith.frontend.signposts.questions import words_of
from framesmith.frontend.signposts.topics import TOPICS

ANSWERS = {
    "frontend.disable": ["frontend/directives.py", "frontend/disabled.py"],
    "framesmith.frontend.compile": ["frontend/api.py"],
    "binascii.hexlify": ["callables/pure_rows.py", "core/pure.py"],
    "struct.pack": ["callables/pure_rows.py"],
    "guard text": ["guards/kinds/base.py", "cache/user_names.py"],
    "where sizes are made symbolic": ["cache/specialization.py", "dynamic_marks.py"],
    "mark_unbacked": ["dynamic_marks.py"],
    "patience": ["docs/glossary.md"],
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
    "break on print": ["callables/builtin_functions.py", "graph/breaks/break_kinds.py"],
    "what is reconstructed at a break": [
        "docs/walks.md",
        "exits/emit.py",
        "exits/resumption.py",
        "tracing/frame_state.py",
        "resuming/symbolic.py",
        "resuming/native.py",
    ],
    "recompile limit": ["cache/recompile_limit.py", "cache/unit.py"],
    "nn.Module hooks": ["nn_modules.py", "guards/kinds/modules.py"],
    "super()": ["objects/super_objects.py", "bytecode/supers.py", "opcodes/attributes.py"],
    "automatic dynamic": ["cache/specialization.py"],
    "varying int": ["cache/specialization.py"],
    "tensor argument": ["docs/walks.md"],
    "add a builtin": ["docs/adding/builtin-type.md"],
    "add torch op": ["docs/adding/torch-recipe.md"],
    "add python": ["docs/adding/python-version.md"],
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
    "tensor shape": ["tensor_inputs.py", "guards/kinds/tensor.py"],
    "tensor shape guards": ["tensor_inputs.py"],
    "shape of a tensor": ["tensor_inputs.py"],
    "guards on shape": ["tensor_inputs.py"],
    "guards": ["guards/guard_set.py"],
    "builtin types": ["docs/adding/builtin-type.md"],
    "recipes": ["docs/adding/torch-recipe.md"],
    "closures": ["builtin_types/cells.py"],
    "cache_size_limit": ["cache/recompile_limit.py"],
    "list.append()": ["builtin_types/list_methods.py"],
    "append": ["builtin_types/list_methods.py", "emitting/containers.py"],
    "stance": ["frontend/stances.py"],
    "hook": ["nn_modules.py", "guards/kinds/modules.py"],
    "with": ["docs/adding/context-manager.md"],
    "cache": ["generated/dispatcher.py"],
    "torch.Tensor.item": ["graph/fakes/infer.py", "docs/breaks/tensor-item.md"],
    "torch.Tensor.tolist": ["graph/fakes/infer.py", "docs/breaks/tensor-item.md"],
    "torch.nonzero": ["graph/fakes/infer.py", "docs/breaks/data-dependent-shape.md"],
    "Tensor.nonzero": ["graph/fakes/infer.py", "docs/breaks/data-dependent-shape.md"],
    "item": ["graph/fakes/infer.py", "docs/breaks/tensor-item.md"],
    "load fast": ["opcodes/names.py"],
    "torch.unique": ["docs/breaks/data-dependent-shape.md"],
    "torch.equal": ["docs/breaks/data-dependent-output.md"],
    "torch.manual_seed": ["function_rows.py", "docs/breaks/random-state.md"],
    "tensor-item": ["graph/breaks/break_kinds.py", "graph/fakes/infer.py", "docs/breaks/tensor-item.md"],
    "warnings.warn": ["exits/named_callers.py", "docs/adr/0016"],
    "random.random": ["docs/breaks/random-state.md"],
    "gradient-hook": ["gradients/history.py", "docs/breaks/gradient-hook.md"],
    "register_hook": ["gradients/tensor_hooks.py", "docs/breaks/gradient-hook.md"],
    "tensor hooks": ["gradients/tensor_hooks.py"],
    "autograd hooks": ["gradients/tensor_hooks.py"],
    "with blocks at a break": ["tracing/resume_points.py"],
    "dunder": ["docs/adding/special-method.md"],
    "add a dunder": ["docs/adding/special-method.md"],
    "torch function special rule": ["docs/adding/torch-recipe.md"],
    "turn off for one function": ["frontend/directives.py", "docs/breaks/disabled-function.md"],
    "torch.Tensor.shape": ["tensor_attributes.py", "guards/kinds/tensor.py"],
    "try/except": ["tracing/interpreter.py", "opcodes/exceptions.py"],
    "for loop": ["opcodes/jumps.py"],
    "generator": ["callables/generators.py", "tracing/generators.py"],
    "Python 3.16": ["docs/adding/python-version.md"],
    "support a new Python": ["docs/adding/python-version.md", "bytecode/doctor.py"],
    "special treatment of a torch function": ["docs/adding/torch-recipe.md"],
    "global hooks": ["nn_modules.py"],
    "torch.no_grad": ["torch_contexts/modes.py", "opcodes/exceptions.py"],
    "with torch.no_grad()": ["torch_contexts/modes.py", "opcodes/exceptions.py"],
    "no_grad": ["torch_contexts/modes.py"],
    "context manager": ["torch_contexts/modes.py", "opcodes/exceptions.py"],
    "grad mode": ["torch_contexts/modes.py"],
    "autocast": ["torch_contexts/modes.py"],
    "torch.autocast": ["torch_contexts/modes.py"],
    "optimizer.step": ["docs/optimizer-step.md"],
    "where do two tensors get added": ["operations/binary.py", "tensors/tensors.py"],
    "mutated global replayed": ["opcodes/names.py", "builtin_types/namespaces.py"],
    "store global": ["opcodes/names.py"],
    "where are side effects replayed": ["core/mutation_log.py", "exits/emit.py"],
    "cache limit": ["cache/recompile_limit.py"],
    "compile lock": ["cache/shared_entries.py"],
    "copy.deepcopy": ["objects/copying.py"],
    "how does with torch.no_grad work": ["torch_contexts/modes.py", "opcodes/exceptions.py"],
    "where is autocast handled": ["torch_contexts/modes.py"],
    "what happens when a global variable is assigned": ["opcodes/names.py", "builtin_types/namespaces.py"],
    "what if two arguments are the same tensor": ["frontend/aliasing.py", "wrapping/wrap.py"],
    "in-place operation on an input": ["graph/operations/purity.py", "graph/inputs/inputs.py"],
    "why does a trace start over": ["tracing/replanning.py"],
    "is compile thread safe": ["cache/shared_entries.py", "generated/dispatcher.py"],
    "an f-string with a tensor in it": ["callables/deferred_text.py"],
    "dataclass instances": ["objects/instances.py", "objects/dataclasses.py"],
    "how is copy.deepcopy traced": ["objects/copying.py"],
    "random numbers in a function": ["docs/breaks/random-state.md"],
    "writing to a nonlocal variable": ["builtin_types/cells.py", "opcodes/names.py"],
    "how does a generator survive a graph break": ["callables/generators.py"],
    "a view of an input tensor": ["graph/inputs/storage_offsets.py"],
    "how do two tensors get multiplied": ["operations/binary.py", "tensors/tensors.py"],
    "guard on the order of dict keys": ["guards/kinds/containers.py"],
    "where are weak references handled": ["objects/weak_references.py"],
    "how is isinstance evaluated": ["callables/type_functions.py"],
    "how many times may a function be compiled again": ["cache/recompile_limit.py"],
    "where does a numpy array become a tensor": ["numpy_values/numpy_arrays.py"],
    "what does enable_grad do inside a compiled function": ["torch_contexts/modes.py"],
    "changing a list that was passed in": ["core/mutation_log.py"],
    "deleting a global": ["opcodes/names.py"],
    "two inputs share memory": ["frontend/aliasing.py"],
    "what if two threads compile at once": ["cache/shared_entries.py"],
    "printing a tensor in an f-string": ["callables/deferred_text.py"],
    "reading a field of a dataclass": ["objects/dataclasses.py"],
    "how is backward called inside a compiled function": ["gradients/backward_calls.py"],
    "where is a random seed set": ["torch_functions/function_rows.py"],
    "cell variables of a closure that change": ["builtin_types/cells.py"],
    "yield inside a for loop": ["callables/generators.py"],
    "slicing a tensor": ["tensors/subscripts.py"],
    "subtracting a number from a tensor": ["operations/binary.py"],
    "how are enum members compared": ["objects/enums.py"],
    "what is exported when I call export": ["frontend/export.py"],
    "lambda with default arguments": ["callables/nested_functions.py"],
    "context variables": ["objects/context_variables.py"],
    "where is inductor called": ["graph/backends/backend.py"],
    "why was my function recompiled": ["cache/unit.py"],
    "functools.partial of a function": ["callables/partials.py"],
}


@pytest.mark.parametrize("question", ANSWERS)
def test_one_call_answers(question, capsys) -> None:
    assert where.main([question]) == 0
    lines = capsys.readouterr().out.splitlines()
    for file in ANSWERS[question]:
        assert any(file in line for line in lines), lines
    assert len(lines) <= 12


@pytest.mark.parametrize("question", [question for question in ANSWERS if " " in question])
def test_a_question_needs_no_quotes(question, capsys) -> None:
    assert where.main([question]) == 0
    quoted = capsys.readouterr().out
    assert where.main(question.split()) == 0
    assert capsys.readouterr().out == quoted


def test_an_opcode_is_told_in_the_order_of_execution(capsys) -> None:
    assert where.main(["BINARY_OP"]) == 0
    said = capsys.readouterr().out.splitlines()
    order = ["read by", "read as BINARY", "begin_binary", "reflects_first", "see also: operators on tensors"]
    assert [next(i for i, line in enumerate(said) if word in line) for word in order[:-1]] == [0, 1, 2, 3]
    assert order[-1] in said[-1] and "tensors/tensors.py" in said[-1]


@pytest.mark.parametrize("question", ["builtin type", "support a new Python", "recipe", "torch.no_grad"])
def test_a_topic_is_not_followed_by_what_has_similar_words(question) -> None:
    topics = {topic.title for topic in TOPICS}
    found = [post for post in where.find(question) if post.file != "docs/glossary.md"]
    assert {post.name for post in found} <= topics


def test_what_is_meant_stands_above_guesses(capsys) -> None:
    where.main(["recompole limit"])
    assert "did you mean" in capsys.readouterr().out.splitlines()[0]


def test_several_names_are_answered_one_by_one(capsys) -> None:
    assert where.main(["list.append", "LOAD_ATTR", "GuardSet.add"]) == 0
    said = capsys.readouterr().out
    assert all(file in said for file in ("list_methods.py", "opcodes/attributes.py", "guard_set.py"))


@pytest.mark.parametrize(
    "question", ["__init__", "torch", "tensor", "add", "x", "the", "a tensor", "unknown words here"]
)
def test_no_question_is_answered_by_a_flood(question, capsys) -> None:
    where.main(question.split())
    where.main([question])
    assert len(capsys.readouterr().out.splitlines()) <= 2 * (where.MOST_LINES + 1)


@pytest.mark.parametrize("part", ["stance", "hook", "with", "cache"])
def test_a_word_is_not_found_inside_of_another(part) -> None:
    assert not [
        post for post in where.find(part) if post.name.endswith(("instance", "combinations_with_replacement"))
    ]


def test_the_last_part_of_a_name_goes_before_words_of_one() -> None:
    names = [post.name for post in where.find("append")]
    assert "list.append" in names[:4] and names[-1] == "append"


@pytest.mark.parametrize(
    ("wrong", "right"),
    [("lst.append", "list.append"), ("LOAD_ATR", "LOAD_ATTR"), ("recompole limit", "recompile limit")],
)
def test_a_near_miss_is_suggested(wrong, right, capsys) -> None:
    is_question = " " in wrong  # whose words are looked up in docstrings
    assert where.main([wrong]) == (0 if is_question else 1)
    said = capsys.readouterr().out
    assert "did you mean" in said and right in said


@pytest.mark.parametrize("topic", TOPICS, ids=lambda topic: topic.title)
def test_what_a_topic_names_is_there_once(topic) -> None:
    for _, name in topic.steps:
        if is_page(name):
            assert (pages.ROOT / name).exists(), name
        else:
            assert len(definitions().get(name, ())) == 1, (name, definitions().get(name))


def test_no_phrase_asks_two_questions() -> None:
    phrases = [words_of(phrase) for topic in TOPICS for phrase in topic.phrases]
    assert [phrase for phrase in phrases if phrases.count(phrase) > 1] == []


def test_rows_of_the_page_can_be_read() -> None:
    text = (pages.ROOT / "docs" / "where-is.md").read_text()
    names = text.partition("## What a user calls")[2]
    assert max(map(len, names.splitlines())) < 480 and "pybind11" not in text
