"""Numbers that became symbolic, with wild values: Python's arithmetic, not that of real numbers."""

import math
import operator
import random

import pytest
import torch

from framesmith import frontend

NAN, INF = math.nan, math.inf
FLOATS = [2.5, NAN, INF, -INF, -0.0, 0.0, 2.0**53, 2.0**53 + 2, 1e308, -3.7, 1.0, 5e-324]
INTS = [
    0,
    1,
    2,
    3,
    -1,
    -7,
    5,
    256,
    2**31,
    2**53 + 1,
    2**62 - 1,
    2**63 - 1,
    2**63,
    -(2**63),
    -(2**63) - 1,
    2**70,
    True,
]

ON_FLOATS = {
    "not equal to itself": lambda v: v != v,
    "difference": lambda v: v - v,
    "times zero": lambda v: (v * 0, 0 * v, v * 0.0),
    "plus zero": lambda v: (v == v + 0.0, v + 0, 0.0 + v),
    "extremes": lambda v: (max(v, 1.0), max(1.0, v), min(v, 0.0), min(0.0, v)),
    "chain": lambda v: 0.0 <= v < 2.0,
    "floor division": lambda v: (v // 1, v // 0.3, v // -2),
    "modulo": lambda v: (v % 3, v % -0.7, math.fmod(v, 3) if abs(v) != INF else 0),
    "reflected": lambda v: (5 % v, 5 // v, 5 / v, 5 - v),
    "powers": lambda v: (v**2, v**0, v**-1 if v else 0),
    "exponent": lambda v: 2**v,
    "root": lambda v: v**0.5,
    "rounding": lambda v: (round(v, 1), round(v, -1)),
    "round": lambda v: round(v),
    "int": lambda v: int(v),
    "bool": lambda v: (bool(v), not v),
    "abs": lambda v: (abs(v), -abs(v)),
    "sign": lambda v: (math.copysign(1, v), math.copysign(1, -v)),
    "text": lambda v: (f"{v}", repr(v), str(v), f"{v:.2f}"),
    "negative": lambda v: (-v, +v, --v),
    "angle": lambda v: (math.atan2(v, -1), math.atan2(v * 1, -1)),
    "floor and ceil": lambda v: (math.floor(v), math.ceil(v), math.trunc(v)),
    "absorbed": lambda v: ((v + 1e16) - 1e16, v * 0.1 * 3 == 0.3 * v),
    "containers": lambda v: ([v, v * 1], {"k": v}, (v,)),
    "key": lambda v: {v: 1},
    "tensor": lambda v: torch.ones(2) * v,
    "tensor and difference": lambda v: torch.ones(2) * (v - v) + v * 0,
    "full": lambda v: torch.full((2,), v),
    "quotients of zeros": lambda v: torch.ones(2) / v,
    "exponent of a tensor": lambda v: torch.arange(3.0) ** v,
    "clamped": lambda v: torch.arange(3.0).clamp(min=v),
    "square root": lambda v: math.sqrt(v),
    "questions": lambda v: (math.isnan(v), math.isinf(v), v.is_integer()),
    "divmod": lambda v: divmod(v, 2),
    "branch": lambda v: "yes" if v else "no",
    "comparison": lambda v: "more" if v > 1 else "not more",
    "negated comparison": lambda v: "not less" if not v < 2 else "less",
    "hexadecimal": lambda v: v.hex(),
    "membership": lambda v: v in [1.0, 2.5],
    "unused quotient": lambda v: (1 / v, 3)[1],
    "unused conversion": lambda v: (int(v), 3)[1],
    "sorted": lambda v: sorted([3.0, v, 1.0]),
    "sum": lambda v: (sum([v, 0.1, -v]), math.prod([v, 2])),
    "sizes": lambda v: torch.zeros(int(v) if 0 <= v < 9 else 2).shape,
    "range": lambda v: list(range(int(v))) if abs(v) < 9 else 0,
    "against ints": lambda v: (v == 2**53 + 1, v < 2**53 + 1, v <= 10**400),
    "complex": lambda v: complex(v, v),
}  # fmt: skip

ON_INTS = {
    "floor division": lambda n: (n // 3, n // -3, n // 2**40),
    "modulo": lambda n: (n % 3, n % -3, n % 2**40),
    "reflected": lambda n: (7 // n, -7 % n),
    "true division": lambda n: (n / 3, n / 7 * 7 == n, 7 / n),
    "powers": lambda n: (n**2, n**0, n**3),
    "negative power": lambda n: n**-1,
    "exponent": lambda n: (2**n, (-2) ** n, 0**n) if n < 100 else 0,
    "shifts": lambda n: (n << 2, n >> 1),
    "bits": lambda n: (n & 3, n | 4, n ^ 5, ~n),
    "signs": lambda n: (-n, +n, abs(n)),
    "comparisons": lambda n: (n < 2**63, n > 2**62, n == 2**63, n < 2.5, n == 1.0, n == 2.0**53),
    "plus zero": lambda n: n == n + 0.0,
    "times a float": lambda n: (n * 0.1, n * 0.1 * 3),
    "truncated": lambda n: (int(n * 0.5), int(n / 2)),
    "float": lambda n: float(n),
    "difference": lambda n: n - n,
    "divmod": lambda n: divmod(n, 4),
    "extremes": lambda n: (max(n, 3), min(n, 2.5), max(n, 2.5)),
    "round": lambda n: round(n, -1),
    "root": lambda n: math.sqrt(n),
    "integer functions": lambda n: (math.isqrt(abs(n)), n.bit_length(), math.gcd(n, 12)),
    "tensor": lambda n: torch.ones(2) * n,
    "tensor and quotient": lambda n: torch.ones(2, dtype=torch.float64) * (n / 2),
    "branch": lambda n: "a" if n > 3 else "b",
    "text": lambda n: f"{n}",
    "repeated": lambda n: [n] * min(max(n, 0), 4),
    "nested": lambda n: ((n // 2) * 2 + n % 2, (n + 1) // 2 * 3 % 5 - n),
    "truth": lambda n: (bool(n), not n),
    "mixed": lambda n: (n * 1.0) // 2,
    "large sum": lambda n: n + 2**63,
    "sizes": lambda n: (torch.zeros(n % 5).shape, torch.zeros(int(n % 7 * 0.5)).shape),
}  # fmt: skip

BINARY = [
    operator.add, operator.sub, operator.mul, operator.truediv, operator.floordiv, operator.mod,
    operator.eq, operator.ne, operator.lt, operator.le, operator.gt, operator.ge,
    divmod, max, min, math.copysign, math.atan2, math.hypot, math.fmod, math.remainder,
]  # fmt: skip
UNARY = [
    function
    for name, function in sorted(vars(math).items())
    if callable(function)
    and name not in ("factorial", "comb", "perm", "prod", "fsum", "dist", "gcd", "lcm", "hypot", "sumprod")
]


def outcome(function, *values):
    try:
        return repr(function(*values))
    except Exception as error:  # the very error is compared
        return f"{type(error).__name__}: {error}"


def compare(function, values, seed):
    order = random.Random(seed).sample(values, len(values))
    compiled = frontend.compile(function, backend="eager")
    for value in [*order[:2], *order]:
        arguments = value if isinstance(value, tuple) else (value,)
        assert outcome(compiled, *arguments) == outcome(function, *arguments), (value, order)


@pytest.mark.parametrize("name", ON_FLOATS)
def test_a_float(name):
    for seed in range(2):
        compare(ON_FLOATS[name], FLOATS, seed)


@pytest.mark.parametrize("name", ON_INTS)
def test_an_int(name):
    for seed in range(2):
        compare(ON_INTS[name], INTS, seed)


@pytest.mark.parametrize("function", BINARY, ids=lambda function: function.__name__)
def test_a_function_of_two_numbers(function):
    wild = [2.5, NAN, -INF, -0.0, 0.0, 2.0**53, 1e308, -3, 2**53 + 1, 0, 7]
    pairs = [(left, right) for left in wild for right in wild]
    compare(lambda a, b: function(a, b), random.Random(0).sample(pairs, 9), 1)


@pytest.mark.parametrize("function", UNARY, ids=lambda function: function.__name__)
def test_a_function_of_the_module_math(function):
    compare(lambda v: function(v), [0.5, NAN, INF, -0.0, 1e308, -3.7, 1.0], 2)


@pytest.mark.parametrize("backend", ["aot_eager"])
@pytest.mark.parametrize(
    "function",
    [
        lambda x, v: x * (v - v),
        lambda x, v: x * v * 0,
        lambda x, v: (x + (v + 1e16 - 1e16), v * 0.1),
        lambda x, v: (x / v, v != v, v - v),
        lambda x, v: x**v,
    ],
)
def test_a_backend_that_traces_again(function, backend):
    compiled = frontend.compile(function, backend=backend)
    for value in (1.5, 2.5, 3.0, NAN, 2.0, -0.0, INF, 0.0, 1e308):
        arguments = torch.tensor([1.0, -2.0]), value
        assert outcome(compiled, *arguments) == outcome(function, *arguments), value


def test_floats_that_change_need_two_graphs():
    graphs = []

    def backend(module, inputs):
        graphs.append(module)
        return module

    def f(x, v):
        scaled = v * 2 + 1
        return x * scaled if v > 0 else x / scaled, scaled

    compiled = frontend.compile(f, backend=backend)
    for value in (1.5, 2.5, 3.5, 1e300, 5e-324, 7.25):
        torch.testing.assert_close(compiled(torch.ones(2), value), f(torch.ones(2), value))
    assert len(graphs) == 2


@pytest.mark.parametrize("size", [2, 3, 10, 49])
def test_floats_made_of_sizes(size):
    def f(x):
        n = x.shape[0]
        half = torch.zeros(int(n * 0.7))
        return x * n**-0.5, n / 3 * 3 == n, int(n * 0.1 * 3), half.shape, n * 0.0, math.sqrt(n), f"{n / 7}"

    compiled = frontend.compile(f, backend="eager", dynamic=True)
    for n in (5, size, 30, size, 70):
        assert repr(compiled(torch.ones(n))) == repr(f(torch.ones(n)))
