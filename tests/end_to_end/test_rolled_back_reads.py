"""What a trace read before it went back stays guarded: it is changed afterwards, and the next call has to see that."""

import types

import pytest
from tests.end_to_end.children import in_child
from tests.end_to_end.support import check_source

HEAD = """
import enum, types, warnings, torch
from torch.utils.checkpoint import checkpoint

class Box:
    pass

def args():
    box = Box()
    box.n, box.text, box.pairs, box.items, box.inner = 2, "a", {"k": 1}, [1, 2], Box()
    box.inner.n = 5
    return box, torch.ones(2)
"""

PROGRAMS = {
    "a call that breaks after it read": """
def inner(box, x):
    y = x * box.n
    print(end="")
    return y + box.n
def f(box, x):
    return inner(box, x) * box.n
""",
    "a call that wrote before it breaks, so that the trace begins anew": """
def inner(box):
    box.extra = box.n * 2
    print(end="")
    return box.extra
def f(box, x):
    box.more = box.inner.n
    return x * inner(box) + box.n + box.more
""",
    "a call that raises after it read": """
def inner(box):
    n = box.n
    if box.text.startswith("a"):
        raise ValueError(box.pairs["k"])
    return n
def f(box, x):
    try:
        inner(box)
    except ValueError as error:
        return x * box.n + error.args[0]
    return x
""",
    "an operator that declines after it read": """
class Declines:
    def __init__(self, box):
        self.box = box
    def __add__(self, other):
        self.box.n
        return NotImplemented
class Takes(Declines):
    def __radd__(self, other):
        return self.box.inner.n
def f(box, x):
    return x * (Declines(box) + Takes(box)) + box.n
""",
    "a checkpointed function with a side effect": """
def body(box, x):
    y = x * box.n
    box.seen = 1
    return y
def f(box, x):
    return checkpoint(body, box, x, use_reentrant=False) + box.n
""",
    "a branch of cond that gives its operand back": """
def f(box, x):
    try:
        found = torch.cond(x.sum() > 0, lambda x: x * box.n, lambda x: (x * box.inner.n, x), (x,))
    except Exception:
        found = x
    return found * box.n + box.inner.n
""",
    "an autograd function whose backward breaks": """
HELD = []
class Scaled(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, n):
        ctx.n = n
        return x * n * HELD[0].inner.n
    @staticmethod
    def backward(ctx, gradient):
        print(end="")
        return gradient * ctx.n * HELD[0].n, None
def f(box, x):
    HELD[:] = [box]
    return Scaled.apply(x.clone().requires_grad_(), box.n) * box.n
""",
    "an out= tensor that is resized": """
def f(box, x):
    out = torch.empty(3)
    with warnings.catch_warnings():
        warnings.simplefilter('ignore')
        torch.mul(x, box.n, out=out)
    return out * box.n
""",
    "a generator that is left in mid-course": """
def items(box):
    for item in box.items:
        yield item + box.n
def f(box, x):
    running = items(box)
    first = next(running)
    print(end="")
    return x * first + next(running)
""",
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_what_was_read_before_going_back_is_guarded(name) -> None:
    def change(box, x):
        box.n += 1
        box.text += "x"
        box.pairs["k"] += 1
        box.items.append(3)
        box.inner.n += 1

    def run():
        check_source(HEAD + PROGRAMS[name], calls=4, change=change)

    if "cond" in name:
        in_child(run)  # torch leaves a hook in the interpreter when it refuses a branch
    else:
        run()


MODULE = """
import types, torch
m = types.ModuleType("m")
m.v = 2
class Kind(types.ModuleType):
    {body}
def args(): return (torch.ones(2), [])
def f(x, calls):
    y = x * m.v
    calls.append(1)
    if len(calls) == 2: m.__class__ = Kind
    return y
"""


@pytest.mark.parametrize(
    "body",
    [
        "v = property(lambda self: 7)",
        "def __getattribute__(self, name): return 9 if name == 'v' else super().__getattribute__(name)",
    ],
)
def test_the_class_of_a_module_is_guarded(body) -> None:
    if "property" in body and forgets_properties_of_modules():
        pytest.skip(
            "this Python itself reads past a property of a module's class once it has specialised the instruction"
        )
    check_source(MODULE.format(body=body), calls=4)


def forgets_properties_of_modules() -> bool:
    """From CPython 3.14 on `LOAD_ATTR_MODULE` checks only that the class reads attributes as modules do."""
    kind = type("Kind", (types.ModuleType,), {"v": property(lambda self: 7)})
    module = kind("m")
    module.__dict__["v"] = 2
    return any(module.v != 7 for _ in range(100))


ENUM = """
import enum, torch
class Plain(enum.Enum):
    A = 1
class Other(enum.Enum):
    B = 1
    @property
    def value(self): return 5
def args(): return (torch.ones(2), [])
def f(x, calls):
    y = x * Plain.A.value
    calls.append(1)
    if len(calls) == 2: Plain.A.__class__ = Other
    return y
"""


def test_the_class_of_a_member_of_an_enumeration_is_guarded() -> None:
    check_source(ENUM, calls=4)
