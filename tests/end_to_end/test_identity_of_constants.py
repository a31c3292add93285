"""Equal numbers and texts that are one object or two: `is` says what eager says, and results are the very objects."""

import math

import pytest
import torch
from tests.end_to_end.support import check

from framesmith import frontend


def fresh(kind):
    """A new object for each call, equal to the last one."""
    return {
        "int": lambda: int("10000000000"),
        "float": lambda: float("2.5"),
        "str": lambda: "".join(["some", " ", "text"]),
        "bytes": lambda: b"".join([b"some", b" ", b"bytes"]),
        "complex": lambda: complex("1+2j"),
        "nan": lambda: float("nan"),
        "device": lambda: torch.device("cpu"),
        "small": lambda: int("7"),
    }[kind]()


KINDS = ["int", "float", "str", "bytes", "complex", "nan", "device", "small"]
QUESTIONS = [
    lambda a, b: a is b,
    lambda a, b: a is not b,
    lambda a, b: [a][0] is b,
    lambda a, b: (a is a, b is b),
    lambda a, b: a in [b],
    lambda a, b: a is None,
]


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("number", range(len(QUESTIONS)))
def test_identity_of_two_arguments(kind, number):
    function = QUESTIONS[number]
    compiled = frontend.compile(function, backend="eager")
    one, other = fresh(kind), fresh(kind)
    for pair in [(one, one), (one, other), (other, other), (fresh(kind), fresh(kind)), (one, one)]:
        assert compiled(*pair) == function(*pair), pair


CONSTANT = fresh("str")


def test_identity_with_a_global():
    def f(text):
        return text is CONSTANT

    compiled = frontend.compile(f, backend="eager")
    for text in (CONSTANT, fresh("str"), CONSTANT, "other", fresh("str")):
        assert compiled(text) is f(text)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(
    "function", [lambda x, v: v, lambda x, v: [x + 1, v][1], lambda x, v: {"key": (v, v)}["key"][1]]
)
def test_what_is_returned_is_the_argument_itself(kind, function):
    compiled = frontend.compile(function, backend="eager")
    for _ in range(3):
        value = fresh(kind)
        assert compiled(torch.ones(1), value) is value


def test_an_attribute_that_is_set_holds_the_argument_itself():
    class Box:
        pass

    def f(box, x, value):
        box.value = value
        return x + 1

    compiled = frontend.compile(f, backend="eager")
    for _ in range(3):
        box, value = Box(), fresh("int")
        compiled(box, torch.ones(1), value)
        assert box.value is value


def test_identity_of_numbers_that_change():
    def f(a, b):
        return a + 0 is b, a is b, a is a

    compiled = frontend.compile(f, backend="eager")
    for pair in [(1, 2), (3, 3), (1000, 1001), (5, 5), (2.5, 3.5), (1.5, 1.25)]:
        assert compiled(*pair) == f(*pair)


COMPLEX = [
    complex(real, imaginary)
    for real in (0.0, -0.0, 1.5, -2.0, math.inf, math.nan)
    for imaginary in (0.0, -0.0, 2.0, -1.0, -math.inf)
]


def parts(tensor):
    return [
        (math.copysign(1, part), str(part)) for item in tensor.tolist() for part in (item.real, item.imag)
    ]


@pytest.mark.parametrize("backend", ["eager", "aot_eager"])
def test_complex_constants_keep_their_signs_in_a_graph(backend):
    compiled = [frontend.compile(lambda x, c=c: x.fill_(c), backend=backend) for c in COMPLEX]
    for constant, function in zip(COMPLEX, compiled, strict=True):
        x = torch.zeros(1, dtype=torch.complex128)
        assert parts(function(x.clone())) == parts(x.clone().fill_(constant)), constant


def test_float_constants_in_every_position_of_a_graph():
    x = torch.tensor([1.0, 2.0, 3.0])
    for value in (-0.0, math.inf, -math.inf, torch.finfo(torch.float32).min, 5e-324):
        check(lambda x, v=value: (torch.full((2,), v), x.clamp(min=v), torch.tensor([v, [v][0]]), x * v), x)
