"""`did you mean ...?`: the nearest known names."""

from collections.abc import Iterable
from difflib import get_close_matches


def nearest(name: str, known: Iterable[str], count: int = 1) -> list[str]:
    """The known names that are close, the nearest first; for one name, the same case goes first."""
    names = list(known)
    lowered = {one.lower(): one for one in names}
    close = get_close_matches(name, names, n=1) if count == 1 else []
    return close or [lowered[one] for one in get_close_matches(name.lower(), lowered, n=count)]


def near_miss(name: str, known: Iterable[str]) -> str:
    """`, did you mean 'x'?` when a known name is close."""
    close = nearest(name, known)
    return f", did you mean {close[0]!r}?" if close else ""
