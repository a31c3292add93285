"""`torch.cond` with a condition of Python: the branch is called like any function, as in eager."""

import pytest
from tests.end_to_end.support import check_source

PROGRAM = """
import torch
calls = []
n = 1
def noted(x):
    calls.append(x.shape)
    return {{"a": x}}
def fail(x):
    raise KeyError("no")
def f(x):
    global n
    n += 1
    return {body}
def args():
    return (torch.ones(3, 4),)
"""
CAPTURED = {
    "true": "torch.cond(True, torch.sin, torch.cos, (x,))",
    "false": "torch.cond(False, torch.sin, torch.cos, (x,))",
    "a float": "torch.cond(0.5, torch.sin, torch.cos, (x,))",
    "a number that changes": "torch.cond(n % 2, torch.sin, torch.cos, (x,))",
    "a size": "torch.cond(x.shape[0] > 2, torch.sin, torch.cos, (x,))",
    "a side effect": "torch.cond(n < 3, noted, fail, (x,)) if n < 3 else x",
    "an operand as result": "torch.cond(True, lambda y: y, fail, (x,))",
    "a changed operand": "torch.cond(True, lambda y: y.add_(1) * 2, fail, [x])",
    "numbers as operands": "torch.cond(True, lambda y, k: (y * k, k), fail, (x, n))",
    "no operand": "torch.cond(n > 0, lambda: x + 1, fail)",
    "a branch that is no function": "torch.cond(True, torch.sin, 3, (x,))",
}
RAISING = {
    "in the branch": "torch.cond(n > 100, torch.sin, fail, (x,))",
    "of a condition that is none": "torch.cond(None, torch.sin, torch.cos, (x,))",
    "of too many operands": "torch.cond(True, lambda y: y, fail, (x, x))",
    "of a branch that is no function": "torch.cond(False, torch.sin, 3, (x,))",
}


@pytest.mark.parametrize("name", CAPTURED)
def test_the_branch_is_part_of_the_graph(name):
    check_source(PROGRAM.format(body=CAPTURED[name]), calls=4, breaks=0, change=lambda *_: None)


@pytest.mark.parametrize("name", RAISING)
def test_the_error_is_that_of_eager(name):
    check_source(PROGRAM.format(body=RAISING[name]), change=lambda *_: None)
