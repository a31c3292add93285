"""What torch makes tensors of by way of their items, and questions to types in C.

Items are 0-d tensors and numbers that vary in lists, and arrays in a key.
"""

import numpy as np
import pytest
import torch
from torch.nn import functional as F
from torch.nn.attention import SDPBackend, sdpa_kernel

from framesmith import frontend

X = torch.randn(4, 4, generator=torch.Generator().manual_seed(0))
P = torch.nn.Parameter(torch.tensor(2.5))
INT, BOOL, HUGE = torch.tensor(7), torch.tensor(True), torch.tensor(2**60 + 129)
HALF, LARGE = torch.tensor(1.1, dtype=torch.bfloat16), torch.tensor(1e300, dtype=torch.float64)
ORDER = np.array([1, 0])


def stored(x):
    y = x.clone()
    y[:, np.array([1, 3])] = 0
    y[np.array([0])] += 5
    return y


def attended(x):
    query = x[None, None]
    with sdpa_kernel([SDPBackend.MATH, SDPBackend.FLASH_ATTENTION]):
        found = F.scaled_dot_product_attention(query, query, query)
    return found, torch.backends.cuda.math_sdp_enabled(), SDPBackend.MATH


def types_of(x):
    values = (x, x.double(), x.long(), 3, P, INT)
    kinds = (torch.FloatTensor, torch.DoubleTensor, torch.LongTensor, torch.cuda.FloatTensor)
    return [isinstance(value, kind) for value in values for kind in kinds]


WHOLE = {
    "sums": lambda x: torch.tensor([x.mean(), x.sum()]),
    "numbers among them": lambda x: torch.tensor([x.mean(), 2.0, 3, True]),
    "whole numbers": lambda x: torch.tensor([INT, BOOL, 3]),
    "nested": lambda x: torch.tensor([[INT, x.sum()], [1.5, P]]),
    "rounded twice": lambda x: torch.tensor([INT, BOOL, HUGE], dtype=torch.float32),
    "bfloat16": lambda x: torch.tensor([HALF, x.sum()]),
    "to float16": lambda x: torch.tensor([LARGE, x.sum()], dtype=torch.float16),
    "a size": lambda x: torch.as_tensor([x.sum(), x.shape[0]]),
    "without a history": lambda x: torch.tensor([P]).requires_grad,
    "an older constructor": lambda x: torch.FloatTensor([x.sum(), 1]),
    "an array in a key": lambda x: x[:, np.arange(2)],
    "whole keys": lambda x: (x[np.array([0, 2])], x[np.array([True, False, True, False])]),
    "two dimensions in a key": lambda x: x[..., np.array([[0, 1], [1, 2]]), None],
    "a global array": lambda x: x[ORDER, ORDER],
    "no items": lambda x: x[np.zeros(0, dtype=np.int64)],
    "stores": stored,
    "types": types_of,
}
ANY = {
    "kernels": attended,
    "a number for a whole one": lambda x: torch.tensor((x.sum(),), dtype=torch.int64),
    "a row": lambda x: torch.tensor([x[0]]),
    "one dimension": lambda x: torch.tensor([x[0, :1]]),
    "other lengths": lambda x: torch.tensor([[x.sum()], [1, 2]]),
    "a leaf": lambda x: torch.tensor([x.sum()], requires_grad=True),
    "narrower": lambda x: torch.tensor([INT, 5], dtype=torch.int8),
    "truths": lambda x: torch.tensor([BOOL, INT], dtype=torch.bool),
    "complex": lambda x: torch.tensor([x.sum() * 1j, 2]),
    "rows of a key": lambda x: x[np.array([[0, 1], [1, 2]])],
    "int32": lambda x: x[np.array([0, 1], dtype=np.int32)],
    "floats": lambda x: x[np.array([0.0, 1.0])],
    "no dimension": lambda x: x[np.array(1)],
    "out of range": lambda x: x[np.array([7])],
    "a mask": lambda x: x[np.eye(4, dtype=bool)],
}


def outcome(function, x):
    try:
        return function(x)
    except Exception as error:
        return type(error), str(error)


def assert_same(expected, found):
    assert type(expected) is type(found)
    if isinstance(expected, torch.Tensor):
        assert expected.dtype == found.dtype and expected.requires_grad == found.requires_grad
        assert torch.equal(expected, found)
    elif isinstance(expected, tuple | list):
        assert len(expected) == len(found)
        for one, other in zip(expected, found, strict=True):
            assert_same(one, other)
    else:
        assert expected == found


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", WHOLE | ANY)
def test_as_eagerly(name):
    function = (WHOLE | ANY)[name]
    compiled = frontend.compile(function, backend="eager", fullgraph=name in WHOLE)
    for x in (X, X * 2, torch.ones(5, 4), X[:, :4]):
        assert_same(outcome(function, x), outcome(compiled, x))


VARYING = {
    "a number": lambda x, n: torch.tensor(n),
    "a list": lambda x, n: torch.tensor([n, 2]),
    "nested": lambda x, n: torch.as_tensor([[n, 1.5], (n * 2, True)]),
    "a float": lambda x, n: torch.tensor([[float(n)]]),
    "a quotient": lambda x, n: torch.tensor(n / 3),
    "float16": lambda x, n: torch.tensor((n * 0.1, 2), dtype=torch.float16),
    "a class for the dtype": lambda x, n: torch.tensor([n], dtype=float),
    "a device": lambda x, n: torch.tensor([n, 1], device=x.device, dtype=torch.float32),
    "a shape": lambda x, n: torch.tensor(x.shape),
    "a new tensor": lambda x, n: x.new_tensor([n, 0.5]),
    "a new number": lambda x, n: x.new_tensor(n, dtype=None),
    "a new tensor of a dtype": lambda x, n: x.new_tensor([x.shape[0], n], dtype=torch.int64),
    "with tensors": lambda x, n: x.new_tensor([x.sum(), n]),
}
NUMBERS = (3, 5, 7, 2**53 + 1, -(2**62) - 1, 0, 1, 12, 13, 14)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", VARYING)
def test_numbers_that_vary_need_no_entries_of_their_own(name):
    function = VARYING[name]
    compiled = frontend.compile(function, backend="eager", fullgraph=True)
    for size, n in enumerate(NUMBERS, 2):
        x = torch.ones(size)
        assert_same(function(x, n), compiled(x, n))
    assert len(frontend.explain(compiled)().graphs) < 5


def test_floats_that_vary_overflow_as_eagerly():
    def f(x, value):
        return torch.tensor([value, 1.0]), torch.tensor(value, dtype=torch.bfloat16), x.new_tensor(value)

    compiled = frontend.compile(f, backend="eager", fullgraph=True)
    for value in (0.5, 0.1, 3.5e38, 1e-46, -0.0, 1 + 2**-24 + 2**-50, float("inf"), 2.0):
        for one, other in zip(f(X, value), compiled(X, value), strict=True):
            assert_same(one.view(torch.uint8), other.view(torch.uint8)) if one.dim() else assert_same(
                one, other
            )
    assert len(frontend.explain(compiled)().graphs) < 5


def test_numbers_that_a_dtype_cannot_hold_raise_as_eagerly():
    def f(x, n):
        return torch.tensor([n, 1], dtype=torch.int8), x.new_tensor([n])

    compiled = frontend.compile(f, backend="eager")
    for n in (3, 5, 300, -129, 7, 2**70):
        assert_same(outcome(lambda x, n=n: f(x, n), X), outcome(lambda x, n=n: compiled(x, n), X))


@pytest.mark.parametrize("function", [torch.tensor, torch.as_tensor, X.new_tensor])
def test_a_list_that_holds_itself_is_refused_as_eagerly(function):
    def f(x):
        held = []
        held.append(held)
        return function(held)

    assert_same(outcome(f, X), outcome(frontend.compile(f, backend="eager"), X))
