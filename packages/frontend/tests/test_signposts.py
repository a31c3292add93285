"""The parts of `framesmith where`: words of a question, hits by rank, and the breaks of calls."""

import functools
from pathlib import Path

import pytest
import torch

from framesmith.frontend.signposts import definitions
from framesmith.frontend.signposts.breaking import kind_of_call, kinds_in, posts_of_kind
from framesmith.frontend.signposts.glossary import posts_of_term
from framesmith.frontend.signposts.graph_topics import GRAPH_TOPICS
from framesmith.frontend.signposts.house_topics import HOUSE_TOPICS
from framesmith.frontend.signposts.objects import find_row
from framesmith.frontend.signposts.program_topics import PROGRAM_TOPICS
from framesmith.frontend.signposts.prose import best_described
from framesmith.frontend.signposts.questions import (
    exact_topic,
    is_covered,
    near_topics,
    posts_of_topic,
    words_of,
)
from framesmith.frontend.signposts.ranking import hits
from framesmith.frontend.signposts.tables import Signpost
from framesmith.frontend.signposts.topic import Topic
from framesmith.frontend.where import find, questions_of
from framesmith.graph.breaks.break_kinds import (
    DATA_DEPENDENT_OUTPUT,
    DATA_DEPENDENT_SHAPE,
    NATIVE_CALL,
    PRINT_OR_LOG,
    TENSOR_ITEM,
)
from framesmith.variables.callables.builtin_functions import call_print

MEAN_THE_SAME = [
    ("guards on the shape of a tensor", "tensor shape guard"),
    ("cache_size_limit", "Cache size limits"),
    ("list.append()", "list.append"),
    ("An optimizer's step", "optimizer step"),
    ("queries, classes, boxes", "query class box"),
]


@pytest.mark.parametrize(("one", "other"), MEAN_THE_SAME)
def test_two_questions_are_the_same(one, other) -> None:
    assert words_of(one) == words_of(other)


def test_small_words_count_only_where_there_are_no_others() -> None:
    assert words_of("with") == {"with"} and words_of("with a class") == {"class"}
    assert words_of("the status of a class") == {"status", "class"}


def test_endings_do_not_count() -> None:
    assert exact_topic("adding two tensors") is exact_topic("two tensors get added") is not None
    assert exact_topic("recompiling") is exact_topic("recompilation")


def test_a_question_about_a_program_is_a_topic() -> None:
    assert exact_topic("torch.no_grad") in PROGRAM_TOPICS and exact_topic("cache limit") not in PROGRAM_TOPICS


@pytest.mark.parametrize("words", ["mask assignment", "empty batch", "borrowed reference"])
def test_a_question_about_a_graph_is_a_topic(words: str) -> None:
    assert exact_topic(words) in GRAPH_TOPICS


@pytest.mark.parametrize("words", ["run the tests of one layer", "changelog", "wrong answer"])
def test_a_question_about_the_work_is_answered_by_pages(words: str) -> None:
    topic = exact_topic(words) or near_topics(words)[0]
    assert topic in HOUSE_TOPICS
    assert any(definitions.is_page(post.file) for post in posts_of_topic(topic))


def test_a_topic_that_has_half_of_the_words_answers_alone() -> None:
    topic = Topic("views", ("view of tensor",), ())
    assert is_covered("a view of a large tensor", [topic])
    assert not is_covered("a view from the highest mountain here", [topic])


def test_a_part_of_a_phrase_asks_only_where_it_has_two_words() -> None:
    assert near_topics("tensor shape") == [exact_topic("tensor shape guard")]
    assert near_topics("tensor") == []


def test_all_topics_of_a_question_answer_without_those_of_a_shorter_phrase() -> None:
    titles = [topic.title for topic in near_topics("a graph break inside a try block")]
    assert titles == ["a graph break inside of `try` or `with`"]
    assert len(near_topics("inductor and generators")) == 2


def test_a_question_without_a_topic_is_answered_by_docstrings() -> None:
    files = [post.file for post in best_described("wrong results of inductor", 6)]
    assert "framesmith/graph/backends/inductor_bugs.py" in files
    assert max(map(files.count, files)) <= 2


def test_words_that_no_docstring_has_find_nothing() -> None:
    assert best_described("qwertz uiopue", 6) == ()


def test_hits_are_ranked() -> None:
    posts = [
        Signpost(name, "call", "f", 1) for name in ("a.appendix", "deque.append", "list.append", "append_all")
    ]
    assert [post.name for post in hits("append", posts)] == ["list.append", "deque.append"]
    assert [post.name for post in hits("all append", posts)] == ["append_all"]
    assert not hits("pen", posts)


@pytest.mark.parametrize(
    ("name", "kind"),
    [
        ("torch.Tensor.item", TENSOR_ITEM),
        ("torch.Tensor.nonzero", DATA_DEPENDENT_SHAPE),
        ("torch.masked_select", DATA_DEPENDENT_SHAPE),
        ("torch.equal", DATA_DEPENDENT_OUTPUT),
        ("torch.add", None),
        ("list.index", None),
        ("torch.no_such_function", None),
    ],
)
def test_what_needs_data_breaks(name, kind) -> None:
    assert kind_of_call(name) is kind


def test_what_needs_data_breaks_indeed() -> None:
    with torch._subclasses.FakeTensorMode() as mode, pytest.raises(Exception, match=r"aten\.nonzero"):
        torch.nonzero(mode.from_tensor(torch.ones(3)))


def test_a_function_that_was_wrapped_keeps_its_row() -> None:
    @functools.wraps(torch.save)
    def wrapped(value, file):
        return torch.save(value, file)

    row = find_row(wrapped)
    assert row is not None and [*kinds_in(row.function)] == [NATIVE_CALL]
    assert find_row(3) is None


def test_the_kinds_that_a_row_names_and_where_one_is_raised() -> None:
    assert [*kinds_in(call_print)] == [PRINT_OR_LOG]
    files = [post.file for post in posts_of_kind("print-or-log")]
    assert files[0] == "docs/breaks/print-or-log.md" and files[1].endswith("callables/builtin_functions.py")


@pytest.mark.parametrize(
    ("name", "file"),
    [
        ("ord", "core/folding.py"),
        ("struct.pack", "core/folding.py"),
        ("str.upper", "core/folding.py"),
        ("handle_miss", "cache/unit.py"),
        ("specialization", "cache/specialization.py"),
    ],
)
def test_pure_functions_methods_without_their_class_and_modules_are_found(name, file) -> None:
    assert any(file in post.text() for post in find(name))


def test_an_unknown_name_does_not_hide_a_known_one() -> None:
    assert questions_of(["list.append", "nothing.of_this_name"]) == ["list.append", "nothing.of_this_name"]
    assert questions_of(["recompile", "limit"]) == ["recompile limit"]


LIST = "framesmith/variables/builtin_types/list_methods.py"


@pytest.mark.parametrize(
    ("root", "source", "page"),
    [
        ("/site/framesmith/{}", f"/site/{LIST}", "in the repository: docs/config.md"),
        ("/checkout/packages/{0}/src/framesmith/{0}", f"packages/variables/src/{LIST}", "docs/config.md"),
    ],
)
def test_a_path_is_one_that_can_be_opened(root, source, page, monkeypatch) -> None:
    folders = [Path(root.format(layer)) for layer in ("bytecode", "variables", "frontend")]
    monkeypatch.setattr(definitions, "layers", lambda: iter(folders))
    assert definitions.where_it_lies(LIST) == source
    assert definitions.where_it_lies("docs/config.md") == page
    assert definitions.where_it_lies("/elsewhere/module.py") == "/elsewhere/module.py"


@pytest.mark.parametrize(
    "term", ["patience", "as captured", "realize", "tx", "Replacing backend", "compiled units"]
)
def test_a_word_of_the_glossary_has_its_line(term) -> None:
    (post,) = posts_of_term(term)
    assert post.file == "docs/glossary.md" and post in find(term)
    assert not posts_of_term("term") and not posts_of_term("no such word")
