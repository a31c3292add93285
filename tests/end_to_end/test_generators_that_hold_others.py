"""A generator that ends lets go of what its frame holds: other generators are closed then, and their `finally` runs."""

import pytest
from tests.end_to_end.support import check_source

HEAD = """
import torch
log = []
def args(): return [torch.arange(3.0)]
def gen(k):
    try:
        yield 1
        yield 2
    finally:
        log.append(k)
def first(items):
    yield next(items)
    yield 3
def in_a_cell(items):
    inner = lambda: items
    yield next(items)
def in_a_list(items):
    kept = [items, [items]]
    yield next(items)
def two(a, b):
    yield next(a)
def looping(items):
    for item in items:
        yield item
def f(x):
"""
DROPPED = {
    "a generator expression": "held = (i for i in gen(1)); next(held)",
    "a local": "held = first(gen(1)); next(held)",
    "a loop": "held = looping(gen(1)); next(held)",
    "a cell": "held = in_a_cell(gen(1)); next(held)",
    "a list": "held = in_a_list(gen(1)); next(held)",
    "a generator that has not begun": "inner = gen(1); next(inner); held = first(inner); del inner",
    "a chain": "held = first(first(looping(gen(1)))); next(held)",
    "a tree": "held = two(two(gen(1), gen(2)), two(gen(3), gen(4))); next(held)",
    "two in one": "a, b = gen(1), gen(2); next(b); held = two(a, b); next(held); del a, b",
    "two in a tuple": "held = (gen(1), gen(2)); next(held[0]); next(held[1])",
    "two in a zip": "held = zip(gen(1), gen(2)); next(held)",
}
FOUND = {
    "any": "held = any(i > 0 for i in gen(1))",
    "next": "held = next(i for i in gen(1))",
    "a loop that is left": "\n    for held in (i for i in gen(1)): break",
}


@pytest.mark.parametrize("name", DROPPED)
def test_what_an_ending_generator_holds_ends_with_it(name: str) -> None:
    check_source(
        f"{HEAD}    {DROPPED[name]}\n    log.append('before')\n    del held\n    log.append('after')\n    return x + 1, list(log)\n"
    )


@pytest.mark.parametrize("name", FOUND)
def test_a_generator_expression_that_is_not_exhausted_lets_go_of_its_items(name: str) -> None:
    check_source(f"{HEAD}    {FOUND[name]}\n    log.append('after')\n    return x + 1, list(log)\n")


def test_what_another_generator_holds_is_not_closed() -> None:
    check_source(
        f"{HEAD}    inner = gen(1)\n    a, b = two(inner, 1), two(inner, 2)\n    next(a)\n    del inner, a\n"
        "    log.append('a')\n    got = next(b)\n    del b\n    log.append('b')\n    return x + got, list(log)\n"
    )


@pytest.mark.parametrize("made", ["looping(iter([1, 2]))", "gen(1)", "looping(gen(1))"])
@pytest.mark.parametrize(
    "call", ["max({}, key=lambda g: next(g))", "max({}, key=lambda g: next(g) + len(log))"]
)
def test_what_only_the_running_operation_holds_does_not_end(made: str, call: str) -> None:
    taken = call.format(f"[{made}, {made}]")
    check_source(f"{HEAD}    held = {taken}\n    log.append('taken')\n    return x + next(held), list(log)\n")
