"""Generators that a break meets before they begin: in 3.15 a generator expression has made its iterator by then."""

import pytest
from tests.end_to_end.support import check_source

NOT_BEGUN = (
    "list(opaque(g))",
    "next(opaque(g))",
    '"".join(opaque(c for c in ["a", "b"]))',
    "[*opaque(g)]",
    "(opaque(g).close(), list(g))",
    "(next(g), list(opaque(g)))",
    "sorted(opaque(g), key=lambda v: -v)",
)


@pytest.mark.parametrize("use", NOT_BEGUN)
@pytest.mark.parametrize(
    "source", ["(n * i for n in [1, 2, 3])", "(n * i for n in {1: 2, 3: 4})", "made([1, 2])"]
)
def test_a_generator_that_has_not_begun_is_built(use, source):
    check_source(f"""
import torch
from framesmith.frontend import graph_break

def opaque(value):
    graph_break()
    return value

def made(values):
    for n in values:
        yield n + 1

def f(x):
    i = len(x)
    g = {source}
    y = x + 1
    return y, {use}

def args():
    return (torch.ones(2),)
""")
