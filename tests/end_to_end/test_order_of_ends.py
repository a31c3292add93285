"""The order in which a frame lets go of its variables, behind a graph break as well: from 3.14 on the last slot first."""

import sys

import pytest
import torch
from tests.end_to_end.support import check_source

from framesmith import frontend

KINDS = ["print()", "x.sum().item()", "torch._dynamo.graph_break()"]


@pytest.mark.skipif(sys.version_info < (3, 14), reason="until 3.13 the first slot goes first")
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("order", ["a = l.pop(); b = l.pop()", "b = None; a = l.pop(); b = l.pop()"])
def test_a_frame_ends_its_variables_in_the_order_of_their_slots(kind: str, order: str) -> None:
    check_source(f"""
import torch
log = []
class A:
    def __init__(self, k): self.k = k
    def __del__(self): log.append(self.k)
def args(): return [torch.arange(3.0), [A(i) for i in range(20)]]
def inner(x, l):
    {order}
    {kind}
    return x + 1
def f(x, l):
    y = inner(x, l)
    log.append('after')
    return y, list(log)
""")


class Counted:
    """Notes its end."""

    noted = []

    def __init__(self, name):
        self.name = name

    def __del__(self):
        Counted.noted.append(self.name)


def three_variables(x):
    late = Counted("first")
    early = Counted("second")
    middle = Counted("third")
    return x * 2


def containers(x):
    pair = (Counted("one"), Counted("two"))
    table = {"k": Counted("three"), "j": Counted("four")}
    return x * 2


def of_an_inner_frame(x):
    return three_variables(x) + 1


def one_is_returned(x):
    late = Counted("first")
    early = Counted("second")
    middle = Counted("third")
    return x * 2, early


def of_arguments_too(x, *given):
    late = Counted("first")
    early = Counted("second")
    return x + len(given)


@pytest.mark.parametrize(
    "function", [three_variables, containers, of_an_inner_frame, one_is_returned, of_arguments_too]
)
def test_variables_end_in_the_order_of_the_frame(function):
    compiled, kept = frontend.compile(function, backend="eager"), (Counted("a"), Counted("b"))

    def observe(called):
        Counted.noted.clear()
        result = called(torch.ones(2), *(kept if function is of_arguments_too else ()))
        Counted.noted.append("returned")
        del result
        return Counted.noted.copy()

    for _ in range(3):
        assert observe(compiled) == observe(function)
