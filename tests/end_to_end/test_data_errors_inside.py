"""An operation that fails on data inside of code that a builtin runs to its end, behind a write or a draw."""

import pytest
import torch
from tests.end_to_end.support import check_source

from framesmith import frontend

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


class Dropping(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        return torch.nn.functional.dropout(x, 0.5, True)

    @staticmethod
    def backward(ctx, gradient):
        return gradient


def in_a_function(x, matrix):
    y = Dropping.apply(x)
    try:
        return y + torch.linalg.inv(matrix)
    except RuntimeError:
        return y * 2


def in_a_transform(x, matrix):
    y = torch.vmap(lambda row: torch.nn.functional.dropout(row, 0.5, True), randomness="different")(x)
    try:
        return y + torch.linalg.inv(matrix)
    except RuntimeError:
        return y * 2


@pytest.mark.parametrize("program", [in_a_function, in_a_transform])
@pytest.mark.parametrize("matrix", [torch.zeros(2, 2), torch.eye(2)])
def test_what_drew_random_numbers_does_not_run_again(program, matrix):
    compiled, x = frontend.compile(program, backend="eager"), torch.ones(2, 2)
    for _ in range(2):
        torch.manual_seed(0)
        expected, state = program(x, matrix), torch.random.get_rng_state()
        torch.manual_seed(0)
        assert torch.equal(compiled(x, matrix), expected)
        assert torch.equal(torch.random.get_rng_state(), state)


FORMS = """
import torch
def f(x, log):
    try:
        log.append(list(x.shape))
        {form}
        log.append((list(x.shape), x.stride()))
        y = torch.linalg.cholesky(torch.eye(2) * float("nan"))
    finally:
        log.append(list(x.stride()))
def args(): return [torch.arange(float({rows} * {columns})).reshape({rows}, {columns}), []]
"""
CHANGES = (
    "x.t_()",
    "x.unsqueeze_(0)",
    "x.squeeze_()",
    "x.transpose_(0, 1)",
    "x.swapaxes_(0, 1)",
    "x.swapdims_(0, 1)",
    "x.as_strided_((2, 2), (1, 1))",
    "x.data = x * 2",
    "x.data = x.t().sort()[0]",
    "x.data.t_()",
)


@pytest.mark.parametrize("backend", ["eager", "aot_eager"])
@pytest.mark.parametrize(("rows", "columns"), [(3, 3), (1, 3), (1, 1)])
@pytest.mark.parametrize("form", CHANGES)
def test_an_argument_that_has_another_form_by_then(form, rows, columns, backend):
    """The program up to the error was traced again from the form that the argument had by then."""
    source = FORMS.format(form=form, rows=rows, columns=columns)
    # torch 2.15's own ahead-of-time compiler fails for `x.t_()` with a symbolic size, which a second call would have
    check_source(source, backend=backend, backward=False, calls=1 if backend == "aot_eager" else 2)
