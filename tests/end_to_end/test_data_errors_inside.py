"""An operation that fails on data inside of code that a builtin runs to its end, behind a write or a draw."""

import pytest
from tests.end_to_end.support import check_source

HEAD = """
import torch
log = []
def args(): return [torch.tensor([3.0]), torch.zeros(2)]
class Item:
    def __init__(self, n): self.n = n
"""
WRITES = {
    "nothing": "pass",
    "slice": "y[:1] = 3",
    "in place": "y.add_(1)",
    "draw": "torch.rand(2)",
    "out": "torch.add(y, 1, out=y)",
}
FAILS = {
    "index": "x[torch.tensor([x.shape[0]])]",
    "draw": "torch.multinomial(torch.zeros(2), 1)",
    "none": "x[torch.tensor([0])]",
}
DRAINS = {
    "display": "[*gen()]",
    "tuple display": "(*gen(),)",
    "set display": "{*gen()}",
    "unpacking": "a, = gen()",
    "starred": "a, *b = gen()",
    "list": "list(gen())",
    "loop": "for i in gen(): pass",
    "comprehension": "[i for i in gen()]",
    "next": "next(gen())",
    "dict": "dict(enumerate(gen()))",
    "argument": "torch.cat([*gen()])",
    "star call": "print(*gen())",
    "map": "[*map(call, [1])]",
    "sort key": "sorted([1, 2], key=call)",
    "equality": "Equal(1) in [Equal(2)]",
    "sum": "sum(gen(), 0)",
    "zip of a set": "for a, b in zip({1, 2}, gen()): pass",
    "handled inside": "[*handling()]",
}
PROGRAM = """
def f(x, y):
    def call(k=0):
        log.append("before")
        {write}
        {fails}
        log.append("after")
        return k
    def gen():
        yield call()
    def handling():
        try: call()
        except (RuntimeError, IndexError): log.append("inside")
        yield 1
    class Equal(Item):
        def __eq__(self, other): return call() == other.n
        __hash__ = None
    try:
        {drain}
    except (RuntimeError, IndexError) as error:
        return type(error).__name__, y + 1
    return y + 2
"""


@pytest.mark.parametrize("fails", FAILS)
@pytest.mark.parametrize("write", WRITES)
@pytest.mark.parametrize("drain", DRAINS)
def test_effects_before_it_have_happened(drain: str, write: str, fails: str) -> None:
    program = PROGRAM.format(write=WRITES[write], fails=FAILS[fails], drain=DRAINS[drain])
    check_source(HEAD + program, calls=2, backward=False)
