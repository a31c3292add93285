"""Signposts for the words of `docs/glossary.md`: what one means here, and its line."""

import functools
import re
from collections.abc import Mapping
from typing import Final

from framesmith.frontend.signposts.definitions import checkout
from framesmith.frontend.signposts.questions import words_of
from framesmith.frontend.signposts.tables import Signpost

_ROW: Final = re.compile(r"\| (?P<terms>[^|]+) \| (?P<meaning>[^|]+) \|(?: (?P<elsewhere>[^|]+) \|)?")


def posts_of_term(name: str) -> list[Signpost]:
    """The line of the glossary with this term; none where there is no such term, or the packages lie in no checkout."""
    found = _terms().get(words_of(name))
    return (
        []
        if found is None
        else [Signpost(name, f"in the glossary: {found[0]}", "docs/glossary.md", found[1])]
    )


@functools.cache
def _terms() -> Mapping[frozenset[str], tuple[str, int]]:
    """Meaning and line of each term; a row may have several, and explain one in brackets. What other projects call it leads there, too."""
    root = checkout()
    page = None if root is None else root / "docs" / "glossary.md"
    if page is None or not page.is_file():
        return {}
    found: dict[frozenset[str], tuple[str, int]] = {}
    elsewhere: dict[frozenset[str], tuple[str, int]] = {}
    for number, line in enumerate(page.read_text(encoding="utf-8").splitlines(), 1):
        row = _ROW.match(line)
        if row is None or row["terms"] == "term" or set(row["terms"]) <= {"-", " "}:
            continue
        meaning = row["meaning"].strip()
        terms = re.sub(r"\(.*?\)|`", "", row["terms"]).split(",")
        for term in terms:
            found.setdefault(words_of(term.strip().removeprefix("to ")), (meaning, number))
        for named in re.split("[;,]", re.sub(r"\(.*?\)|`", "", row["elsewhere"] or "")):
            term = named.rpartition(":")[2].strip()
            if term:
                elsewhere.setdefault(words_of(term), (f"{terms[0].strip()}: {meaning}", number))
    return elsewhere | found
