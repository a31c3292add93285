"""`did you mean ...?`: the nearest known name."""

from collections.abc import Iterable
from difflib import get_close_matches


def near_miss(name: str, known: Iterable[str]) -> str:
    """`, did you mean 'x'?` when a known name is close."""
    names = list(known)
    lowered = {one.lower(): one for one in names}
    close = get_close_matches(name, names, n=1) or get_close_matches(name.lower(), lowered, n=1)
    return f", did you mean {lowered.get(close[0], close[0])!r}?" if close else ""
