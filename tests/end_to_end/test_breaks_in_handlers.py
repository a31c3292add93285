"""A graph break at each place of try, except, else, finally and with, while an exception passes and while none does.

Nests of two blocks, in a function, in a callee, in a generator and in a loop; a sample by default, all with FRAMESMITH_MATRIX=1.
"""

import itertools
import os
import random

import pytest
from tests.end_to_end.support import check_source

HEAD = """
import torch
from framesmith.frontend import graph_break
log = []
class Manager:
    def __init__(self, swallows, breaks): self.swallows, self.breaks = swallows, breaks
    def __enter__(self):
        log.append('enter')
        return self
    def __exit__(self, kind, error, trace):
        seen = kind is None
        if self.breaks: {breaking}
        log.append(('exit', seen, str(error)))
        return self.swallows
def args(): return [torch.arange(3.0)]
"""
BREAKS = {"print": "print('here')", "explicit": "graph_break()", "item": "log.append(torch.ones(1).item())"}
RAISES = {"none": "pass", "raises": "raise ValueError('v')", "other": "raise KeyError('k')"}
#: Each block with its slots: `0` is the body, the others are where a break may stand as well.
BLOCKS = {
    "except": "try:\n    {0}\nexcept ValueError as error:\n    caught = x * 2\n    {1}\n    log.append(str(error))\n    x = caught",
    "except reraised": "try:\n    {0}\nexcept ValueError:\n    kept = x + 3\n    {1}\n    log.append(kept.shape)\n    raise",
    "except from": "try:\n    {0}\nexcept ValueError as error:\n    {1}\n    raise TypeError('t') from error",
    "finally": "bound = x + 1\ntry:\n    {0}\nfinally:\n    {1}\n    log.append(bound.shape)\n    x = bound",
    "else": "try:\n    {0}\nexcept KeyError:\n    {1}\n    x = x * 3\nelse:\n    {2}\n    x = x - 1\nfinally:\n    {3}\n    x = x + 5",
    "with": "with Manager(False, {flag}):\n    {0}",
    "with swallowing": "with Manager(True, {flag}) as manager:\n    {0}\n    x = x * 7\nx = x + manager.swallows",
    "return": "try:\n    {0}\n    return x * 2\nfinally:\n    {1}\n    log.append('left')",
}
SLOTS = {
    "except": 2,
    "except reraised": 2,
    "except from": 2,
    "finally": 2,
    "else": 4,
    "with": 2,
    "with swallowing": 2,
    "return": 2,
}
PLACES = {
    "function": "def f(x):\n    try:\n        {body}\n        return x, log\n    except Exception as last:\n        return last.args, str(last.__context__), log",
    "callee": "def g(x):\n    {inner}\n    return x * 2\ndef f(x):\n    return g(x + 1) + 1, log",
    "generator": "def g(x):\n    {inner}\n    yield x * 2\n    yield x\ndef f(x):\n    return [y + 1 for y in g(x + 1)], log",
    "loop": "def f(x):\n    for i in range(2):\n        {body}\n        x = x + i\n    return x, log",
}


def indented(text, depth):
    return text.replace("\n", "\n" + "    " * depth)


def filled(block, body, at, breaking):
    """A block around a body, with the break in one of its slots: 0 is behind the body's start."""
    slots = {str(number): "pass" for number in range(4)}
    text = BLOCKS[block]
    slots["0"] = body if at != 0 else f"{breaking}\n{body}"
    if at > 0 and "{flag}" not in text:
        slots[str(at)] = breaking
    for number, value in slots.items():
        text = text.replace("{" + number + "}", indented(value, 1))
    return text.replace("{flag}", str(at > 0))


def programs():
    for place, outer, inner, kind, raising in itertools.product(PLACES, BLOCKS, BLOCKS, BREAKS, RAISES):
        for where, at in [("outer", slot) for slot in range(SLOTS[outer])] + [
            ("inner", slot) for slot in range(SLOTS[inner])
        ]:
            yield place, outer, inner, kind, raising, where, at


def source_of(place, outer, inner, kind, raising, where, at):
    body = f"x = x + 1\n{RAISES[raising]}\nx = x * 4"
    nested = filled(inner, body, at if where == "inner" else -1, BREAKS[kind] if where == "inner" else "pass")
    text = filled(outer, nested, at if where == "outer" else -1, BREAKS[kind] if where == "outer" else "pass")
    if where != "inner" and "{" in text:
        raise AssertionError(text)
    frame = PLACES[place]
    depth = 2 if "{body}" in frame else 1
    return HEAD.replace("{breaking}", BREAKS[kind]) + frame.replace("{body}", indented(text, depth)).replace(
        "{inner}", indented(text, depth)
    )


ALL = list(programs())
CHOSEN = ALL if os.environ.get("FRAMESMITH_MATRIX") else random.Random(11).sample(ALL, 60)
GROUPS = sorted({(place, outer) for place, outer, *_ in ALL})


@pytest.mark.parametrize(("place", "outer"), GROUPS, ids=lambda name: name)
def test_a_break_in_a_handler_loses_nothing(place, outer):
    for case in CHOSEN:
        if case[:2] == (place, outer):
            try:
                check_source(source_of(*case), calls=2)
            except BaseException as error:
                error.add_note(f"{case}\n{source_of(*case)}")
                raise


COMPREHENSIONS = (
    "{k: k for k in [odd]}",
    "{k for k in [odd]}",
    "[len(k) for k in [odd]]",
    "{len(k): 1 for k in [odd]}",
)


@pytest.mark.parametrize("comprehension", COMPREHENSIONS)
@pytest.mark.parametrize("odd", ["collections.deque()", "Odd()"])
def test_an_item_of_a_comprehension_raises_natively(comprehension, odd):
    check_source(f"""
import collections, torch

class Odd:
    def __hash__(self):
        raise TypeError("odd")
    def __len__(self):
        raise TypeError("no length")

def f(x):
    odd = {odd}
    try:
        before = [1, {comprehension}]
    except TypeError as error:
        return x + 1, str(error)
    return x - 1, before

def args():
    return (torch.ones(2),)
""")
