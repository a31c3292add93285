"""Sorting: what a list that is changed meanwhile gives."""

import pytest
from tests.end_to_end.support import check_source

CHANGES = {
    "appended and popped": "l.append(i); l.pop()",
    "appended": "l.append(i)",
    "cleared while empty": "l.clear()",
    "appended and cleared": "l.append(i); l.clear()",
    "extended by nothing": "l.extend([])",
    "turned around": "l.reverse()",
    "repeated": "l *= 2",
    "read": "seen.append(list(l))",
    "emptied by slice": "l[:] = []",
    "inserted and removed": "l.insert(0, 5); l.remove(5)",
    "sorted": "l.sort()",
    "error": "raise ValueError('of the key')",
    "error of the same text": "raise ValueError('list modified during sort')",
    "error after a change": "l.append(i); raise KeyError(i)",
}


@pytest.mark.parametrize("existing", [False, True])
@pytest.mark.parametrize("place", ["key", "comparison"])
@pytest.mark.parametrize("name", CHANGES)
def test_a_change_during_a_sort_is_noticed_as_in_cpython(name: str, place: str, existing: bool) -> None:
    by = "key=change" if place == "key" else "key=lambda i: Key(i, change)"
    check_source(f"""
import torch
class Key:
    def __init__(self, i, change): self.i = i; self.change = change
    def __lt__(self, other): self.change(self.i); return self.i < other.i
def args(): return [torch.ones(2), [3, 1, 2]]
def f(x, given):
    l = given if {existing} else [3, 1, 2]
    seen = []
    def change(i):
        nonlocal l
        {CHANGES[name]}
        return i
    error = None
    try: l.sort({by})
    except (ValueError, KeyError) as e: error = repr(e)
    return error, l, seen, x + 1
""")
