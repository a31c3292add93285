"""Classes that break a rule of the language raise what they raise eagerly, and are seen when they change between calls."""

import pytest
from tests.end_to_end.support import check_source

PROGRAMS = {
    "__init__ returns a number": """
class P:
    def __init__(self, n): return n
def f(x, n): return x + 1, type(P(n)).__name__
""",
    "__init__ returns something behind a break": """
class P:
    def __init__(self, n):
        frontend.graph_break()
        return n
def f(x, n): return x + 1, type(P(n)).__name__
""",
    "caught": """
class P:
    __init__ = lambda self, n: n
def f(x, n):
    try: P(n)
    except TypeError as error: return str(error), x
    return x + 1
""",
    "__match_args__ is a list": """
class P:
    __match_args__ = ["a"]
    a = 1
def f(x, n):
    match P():
        case P(a): return x + a
""",
    "__match_args__ holds no name": """
class P:
    __match_args__ = (1,)
def f(x, n):
    match P():
        case P(a): return x + 1
    return x
""",
}


@pytest.mark.parametrize("number", ["None", "5", "0"])
@pytest.mark.parametrize("program", PROGRAMS)
def test_it_raises_what_it_raises_eagerly(program: str, number: str) -> None:
    head = "import torch\nfrom framesmith import frontend\n"
    check_source(
        f"{head}{PROGRAMS[program]}def args(): return [torch.ones(2), {number}]\n", calls=3, backward=False
    )
