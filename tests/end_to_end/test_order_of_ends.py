"""The order in which a frame lets go of its variables, behind a graph break as well: from 3.14 on the last slot first."""

import sys

import pytest
from tests.end_to_end.support import check_source

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
