"""Which topic a question asks for, by its words: without case, plural, underscores, `()` and small words.

`the size guards of a tensor`, `list.append()`  ->  {size, guard, tensor}, {list.append}

The topics and their phrases are in `topics`; the search among names is in `ranking`.
"""

import functools
import re
from collections.abc import Iterable, Iterator
from typing import Final

from framesmith.frontend.signposts.definitions import definitions, is_page
from framesmith.frontend.signposts.tables import Signpost
from framesmith.frontend.signposts.topic import Topic
from framesmith.frontend.signposts.topics import TOPICS

PART_OF_NAME: Final = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|\d+")
"""The words of a name: `HasKey` and `has_key` have two."""
_ENDINGS: Final = (
    *((ending, 4) for ending in ("ation", "ations")),
    ("ing", 3),
    *((ending, 4) for ending in ("ions", "ion")),
    ("ed", 3),
    *((ending, 4) for ending in ("es", "e", "s")),
)
"""Endings, and the fewest letters that remain when one is cut off."""
_FILLERS = frozenset(
    [
        "a",
        "an",
        "the",
        "of",
        "on",
        "with",
        "where",
        "is",
        "are",
        "was",
        "how",
        "for",
        "in",
        "and",
        "to",
        "its",
        "it",
        "by",
        "do",
        "does",
        "i",
        "what",
        "which",
        "when",
        "s",
        "be",
        "can",
        "get",
        "happen",
        "work",
        "if",
        "that",
        "my",
        "there",
    ]
)


def words_of(text: str) -> frozenset[str]:
    """The words that count. A dotted name is one word; small words count only where there are no others."""
    spaced = (
        text.lower().replace("()", " ").replace("'s ", " ").replace("_", " ").replace("graph break", "break")
    )
    words = [_singular(word.strip(".")) for word in re.findall(r"[\w.]+", spaced)]
    return frozenset(word for word in words if word and word not in _FILLERS) or frozenset(
        filter(None, words)
    )


def _singular(word: str) -> str:
    if len(word) < 4 or word.endswith(("ss", "us", "is")) or "." in word:
        return word
    if word.endswith("ies"):
        return word[:-3] + "y"
    return word[:-2] if word.endswith(("sses", "ches", "shes", "xes")) else word.removesuffix("s")


def stem(word: str) -> str:
    """A word without the endings of English: `specialized`, `specialization` and `specialize` are one word."""
    for ending, least in _ENDINGS:
        if word.endswith(ending) and len(word) - len(ending) >= least:
            return word.removesuffix(ending)
    return word


@functools.lru_cache(maxsize=4096)
def _stems_of(text: str) -> frozenset[str]:
    return frozenset(map(stem, words_of(text)))


def exact_topic(question: str) -> Topic | None:
    """The topic that is asked by exactly these words, in any order and with any endings."""
    words = _stems_of(question)
    return next((topic for topic in TOPICS if words in _phrases(topic)), None)


def near_topics(question: str) -> list[Topic]:
    """The topics with a phrase whose words are all in the question: those of one word only if there are no longer ones, and none
    whose phrase is part of another; else the topic with the shortest phrase that has all words of the question.

    A single word asks for a topic only where it is one of its phrases.
    """
    words = _stems_of(question)
    if len(words) < 2:
        return []
    within = [(phrase, topic) for topic in TOPICS for phrase in _phrases(topic) if phrase <= words]
    within = [found for found in within if len(found[0]) > 1] or within
    longest = [topic for phrase, topic in within if not any(phrase < other for other, _ in within)]
    if longest:
        return list(dict.fromkeys(longest))
    around = [(len(phrase), topic) for topic in TOPICS for phrase in _phrases(topic) if words <= phrase]
    return [min(around, key=lambda found: found[0])[1]] if around else []


def topics_with(question: str) -> list[Topic]:
    """The topics with one of the words in a phrase, for near misses."""
    words = _stems_of(question)
    return [topic for topic in TOPICS if any(phrase & words for phrase in _phrases(topic))]


def is_covered(question: str, topics: Iterable[Topic]) -> bool:
    """Whether a phrase of one of the topics has half of the words of the question, so that nothing else is asked."""
    words = _stems_of(question)
    most = max((len(phrase & words) for topic in topics for phrase in _phrases(topic)), default=0)
    return 2 * most >= len(words)


def _phrases(topic: Topic) -> Iterator[frozenset[str]]:
    yield _stems_of(topic.title)
    yield from map(_stems_of, topic.phrases)


def posts_of_topic(topic: Topic) -> list[Signpost]:
    """The steps of a question, with file and line."""
    found = []
    for what, name in topic.steps:
        if is_page(name):
            found.append(Signpost(topic.title, what, name, 1))
        else:
            found += [Signpost(topic.title, f"{what}, {name}", *spot) for spot in definitions()[name][:1]]
    return found


def posts_of_next(name: str, title: str, seen: Iterable[Signpost]) -> list[Signpost]:
    """What to ask next about a name: the title of a topic, with its first step in a file that was not named so far."""
    topic = next(topic for topic in TOPICS if topic.title == title)
    files = {post.file for post in seen}
    new = (post for post in posts_of_topic(topic) if post.file not in files)
    return [Signpost(name, f"see also: {title}", post.file, post.line) for post in new][:1]
