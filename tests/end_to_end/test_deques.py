"""Iterators over deques: what they see of later changes, and which changes end them."""

from collections import deque

import pytest
import torch
from tests.end_to_end.support import check_source

from framesmith import frontend

HEAD = """
import sys
import torch
from collections import deque
from framesmith import frontend
def rest(it):
    try: return list(it)
    except RuntimeError as error: return str(error)
native = frontend.disable(rest)
def args(): return [torch.ones(2)]
"""
CHANGES = {
    "replaced": "d[0] = 10",
    "turned around": "d.reverse()",
    "rotated": "d.rotate(1)",
    "rotated by nothing": "d.rotate(0)",
    "rotated all the way": "d.rotate(3)",
    "rotated too far": "d.rotate(10 ** 30)",
    "popped": "d.pop()",
    "popped left": "d.popleft()",
    "cleared": "d.clear()",
    "deleted": "del d[0]",
    "deleted out of range": "del d[9]",
    "repeated once": "d *= 1",
    "repeated twice": "d *= 2",
    "repeated to nothing": "d *= 0",
    "appended": "d.append(5)",
    "appended left": "d.appendleft(5)",
    "extended": "d.extend([5, 6])",
    "extended left": "d.extendleft([5, 6])",
    "extended by nothing": "d.extend([])",
    "inserted": "d.insert(0, 5)",
    "removed": "d.remove(3)",
    "removed in vain": "d.remove(9)",
    "back and forth": "d.append(5); d.pop()",
}
DEQUES = {
    "three": "deque([1, 2, 3])",
    "one": "deque([1])",
    "empty": "deque()",
    "full": "deque([1, 2], 2)",
    "no room": "deque([], 0)",
}


@pytest.mark.parametrize("made", DEQUES)
@pytest.mark.parametrize("name", CHANGES)
def test_an_iterator_sees_the_changes_that_it_sees_in_cpython(name: str, made: str) -> None:
    blocks = ""
    for kind in ("iter", "reversed"):
        for first in ("0", "next(it, None)"):
            blocks += f"""
    d = {DEQUES[made]}; it = {kind}(d); first = {first}; error = None
    try: {CHANGES[name]}
    except (IndexError, ValueError, OverflowError, MemoryError) as e: error = str(e)
    out.append((first, rest(it), rest(it), error, list(d)))"""
    check_source(f"{HEAD}def f(x):\n    out = []{blocks}\n    return out, x + 1\n", calls=1)


@pytest.mark.parametrize("name", CHANGES)
@pytest.mark.parametrize("made", ["three", "one", "empty"])
def test_an_iterator_that_the_trace_does_not_see_goes_on_as_in_cpython(name: str, made: str) -> None:
    check_source(f"""{HEAD}
d = {DEQUES[made]}
kept = []
@frontend.disable
def begin(): kept[:] = [iter(d), reversed(d)]
@frontend.disable
def end(): return [rest(kept.pop()), rest(kept.pop())]
def change(x, d):
    try: {CHANGES[name]}
    except (IndexError, ValueError, OverflowError, MemoryError): pass
    return x + 1
def f(x):
    begin()
    return change(x, d), end()
""")


@pytest.mark.parametrize("change", ["d[1] = 7", "d.reverse()", "d.append(4)"])
def test_an_iterator_is_built_over_the_deque_as_it_is(change: str) -> None:
    check_source(f"""{HEAD}
def args(): return [torch.ones(2), deque([1, 2, 3])]
def f(x, d):
    {change}
    it, back = iter(d), reversed(d)
    first = next(it), next(back)
    d[0] = 8
    frontend.graph_break()
    return first, rest(it), native(back), x + 1
""")


def test_a_deque_of_impossible_length_is_an_error_of_the_program() -> None:
    check_source(
        f"{HEAD}def f(x):\n    try: return deque([1], 10 ** 30), x\n    except OverflowError as e: return str(e), x + 1\n"
    )


@pytest.mark.parametrize("change", ["d *= sys.maxsize", "d * sys.maxsize", "sys.maxsize * d"])
def test_a_deque_beyond_memory_is_an_error_of_the_program(change: str) -> None:
    # of two items: CPython sees at once that there is no room
    check_source(
        f"{HEAD}def f(x):\n    d = deque([1, 2])\n    try: {change}\n    except MemoryError: x = x + 1\n    return d, x\n",
        breaks=0,
    )


def test_a_maximal_length_that_changes_between_calls() -> None:
    """It is no number of the graph: each has an entry of its own."""

    def run(x: torch.Tensor, given: deque[object]) -> tuple[torch.Tensor, int]:
        given.append(x.sum())
        return x * 2, len(given)

    compiled = frontend.compile(run, backend="eager")
    for limit in (3, 3, 2, None, 3, 4, 0, None, 2):
        lengths = []
        for function in (run, compiled):
            given: deque[object] = deque([1.0, 2.0], maxlen=limit)
            lengths.append([function(torch.ones(2), given)[1] for _ in range(3)])
        assert lengths[0] == lengths[1]
