"""Another compiler has left its hook in CPython (PEP 523): callers hold arguments until a call returns, and objects end as without it."""

import pytest
from tests.end_to_end.support import check_source
from torch._dynamo.eval_frame import set_eval_frame

HEAD = """
import torch, contextlib
class Loud:
    def __init__(self, name): self.name = name
    def __del__(self): print("end of", self.name)
def guarded(x, log):
    try:
        for i in range(3): yield x + i
    finally: log.append("closed"); print("closed")
def failing(x): raise KeyError(1)
def args(): return [torch.arange(3.0, requires_grad=True), []]
"""

PROGRAMS = {
    "a generator is let go of": "it = guarded(x, log); y = next(it); print('a'); it = None; log.append('b'); print('b')",
    "a generator is deleted": "it = guarded(x, log); y = next(it); print('a'); del it; print('b'); y = y + 1",
    "an object is let go of": "it = Loud(1); print('a'); y = x + 1; it = None; print('b')",
    "an object of a stack": "y = [Loud(1), print('a'), x + 1][-1]; print('b')",
    "a loop is left": "for y in guarded(x, log):\n        print('a')\n        break\n    print('b')",
    "an exception leaves a loop": (
        "try:\n        for y in guarded(x, log):\n            print('a')\n            failing(x)\n    except KeyError: print('c')\n    print('b')"
    ),
    "a handler lets go of its exception": (
        "y = x\n    try:\n        it = Loud(2); failing(x)\n    except KeyError as error:\n        print(error); it = None; print('a')\n    print('b')"
    ),
    "a cell": "it = Loud(4)\n    def g(): return it\n    print(g().name); it = None; print('b'); y = x",
    "a block": "with contextlib.closing(guarded(x, log)) as it:\n        y = next(it); print('a')\n        it = None; print('b')",
    "arguments": "it = Loud(5); y = many(x, 1, 2, it); print('b')",
    "its own generator": "y = sum(own(x, Loud(6), log)); print('b')",
}
INNER = """
def many(x, *rest):
    print(len(rest)); rest = rest[0]; print("after"); return x * rest
def own(x, it, log):
    yield x
    print("in"); it = None; print("after")
    yield x + 1
"""


@pytest.fixture
def hooked():
    """The hook of torch's compiler, which leaves every frame as it is."""
    set_eval_frame(False)
    yield
    set_eval_frame(None)


@pytest.mark.usefixtures("hooked")
@pytest.mark.parametrize("program", PROGRAMS)
def test_objects_end_as_without_it(program):
    check_source(f"{HEAD}{INNER}def f(x, log):\n    {PROGRAMS[program]}\n    print('c')\n    return y\n")
