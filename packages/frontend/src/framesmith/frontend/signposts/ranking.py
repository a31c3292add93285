"""Names that are near a question, the most exact first: the last part of a dotted name, then whole words of a name.

Not here: names that are equal to what is asked (`where.find`), and questions (`questions`).
"""

from collections.abc import Iterable

from framesmith.frontend.signposts.questions import PART_OF_NAME, words_of
from framesmith.frontend.signposts.tables import Signpost


def hits(question: str, posts: Iterable[Signpost]) -> list[Signpost]:
    """`append` -> `list.append`, `deque.append` ..., then else names that have all the words: `LOAD_FAST` for `load fast`."""
    asked = question.removesuffix("()").lower()
    words = words_of(question.replace(".", " "))
    ranked = []
    for post in posts:
        name = post.name.lower()
        if name == asked:
            ranked.append((0, post))
        elif name.endswith(f".{asked}"):
            ranked.append((1, post))
        elif words and words <= words_of(" ".join(PART_OF_NAME.findall(post.name))):
            ranked.append((2, post))
    best = [hit for hit in ranked if hit[0] < 2] or ranked
    best.sort(key=lambda hit: (hit[0], len(hit[1].name)))
    return [post for _, post in best]
