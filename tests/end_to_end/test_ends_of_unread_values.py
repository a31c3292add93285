"""A value that a trace does not read may end unseen in one call, and run code of the user at its end in the next."""

import pytest
from tests.end_to_end.support import check_source

PROGRAM = """
import torch
from framesmith import frontend

log = []

class Plain:
    pass

class Dropped:
    def __del__(self):
        log.append("dropped")

def numbers():
    try:
        yield 1
    finally:
        log.append("dropped")

def started():
    generator = numbers()
    next(generator)
    return generator

class Box:
    pass

def boxed(value):
    box = Box()
    box.value = value
    return box

calls = [0]

def make():
    calls[0] += 1
    return {first} if calls[0] == 1 else {later}

make = frontend.disable(make)
show = frontend.disable(lambda *given: log.append("shown"))

{body}

def f(x):
    log.clear()
    y = g(x)
    return y, list(log)

def args():
    return (torch.ones(2),)
"""
VALUES = [
    ("1", "Dropped()"),
    ("None", "Dropped()"),
    ("Plain()", "Dropped()"),
    ("torch.ones(1)", "Dropped()"),
    ("[1]", "[Dropped()]"),
    ("(1,)", "(Dropped(),)"),
    ("boxed(1)", "boxed(Dropped())"),
    ("1", "started()"),
]
BODIES = {
    "overwritten": "value = make(); log.append(1); value = None; log.append(2)",
    "deleted": "value = make(); log.append(1); del value; log.append(2)",
    "discarded": "make(); log.append(2)",
    "not read again": "value = make(); log.append(1); show(); log.append(2)",
    "an operand": "value = make(); log.append(1); show(value); log.append(2)",
    "held twice": "value = other = make(); value = None; log.append(1); other = None; log.append(2)",
    "in a cell": "value = make(); h = lambda: value; log.append(1); value = None; log.append(2)",
}
HOLDERS = {
    "in a tuple": "value = (make(), 1); log.append(1); value = None; log.append(2)",
    "in a list": "value = [make(), 1]; log.append(1); value.clear(); log.append(2)",
    "in an attribute": "box = Box(); box.value = make(); log.append(1); box.value = None; log.append(2)",
    "in an inner frame": "h(make()); log.append(2)",
}
INNER = "def h(value):\n    log.append(1)\n\n"


def check_program(first, later, body):
    text = INNER + f"def g(x):\n    {body}\n    return x + 1\n"
    check_source(PROGRAM.format(first=first, later=later, body=text))


@pytest.mark.parametrize("first, later", VALUES)
@pytest.mark.parametrize("body", BODIES.values(), ids=BODIES)
def test_a_value_ends_where_it_does_in_eager(body, first, later):
    check_program(first, later, body)


@pytest.mark.parametrize("first, later", [one for one in VALUES if one[0] != "boxed(1)"])
@pytest.mark.parametrize("body", HOLDERS.values(), ids=HOLDERS)
def test_a_value_that_a_new_one_holds_ends_where_it_does_in_eager(body, first, later):
    check_program(first, later, body)


def test_values_that_end_unseen_share_an_entry():
    body = "def g(x):\n    make(); log.append(1)\n    return x + 1\n"
    report = check_source(PROGRAM.format(first="1", later="None", body=body))
    assert not [one for one in report.recompiles if "stack" in one or "dropped" in one]
