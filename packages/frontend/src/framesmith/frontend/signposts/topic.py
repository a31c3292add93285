"""One question that is no name in a table, as data; the questions themselves are in `topics` and `program_topics`."""

from dataclasses import dataclass
from typing import final


@final
@dataclass(frozen=True, slots=True)
class Topic:
    """One question: `phrases` are ways to ask it, words in any order."""

    title: str
    phrases: tuple[str, ...]
    steps: tuple[tuple[str, str], ...]
