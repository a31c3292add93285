"""Tuples that the program makes are objects of their own, equal constants or not; those that it only gets back are not."""

import pytest
from tests.end_to_end.support import check_source

MADE = [
    "next(zip([1], [2]))",
    "divmod(7, 2)",
    "tuple([1, 2])",
    "(1,) + (2,)",
    "(x.dim(), 2)",
    "'a-b'.partition('-')",
    "next(itertools.combinations([1, 2], 2))",
    "next(itertools.zip_longest([1], [2]))",
    "next(itertools.pairwise([1, 2]))",
    "next(enumerate([2]))",
    "next(iter({1: 2}.items()))",
    "(lambda *rest: rest)(1, 2)",
    "(1, 2) * 2",
    "(1, 2, 3)[:2]",
    "tuple(i for i in (1, 2))",
    "x.shape",
]
KEPT = ["t[:]", "t[0:]", "t * 1", "t + ()", "() + t", "tuple(t)", "t", "(*t,)", "t[::2]", "t * 0", "t[5:]"]
HEAD = "import itertools\nimport torch\nkept = []\ndef args(): return [torch.ones(2)]\n"


@pytest.mark.parametrize("expression", MADE)
def test_two_of_them_are_two_objects(expression: str) -> None:
    check_source(
        f"{HEAD}def f(x):\n    a, b = {expression}, {expression}\n    kept.append(a); kept.append(b)\n"
        f"    return a is b, a, b, [a], {{'b': b}}\n",
        calls=3,
        backward=False,
    )


@pytest.mark.parametrize("given", ["(1, 2)", "(x.dim(), 2)", "()", "(x, 1)", "x.shape"])
@pytest.mark.parametrize("expression", KEPT)
def test_what_gives_the_operand_back(expression: str, given: str) -> None:
    check_source(
        f"{HEAD}def f(x):\n    t = {given}\n    u = {expression}\n    kept.append(t); kept.append(u)\n"
        f"    return t is u, t, u\n",
        calls=3,
        backward=False,
    )
