"""Equal numbers and texts that are one object or two: `is` says what eager says, and results are the very objects."""

import math

import pytest
import torch
from tests.end_to_end.support import check

from framesmith import frontend
from framesmith.frontend import api


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


CODE_CONSTANTS = [
    "1e308 * 10 - 1e308 * 10",
    "(1e308 * 10 - 1e308 * 10) * 1j",
    "(1e308 * 10 - 1e308 * 10, 2)",
    "(1, 2)",
    "('a', 2.5, (3, 4))",
    "10 ** 30",
    "2.5",
    "1e308 * 10",
    "b'some bytes'",
    "'some text'",
]
USES = [
    "constant",
    "[constant]",
    "{'key': (constant, 1)}['key'][0]",
    "[constant, *box][0]",
]


@pytest.mark.parametrize("before", ["pass", "frontend.graph_break()", "print(end='')"])
@pytest.mark.parametrize("use", USES)
@pytest.mark.parametrize("text", CODE_CONSTANTS)
def test_a_constant_of_the_code_is_one_object_in_all_calls_and_entries(text, use, before):
    namespace = {"frontend": frontend}
    lines = ["def f(x, box):", f"  constant = {text}", f"  {before}", "  box.append(constant)"]
    exec("\n".join([*lines, f"  return x + 1, {use}, constant is box[0], [constant] == box[:1]"]), namespace)
    function = namespace["f"]
    compiled = frontend.compile(function, backend="eager")
    box: list = []
    function(torch.ones(1), box)
    for shape in (1, 1, 2, (2, 3), (2, 3, 4)):
        result = compiled(torch.ones(shape), box)
        found = result[1][0] if use == "[constant]" else result[1]
        assert found is box[0] and box[-1] is box[0] and result[2:] == (True, True)


def test_a_tuple_of_the_code_and_an_equal_argument():
    def f(x, pair):
        same = (1, 2)
        return x + 1, pair is same, pair == same, pair in [same], [pair].index(same)

    own = next(constant for constant in f.__code__.co_consts if type(constant) is tuple)
    compiled = frontend.compile(f, backend="eager")
    for pair in (own, tuple([1, 2]), own, tuple([1, 2])):
        assert compiled(torch.ones(1), pair)[1:] == f(torch.ones(1), pair)[1:]


def test_an_equal_tuple_needs_no_second_entry():
    def f(x, pair):
        return x + 1 if pair != (1, 2) else x

    own = next(constant for constant in f.__code__.co_consts if type(constant) is tuple)
    compiled = frontend.compile(f, backend="eager", fullgraph=True)
    for pair in (own, tuple([1, 2]), own):
        compiled(torch.ones(1), pair)
    assert len(api.session_of(compiled).history.entries) == 1
