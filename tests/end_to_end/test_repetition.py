"""`sequence * number`: whom CPython asks before it repeats the sequence."""

import pytest
from tests.end_to_end.support import check_source

HEAD = """
import enum
import torch
from collections import deque
class Number(int):
    def __rmul__(self, other): return "rmul", list(other)
    def __radd__(self, other): return "radd", list(other)
class Declining(int):
    def __rmul__(self, other): return NotImplemented
class Member(enum.IntEnum):
    two = 2
    def __rmul__(self, other): return "rmul", list(other)
class Index:
    def __index__(self): return 2
class Reflected(Index):
    def __rmul__(self, other): return "rmul", list(other)
class Plain(int): pass
def same(s, n):
    s *= n
    return s
def added(s, n):
    s += n
    return s
def args(): return [torch.ones(2)]
"""
NUMBERS = ["Number(2)", "Declining(2)", "Member.two", "Reflected()", "Index()", "True", "'a'"]
USES = ["s * n", "n * s", "same(s, n)", "s.__mul__(n)", "s.__rmul__(n)", "s.__imul__(n)"]


@pytest.mark.parametrize("use", USES)
@pytest.mark.parametrize("number", NUMBERS)
def test_a_number_is_asked_before_the_sequence_is_repeated(number: str, use: str) -> None:
    body = f"""
    out = []
    for s in ([0], (0,), "ab", deque([0])):
        try: out.append({use})
        except (TypeError, AttributeError) as error: out.append(str(error))
    return out, x + 1
"""
    check_source(f"{HEAD}def f(x):\n    n = {number}{body}")
    check_source(f"{HEAD}def args(): return [torch.ones(2), {number}]\ndef f(x, n):{body}")


def test_a_number_may_be_asked_from_a_later_call_on() -> None:
    check_source(f"""{HEAD}
calls = []
def f(x):
    calls.append(0)
    if len(calls) > 1: Plain.__rmul__ = lambda self, other: "rmul"
    return g(x, Plain(2))
def g(x, n): return [0] * n, x + 1
""")
    check_source(
        f"""{HEAD}
def args(): return [torch.ones(2), Plain(2)]
seen = []
def f(x, n): return [0] * n, x + 1
""",
        change=lambda x, n: setattr(type(n), "__rmul__", lambda self, other: "rmul"),
    )


def test_a_number_is_asked_before_a_list_is_extended() -> None:
    check_source(f"{HEAD}def f(x):\n    return added([1], Number(2)), x + 1\n")
