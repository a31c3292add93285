"""Cached functions (`functools.lru_cache`) whose code does more than compute: it raises, or changes what the trace has read."""

import pytest
from tests.end_to_end.support import check_source

HEAD = """
import torch, contextlib, functools, itertools, operator
calls, state, numbers, flag = [], {"n": 0}, [0], 1
@functools.lru_cache
def bad(n):
    calls.append(n)
    raise ValueError(n)
class Owner:
    count = 0
    @functools.lru_cache
    def bad(self, n): calls.append(n); raise ValueError(n)
    @staticmethod
    @functools.lru_cache
    def of_none(n): calls.append(n); raise ValueError(n)
    @classmethod
    @functools.lru_cache
    def of_class(cls, n): calls.append(n); raise ValueError(n)
    @property
    @functools.lru_cache
    def field(self): calls.append(1); raise ValueError(3)
    @functools.lru_cache
    def bump(self, n): self.count += n; return n
owner, part = Owner(), functools.partial(bad, 3)
@functools.lru_cache
def bump(k):
    global flag
    flag += k; state["n"] += 1; numbers[0] += 1; numbers.append(k); calls.append(k)
    return k
def args(): return [torch.ones(2)]
"""

RAISING = {
    "itself": "bad(1)",
    "a star": "bad(*(1,), **{})",
    "a keyword": "bad(n=1)",
    "a method": "owner.bad(1)",
    "a bound method": "method = owner.bad; method(2)",
    "a static method": "owner.of_none(1)",
    "a class method": "Owner.of_class(1)",
    "a property": "owner.field",
    "partial": "functools.partial(bad, 1)()",
    "an existing partial": "part()",
    "a partial of a method": "functools.partial(owner.bad, n=4)()",
    "map": "list(map(bad, [1, 2]))",
    "next": "next(map(bad, [3]))",
    "starmap": "list(itertools.starmap(bad, [(1,)]))",
    "filter": "list(filter(bad, [1]))",
    "sorted": "sorted([1, 2], key=bad)",
    "max": "max([1, 2], key=bad)",
    "reduce": "functools.reduce(lambda a, b: bad(b), [1, 2, 3])",
    "a comprehension": "[bad(i) for i in range(3)]",
    "twice": "with contextlib.suppress(ValueError): bad(1)\n        bad(1)",
}

CHANGING = {
    "an item": "a = state['n']; bump(1); b = state['n']; return x + a + b, a, b",
    "an item of a list": "a = numbers[0]; bump(1); b = numbers[0]; return x + a, a, b",
    "a global": "a = flag; bump(1); b = flag; return x + a, a, b",
    "a global in a list": "a = [flag]; bump(1); b = flag; return x, a, b",
    "a branch": "if flag == 1: x = x * 2\n    bump(1)\n    if flag == 2: x = x + 5\n    return x",
    "a length": "a = len(calls); bump(1); b = len(calls); return x, a, b",
    "an iteration": "out = [*calls]; bump(7); return x, out, len(calls)",
    "an attribute": "a = owner.count; owner.bump(2); return x + a, owner.count",
    "what is called with": "bump(flag); return x + flag",
    "a number that varies": "a = flag; bump(int(x.sum())); return x, a + 1, flag",
    "a key that varies": "a = flag; bump(a); return x + a, a, flag",
    "in a function": "def g(): return flag, bump(3), flag\n    return x, g()",
    "under map": "a = flag; b = list(map(bump, [1, 2])); return x, a, b, flag",
    "an effect between": "a = flag; state['k'] = a; bump(1); return x, state['k'], flag",
    "nothing that was read": "bump(1); a = flag; return x + a, a",
}


@pytest.mark.parametrize("name", RAISING)
def test_a_call_that_raises_is_made_once(name):
    check_source(
        f"{HEAD}def f(x):\n    y = x + 1\n    try:\n        {RAISING[name]}\n"
        "    except ValueError as error: return y, str(error)\n    return y * 2\n"
    )


@pytest.mark.parametrize("name", CHANGING)
def test_what_the_code_changes_was_read_before_it_changed(name):
    check_source(f"{HEAD}def f(x):\n    {CHANGING[name]}\n", backward=False)


def test_a_call_without_effects_is_no_break():
    report = check_source(
        f"{HEAD}@functools.lru_cache\ndef scale(n): return n * 2.0\ndef f(x): return x * scale(flag) + owner.count\n",
        breaks=0,
    )
    assert report.graphs == 1
