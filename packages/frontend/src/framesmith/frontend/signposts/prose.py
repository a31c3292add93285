"""Definitions whose name and docstring answer a question best, for questions that are neither a name nor a topic.

Ranked by BM25 (Robertson and Zaragoza, "The Probabilistic Relevance Framework", 2009): a word counts the more, the fewer
definitions have it, and the shorter the text is that it is found in.
"""

import ast
import functools
import math
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final, final

from framesmith.frontend.signposts.definitions import Place, layers, pages, path_in_package
from framesmith.frontend.signposts.questions import PART_OF_NAME, stem, words_of
from framesmith.frontend.signposts.tables import Signpost

_SATURATION: Final = 1.2
"""BM25's k1: how fast a word that is repeated stops to count. The usual value."""
_LENGTH: Final = 0.75
"""BM25's b: how much long texts are marked down. The usual value."""
_NAME_COUNTS: Final = 2
"""A word in the name of a definition counts like so many in its docstring."""
_MOST_OF_A_FILE: Final = 2
"""So that one file about the words does not hide the others."""
_LEAST_SHARE: Final = 0.5
"""What has less than this share of the best score is not an answer."""
_FILE_SHARE: Final = 0.4
"""How much the text of the whole file counts beside that of one definition in it."""


@final
@dataclass(frozen=True, slots=True)
class Described:
    """A module, class, function or page with its text; `file_words` are those of its whole file."""

    name: str
    summary: str
    place: Place
    words: Counter[str]
    file_words: Counter[str]


@final
@dataclass(frozen=True, slots=True)
class _Weights:
    """How much each word counts, and the mean length of the texts it was measured on."""

    of_word: dict[str, float]
    length: float

    @classmethod
    def of_texts(cls, texts: Sequence[Counter[str]]) -> "_Weights":
        having = Counter(word for text in texts for word in text)
        count = len(texts)
        of_word = {word: math.log(1 + (count - n + 0.5) / (n + 0.5)) for word, n in having.items()}
        return cls(of_word, sum(text.total() for text in texts) / count)

    def score(self, asked: set[str], text: Counter[str]) -> float:
        spread = _SATURATION * (1 - _LENGTH + _LENGTH * text.total() / self.length)
        found = ((self.of_word[word], text[word]) for word in asked if word in text)
        return sum(weight * count * (_SATURATION + 1) / (count + spread) for weight, count in found)


@functools.cache
def best_described(question: str, most: int) -> tuple[Signpost, ...]:
    """The definitions that answer best, at most `most` and two of a file, with the first sentence of their docstrings."""
    asked = {stem(word) for part in words_of(question) for word in PART_OF_NAME.findall(part)}
    texts, weights, file_weights = _index()
    scored = [
        (weights.score(asked, text.words) + _FILE_SHARE * file_weights.score(asked, text.file_words), text)
        for text in texts
        if any(word in text.words for word in asked)
    ]
    scored.sort(key=lambda entry: -entry[0])
    found = list[Signpost]()
    for score, text in scored:
        if len(found) == most or score < scored[0][0] * _LEAST_SHARE:
            break
        if sum(post.file == text.place[0] for post in found) < _MOST_OF_A_FILE:
            found.append(Signpost(text.name, text.summary, *text.place))
    return tuple(found)


@functools.cache
def _index() -> tuple[Sequence[Described], _Weights, _Weights]:
    """All definitions with a docstring and all pages, the weights of words in them, and of words in whole files."""
    texts = [
        text
        for layer in layers()
        for path in sorted(layer.rglob("*.py"))
        if path.parent.name != "signposts"
        for text in _described(path)
    ]
    texts += _pages()
    files = {text.place[0]: text.file_words for text in texts}
    return texts, _Weights.of_texts([text.words for text in texts]), _Weights.of_texts([*files.values()])


def _described(path: Path) -> Iterator[Described]:
    tree = ast.parse(path.read_text(encoding="utf-8"))
    file = path_in_package(str(path))
    module = path.parent.name if path.stem == "__init__" else path.stem
    found = [*_describe(tree, module, module, (file, 1))]
    for node in tree.body:
        if isinstance(node, ast.ClassDef | ast.FunctionDef):
            found += _describe(node, node.name, f"{module} {node.name}", (file, node.lineno))
        if isinstance(node, ast.ClassDef):
            for method in node.body:
                if isinstance(method, ast.FunctionDef):
                    name = f"{node.name}.{method.name}"
                    found += _describe(method, name, f"{module} {name}", (file, method.lineno))
    whole = sum((text.words for text in found), _words_in(file.replace("/", " ")))
    return (replace(text, file_words=whole) for text in found)


def _describe(
    node: ast.Module | ast.ClassDef | ast.FunctionDef, name: str, named_by: str, place: Place
) -> Iterator[Described]:
    docstring = ast.get_docstring(node)
    if docstring is None:
        return
    words = _words_in(docstring)
    for word, count in _words_in(named_by).items():
        words[word] += _NAME_COUNTS * count
    yield Described(name, _first_sentence(docstring), place, words, words)


def _pages() -> Iterator[Described]:
    """The pages by their titles."""
    for path in pages():
        title, _, rest = path.read_text(encoding="utf-8").partition("\n")
        title = title.lstrip("# ")
        words = _words_in(f"{title} {title} {rest}")
        yield Described(title, "a page", (f"docs/{path.parent.name}/{path.name}", 1), words, words)


def _words_in(text: str) -> Counter[str]:
    return Counter(stem(word.lower()) for word in PART_OF_NAME.findall(text))


def _first_sentence(docstring: str) -> str:
    paragraph = " ".join(docstring.partition("\n\n")[0].split())
    return re.split(r"(?<=[a-z`)])\. ", paragraph, maxsplit=1)[0].rstrip(".:")
