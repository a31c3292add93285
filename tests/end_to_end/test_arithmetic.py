"""Operators on numbers and tensors."""

import math
import operator

import pytest
import torch
from tests.end_to_end.support import check

X = torch.tensor([-1.5, 0.25, 2.0])
I = torch.tensor([3, -7, 12])
BINARY = {
    "add": operator.add, "sub": operator.sub, "mul": operator.mul, "truediv": operator.truediv,
    "floordiv": operator.floordiv, "mod": operator.mod, "pow": operator.pow, "matmul": operator.matmul,
}  # fmt: skip
BITS = {
    "and": operator.and_,
    "or": operator.or_,
    "xor": operator.xor,
    "lshift": operator.lshift,
    "rshift": operator.rshift,
}
COMPARE = {name: getattr(operator, name) for name in ("lt", "le", "eq", "ne", "gt", "ge")}


def test_a_sum_is_one_graph():
    check(lambda x, y: x + y, X, X * 2, graphs=1, breaks=0)


@pytest.mark.parametrize("name", BINARY)
def test_binary_operator_of_two_tensors(name):
    op = BINARY[name]
    check(lambda x, y: op(x, y), X, X.abs() + 1, graphs=1, breaks=0)


@pytest.mark.parametrize("name", [n for n in BINARY if n != "matmul"])
def test_binary_operator_of_tensor_and_number_in_both_orders(name):
    op = BINARY[name]
    check(lambda x: (op(x, 3), op(3, x), op(2.5, x)), X.abs() + 1, graphs=1, breaks=0)


@pytest.mark.parametrize("number", [-1, -2.5, -0.0, -math.inf, -1j, 1 - 2j, False], ids=repr)
@pytest.mark.parametrize("name", [n for n in BINARY if n not in ("matmul", "mod", "floordiv")])
def test_a_number_with_a_sign_is_one_operand(name, number):
    op = BINARY[name]
    check(lambda x: (op(x, number), op(number, x)), torch.arange(4.0), graphs=1, breaks=0)


@pytest.mark.parametrize("backend", ["eager", "aot_eager"])
def test_powers_of_negative_numbers(backend):
    def inside(x):
        (gradient,) = torch.autograd.grad(((-2.0) ** x).sum(), x)
        return gradient

    def updated(x):
        y = -1
        y **= x
        return y

    i = torch.arange(4)
    check(lambda x: ((-1) ** x, pow(-2, x), operator.ipow(-3, x), (~2) ** x), i, backend=backend)
    check(lambda x: torch.vmap(lambda row: (-1) ** row)(x), i, backend=backend)
    check(torch.func.grad(lambda x: ((-2.0) ** x).sum()), torch.tensor([2.0, 4.0]), backend=backend)
    check(inside, torch.tensor([2.0, 4.0], requires_grad=True), backend=backend)
    check(updated, i, backend=backend)
    check(lambda x, n: (-n) ** x, torch.tensor(2), 3, backend=backend, options={"dynamic": True})
    check(lambda x, n: x + (-1) ** n, torch.tensor(2), 3, backend=backend, options={"dynamic": True})


@pytest.mark.parametrize("name", BITS)
def test_bit_operator(name):
    op = BITS[name]
    check(lambda x, n: (op(x, 2), op(n, 2)), I.abs(), 5, graphs=1, breaks=0)


@pytest.mark.parametrize("name", COMPARE)
def test_comparison_of_tensors(name):
    op = COMPARE[name]
    check(lambda x, y: (op(x, y), op(x, 0)), X, X * 2, graphs=1, breaks=0)


@pytest.mark.parametrize("name", [n for n in BINARY if n != "matmul"])
def test_binary_operator_of_numbers(name):
    op = BINARY[name]
    check(lambda x, n, f: (x + op(n, 3), op(f, 2), op(n, f)), X, 7, 2.5, breaks=0)


def test_in_place_operators_change_the_argument():
    def f(x, y):
        x += 1
        x *= y
        x -= 3
        x /= 2
        x **= 2
        return x

    check(f, X, X, graphs=1, breaks=0)


def test_in_place_on_a_number_leaves_the_original():
    def f(x, n):
        m = n
        m += 1
        m <<= 2
        return x * m, n

    check(f, X, 3, breaks=0)


def test_unary_operators():
    check(lambda x, i, n: (-x, +x, ~i, abs(x), -n, ~n, not n, abs(n)), X, I, -4, graphs=1, breaks=0)


def test_chained_comparison_stops_early():
    def f(x, a, b):
        return x + 1 if 0 < a < b else x - 1

    check(f, X, 3, 5, breaks=0)
    check(f, X, 3, 2, breaks=0)
    check(f, X, -3, 2, breaks=0)


def test_division_by_zero_raises_like_eager():
    check(lambda x, n: x + n // 0, X, 3)
    check(lambda x, n: x + 1 / (n - n), X, 3.0)


def test_float_constants_keep_sign_and_nan():
    check(lambda x, f: (x * f, f, -0.0, f * 0), X, -0.0)
    check(lambda x, f: (x, f), X, math.nan)
    check(lambda x, f: (x + f, f > 3, f == f), X, math.inf)


def test_integer_and_boolean_arguments_are_told_apart():
    check(lambda x, n: x + 1 if n is True else x - n, X, True)
    check(lambda x, n: (x, type(n), n + n), X, True)


def test_big_integers():
    check(lambda x, n: (x + 1, n**5, n // 3, n % 1000, -n >> 3), X, 2**70)


def test_complex_numbers():
    check(lambda x, c: (x * c, c.real, c.imag, abs(c), c.conjugate()), X, 3 + 4j)


def test_math_functions_on_numbers():
    check(
        lambda x, n: x * math.sqrt(n) + math.floor(2.7) + math.pi + math.gcd(12, n) + math.prod([1, 2, 3]),
        X,
        16,
        breaks=0,
    )


def test_number_methods():
    check(
        lambda x, n, f: (
            x,
            n.bit_length(),
            f.is_integer(),
            (0.5).as_integer_ratio(),
            f.hex(),
            round(f, 1),
            divmod(n, 4),
        ),
        X,
        9,
        2.25,
    )


def test_int_and_float_constructors():
    check(
        lambda x, n: (
            x,
            int("12"),
            int("ff", 16),
            float("2.5"),
            int(2.9),
            bool(n),
            str(n),
            int(True),
            complex(1, 2),
        ),
        X,
        3,
    )


def test_invalid_literal_raises_like_eager():
    check(lambda x: x + int("zz"), X)


def test_tensor_power_of_number():
    check(lambda x: (2**x, x**2, x**0.5, x.pow(-1)), X.abs() + 1, graphs=1, breaks=0)


def test_type_promotion():
    check(
        lambda x, i: (x + i, i / 2, i * 2.5, i // 2, x.double() + x, i.bool() & True, x + True),
        X,
        I,
        graphs=1,
        breaks=0,
    )


def test_numbers_that_change_give_right_results():
    def change(x, box):
        box[0] += 3
        box[1] *= 1.5

    check(lambda x, box: (x * box[0], x * box[1], box[0] > 5), X, [1, 0.5], calls=6, change=change)


def test_matrix_products():
    a, b = torch.randn(2, 3), torch.randn(3, 4)
    check(
        lambda a, b: (a @ b, torch.mm(a, b), a.matmul(b), torch.einsum("ij,jk->ik", a, b)),
        a,
        b,
        graphs=1,
        breaks=0,
    )


def test_unsupported_operand_raises_like_eager():
    check(lambda x: x + "a", X)
    check(lambda x: [1] + (2,), X)
    check(lambda x: x @ 3, X)


def test_shape_mismatch_raises_like_eager():
    check(lambda x, y: x + y, X, torch.ones(2))
    check(lambda x, y: x @ y, torch.ones(2, 3), torch.ones(2, 3))
