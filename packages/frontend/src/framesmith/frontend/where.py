"""`python -m framesmith.frontend.where list.append LOAD_ATTR`: file and line of the code that handles a thing.

Known are: what a user calls (`list.append`, `torch.add`), operations (`BINARY`), native opcodes (`BINARY_OP`, with the
whole chain), kinds of guards and sources, graph breaks by their id, definitions of framesmith (`GuardSet.add`), objects
that can be imported (`torch.optim.Adam.step`), and questions (`recompile limit`, `a new builtin type`).
"""

import re
import sys

from framesmith.bytecode.meaning import Kind
from framesmith.frontend.near_misses import nearest
from framesmith.frontend.signposts.definitions import definitions
from framesmith.frontend.signposts.objects import posts_of, real_object, topic_of
from framesmith.frontend.signposts.tables import Signpost, signposts, signposts_of_step
from framesmith.frontend.signposts.topics import TOPICS, Topic

_READ_AS = re.compile(r"may be read as (\w+)")
_FILLERS = frozenset(
    {"a", "an", "the", "of", "on", "with", "where", "is", "how", "for", "in", "and", "to", "its"}
)


def find(name: str) -> list[Signpost]:
    """Signposts with this name; else those of the question or the object that it means; else those that contain it."""
    everything = list(signposts())
    found = [post for post in everything if post.name in (name, f"torch.{name}")]
    found += [post for kind in _kinds(name, found) for post in signposts_of_step(kind)]
    topics = _topics(name)
    if not found and not topics:
        value = real_object(name)
        if value is not None:
            found += posts_of(name, value)
            about = topic_of(value)
            topics = [] if about is None else _topics(about)
    found += [post for topic in topics for post in posts_of_topic(topic)]
    if not found:
        found = [Signpost(name, "defined in", *spot) for spot in definitions().get(name, ())]
    return found or [post for post in everything if name.lower() in post.name.lower()]


def _kinds(name: str, found: list[Signpost]) -> list[Kind]:
    """The operations that an opcode, or the name of an operation, leads to."""
    named = [match[1] for post in found if (match := _READ_AS.search(post.what))]
    if name in Kind.__members__ and any(post.what == "operation" for post in found):
        named.append(name)
    return [Kind[one] for one in dict.fromkeys(named)]


def posts_of_topic(topic: Topic) -> list[Signpost]:
    """The steps of a question, with file and line."""
    found = []
    for what, name in topic.steps:
        if name.startswith("docs/"):
            found.append(Signpost(topic.title, what, name, 1))
        else:
            found += [Signpost(topic.title, f"{what}, {name}", *spot) for spot in definitions()[name][:1]]
    return found


def _topics(question: str) -> list[Topic]:
    """The questions that these words ask: all words of a phrase are there, or the whole question is part of one."""
    words = _words(question)
    exact = [topic for topic in TOPICS if words and any(words == _words(phrase) for phrase in topic.phrases)]
    if exact:
        return exact[:1]
    asked = [topic for topic in TOPICS if any(_words(phrase) <= words for phrase in topic.phrases)]
    longest = max((_longest(topic, words) for topic in asked), default=0)
    return [topic for topic in asked if _longest(topic, words) == longest][:1] if len(words) > 1 else []


def _longest(topic: Topic, words: frozenset[str]) -> int:
    return max(len(found) for phrase in topic.phrases if (found := _words(phrase)) <= words)


def _words(text: str) -> frozenset[str]:
    return frozenset(re.findall(r"[\w.]+", text.lower())) - _FILLERS


def suggestions(name: str) -> list[str]:
    """Known names and questions that are near."""
    known = [post.name for post in signposts()] + [topic.title for topic in TOPICS]
    known += [phrase for topic in TOPICS for phrase in topic.phrases] + [*definitions()]
    return nearest(name, known, 3)


def main(arguments: list[str]) -> int:
    """Print file and line of each thing named in the arguments, or of the question that they ask together.

    Returns 1 when one is not known, else 0.
    """
    whole = " ".join(arguments)
    names = [whole] if len(arguments) > 1 and _topics(whole) else arguments
    missing = 0
    for name in names:
        found = find(name)
        for post in found:
            print(post.text())
        if not found:
            missing = 1
            near = suggestions(name)
            hint = f"; did you mean {', '.join(near)}?" if near else ""
            print(f"{name}: no table, question or definition of framesmith has this name{hint}")
    return missing


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
