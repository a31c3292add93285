"""`python -m framesmith.frontend.where list.append LOAD_ATTR`: file and line of the code that handles a thing.

Known are: what a user calls (`list.append`, `torch.add`), operations (`BINARY`), native opcodes (`BINARY_OP`, with the
whole chain), kinds of guards and sources, graph breaks by their id, definitions of framesmith (`GuardSet.add`), objects
that can be imported (`torch.optim.Adam.step`), words of the glossary (`patience`), and questions (`recompile limit`,
`a new builtin type`), in any order of their words. What each kind of name leads to is in `signposts`.
"""

import os
import re
import sys
from collections.abc import Iterator, Sequence

from framesmith.bytecode.meaning import Kind
from framesmith.frontend.near_misses import nearest
from framesmith.frontend.signposts.breaking import (
    kind_of_call,
    kinds_in,
    page_of,
    posts_of_call,
    posts_of_kind,
)
from framesmith.frontend.signposts.definitions import definitions, find_inside
from framesmith.frontend.signposts.glossary import posts_of_term
from framesmith.frontend.signposts.objects import find_row, posts_of, real_object, topic_of
from framesmith.frontend.signposts.prose import best_described
from framesmith.frontend.signposts.questions import (
    exact_topic,
    is_covered,
    near_topics,
    posts_of_next,
    posts_of_topic,
    topics_with,
)
from framesmith.frontend.signposts.ranking import hits
from framesmith.frontend.signposts.tables import Signpost, signposts, signposts_of_step
from framesmith.frontend.signposts.topic import Topic
from framesmith.frontend.signposts.topics import SEE_ALSO, TOPICS

_READ_AS = re.compile(r"may be read as (\w+)")
_OF_FRONTEND = re.compile(r"(?:framesmith\.)?frontend\.(\w+)")
_FRONTEND = os.path.join("framesmith", "frontend", "")

MOST_LINES = 20
"""The most lines that are printed for one name; how many more there are is said."""

ENOUGH = 12
"""What has so many lines is not filled up with definitions whose docstring has the words of a question."""

MOST_BY_WORDS = 6
"""The most definitions that are named because their docstring has the words of a question."""


def find(name: str) -> list[Signpost]:
    """Signposts with this name, and of the question that it asks; else those of a definition, an object, a name near it."""
    name = name.strip().removesuffix("()")
    public = _OF_FRONTEND.fullmatch(name)
    if public is not None and (found := _of_frontend(name, public[1])):
        return found
    everything = list(signposts())
    found = _in_order(name, [post for post in everything if post.name in (name, f"torch.{name}")])
    about = exact_topic(name)
    if not found and about is None:
        found, about = _of_object(name)
    if not found and about is None:
        about = exact_topic(name.replace(".", " "))
    found += list(_breaks(found))
    found += posts_of_topic(about) if about is not None else []
    if not found:
        found = hits(name, everything)
        places = definitions().get(name) or find_inside(name)
        found += [Signpost(name, "defined in", *place) for place in places]
        topics = near_topics(name)
        asked = [post for topic in topics for post in posts_of_topic(topic)]
        found = asked or found
        found += list(_breaks(found)) if len(found) <= MOST_LINES else []
        if " " in name and (not is_covered(name, topics) if topics else not found):
            rest = min(MOST_BY_WORDS, max(ENOUGH - len(found), 0))
            found += best_described(name, MOST_BY_WORDS)[:rest]
    return list(dict.fromkeys([*found, *posts_of_term(name)]))


def _of_frontend(name: str, public: str) -> list[Signpost]:
    """Where a public name of the frontend is defined, as users write it (`frontend.disable`), and the question that it asks."""
    places = [place for place in definitions().get(public, ()) if place[0].startswith(_FRONTEND)]
    about = exact_topic(public)
    posts = [Signpost(name, "defined in", *place) for place in places]
    return list(dict.fromkeys([*posts, *(posts_of_topic(about) if about is not None else [])]))


def _in_order(name: str, posts: Sequence[Signpost]) -> list[Signpost]:
    """The signposts with this name; those of an opcode in the order in which an instruction passes them.

    The rows that read it; for each operation that it may be, first the one that it is named after: the step that executes
    it, and what this one uses; then what to ask next.
    """
    kinds = sorted(_kinds(name, posts), key=lambda kind: not name.startswith(kind.name))
    steps = [(post, match[1]) for post in posts if (match := _READ_AS.search(post.what))]
    found = [post for post in posts if not _READ_AS.search(post.what)]
    for kind in kinds:
        found += [post for post, read_as in steps if read_as == kind.name]
        found += signposts_of_step(kind)
    for title in dict.fromkeys(SEE_ALSO[kind.name] for kind in kinds if kind.name in SEE_ALSO):
        found += posts_of_next(name, title, found)
    return found


def is_name(name: str) -> bool:
    """Whether this is exactly a name in a table or of a definition, or has a dot, which words of a question have not."""
    plain = name.removesuffix("()")
    return (
        "." in plain.strip(".")
        or plain in definitions()
        or any(post.name in (plain, f"torch.{plain}") for post in signposts())
    )


def _of_object(name: str) -> tuple[list[Signpost], Topic | None]:
    """The signposts of an object that can be imported, and the topic that it belongs to."""
    value = real_object(name)
    if value is None:
        return [], None
    about = topic_of(value)
    found = list(posts_of(name, value))
    return found, None if about is None else exact_topic(about)


def _kinds(name: str, found: Sequence[Signpost]) -> list[Kind]:
    """The operations that an opcode, or the name of an operation, leads to."""
    named = [match[1] for post in found if (match := _READ_AS.search(post.what))]
    if name in Kind.__members__ and any(post.what == "operation" for post in found):
        named.append(name)
    return [Kind[one] for one in dict.fromkeys(named)]


def _breaks(found: Sequence[Signpost]) -> Iterator[Signpost]:
    """What is to be said of graph breaks: for the id of a kind, and for calls that end in one."""
    for post in found:
        if post.what == "graph break":
            yield from posts_of_kind(post.name)
        elif post.what == "call":
            kind = kind_of_call(post.name)
            if kind is not None:
                yield from posts_of_call(post.name, kind)
                continue
            row = find_row(real_object(post.name))
            if row is not None and not row.function.__qualname__.startswith("record_function."):
                yield from (page_of(post.name, one) for one in kinds_in(row.function))


def _is_guess(name: str, found: Sequence[Signpost]) -> bool:
    """Whether all that was found has the words of a question in its docstring, no more."""
    return " " in name and found == [*best_described(name, MOST_BY_WORDS)]


def suggestions(name: str) -> list[str]:
    """Known names and questions that are near."""
    known = [post.name for post in signposts()] + [topic.title for topic in TOPICS]
    known += [phrase for topic in TOPICS for phrase in topic.phrases] + [*definitions()]
    return [*nearest(name, known, 3), *(topic.title for topic in topics_with(name))][:3]


def questions_of(arguments: Sequence[str]) -> list[str]:
    """What the arguments ask: one question that needs no quotes, or one name each."""
    whole = " ".join(arguments)
    if len(arguments) < 2 or (exact_topic(whole) is None and all(map(is_name, arguments))):
        return list(arguments)
    return [whole]


def main(arguments: list[str]) -> int:
    """Print file and line of each thing named in the arguments, or of the question that they ask together.

    Returns 0, 1 when one is not known, or 2 when nothing is asked.
    """
    if not arguments or {"-h", "--help"} & {*arguments}:
        print(__doc__)
        return 0 if arguments else 2
    missing = 0
    for name in questions_of(arguments):
        found = find(name)
        if not found:
            missing = 1
        if not found or _is_guess(name, found):
            near = suggestions(name)
            hint = f"; did you mean {', '.join(near)}?" if near else ""
            said = "no table, question or definition of framesmith has this name"
            print(f"{name}: {f'{said}; nearest by their descriptions' if found else said}{hint}")
        for post in found[:MOST_LINES]:
            print(post.text())
        if len(found) > MOST_LINES:
            print(f"{name}: {len(found) - MOST_LINES} more; ask for a longer name")
    return missing


if __name__ == "__main__":
    try:
        sys.exit(main(sys.argv[1:]))
    except BrokenPipeError:
        # `where ... | head`: nobody reads on; what is left in the buffer would be reported at exit
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
