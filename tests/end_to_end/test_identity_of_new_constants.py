"""Numbers and texts made in a traced call have an identity: one object of the trace is one object of the call, over breaks too."""

import math

import numpy
import pytest
import torch
from tests.end_to_end.support import check_source

from framesmith import frontend

PROGRAM = """
import math
import torch
from framesmith import frontend

class Box:
    pass

def f(x, given):
    one, other = float("nan"), float("inf") * -0.0
    text, same = "".join(["some", " text"]), " ".join(["some", "text"])
    big, equal = 10 ** 20 + x.shape[0], 10 ** 20 + x.shape[0]
    half, twin = 5.5 * x.shape[0], 5.5 * x.shape[0]
    {before}
    return x + 1, {expression}

def args():
    return torch.ones(3), float("nan")
"""
QUESTIONS = [
    "(hash(one) == hash(one), hash(one) == hash(other), one.__hash__() == hash(one))",
    "(hash((1, one)) == hash((1, one)), hash((1, one)) == hash((1, other)))",
    "(hash(given) == hash(given), hash(given) == hash(one))",
    "(one in [one], one in [other], one in (other, one), one in {one}, one in {other}, one in {one: 1})",
    "([one] == [one], [one] == [other], (one,) == (one,), {1: one} == {1: other}, {one: 1} == {one: 1})",
    "([other, one].index(one), [one, other, one].count(one), len({one, other, one}))",
    "(given in [given], given in [one], [given] == [given])",
    "(one is one, one is other, [one, one][0] is one, (one == one))",
    "(text is text, text is same, [text][0] is text, text == same)",
    "(big is big, big is equal, (big, 1)[0] is big, big == equal)",
    "(half is half, half is twin, {1: half}[1] is half, half == twin)",
    "(max(given, 1.0) is given, float(given) is given, text.strip() is text, str(text) is text)",
    "(math.copysign(1, -one), math.copysign(1, one))",
]


@pytest.mark.parametrize("before", ["pass", "frontend.graph_break()", "print(one in [other])"])
@pytest.mark.parametrize("expression", QUESTIONS)
def test_identity_is_that_of_the_call(before: str, expression: str) -> None:
    check_source(PROGRAM.format(before=before, expression=expression))


@pytest.mark.parametrize("name", ["one", "text", "big", "half", "max(given, 1.0)"])
@pytest.mark.parametrize("before", ["pass", "frontend.graph_break()"])
def test_a_new_constant_is_one_object_wherever_it_is_stored(name: str, before: str) -> None:
    lines = f"box, kept = Box(), {name}; box.one = kept; {before}; box.two = [kept]"
    expression = (
        "box.one is box.two[0], box.two[0] is {'a': kept}['a'], [box.one] == box.two, box.one in {kept}"
    )
    check_source(PROGRAM.format(before=lines, expression=expression))


def test_what_a_call_returns_twice_is_one_object() -> None:
    def f(x):
        number = float("nan")
        return x + 1, number, [number], {number: number}

    def g(x):
        text, number = x.dtype.__repr__() + "!", 7.5 * x.shape[0]
        return text, [text], number, {"n": number}

    result = frontend.compile(f, backend="eager")(torch.ones(1))
    assert result[1] is result[2][0] is result[3][result[1]]
    result = frontend.compile(g, backend="eager")(torch.ones(1))
    assert result[0] is result[1][0] and result[2] is result[3]["n"]


def test_each_call_makes_its_own_nan() -> None:
    compiled = frontend.compile(lambda: float("nan"), backend="eager")
    first, second = compiled(), compiled()
    assert [first] != [second] and len({first, second}) == 2


def test_an_operand_that_is_given_back_is_the_argument_itself() -> None:
    compiled = frontend.compile(lambda a, b: (max(a, b), +a, float(a), f"{b}"), backend="eager")
    for a in (float("nan"), float("nan"), 2.5, float("2.5")):
        result = compiled(a, 1.25)
        assert result[0] is a and result[1] is a and result[2] is a


@pytest.mark.parametrize("question", ["[v] == [w]", "v in [w]", "(v, 1) == (w, 1)", "[1.0, w].count(v)"])
def test_floats_that_change_may_be_one_nan(question: str) -> None:
    namespace: dict = {}
    exec(f"def f(x, v, w): return x + 1, {question}", namespace)
    function, nan = namespace["f"], float("nan")
    compiled = frontend.compile(function, backend="eager")
    for v, w in [(1.5, 2.5), (3.5, 4.5), (5.5, 5.5), (nan, 2.5), (nan, nan), (nan, float("nan")), (2.5, nan)]:
        assert compiled(torch.ones(2), v, w)[1] == function(torch.ones(2), v, w)[1], (v, w)


@pytest.mark.parametrize("copied", ["copy.copy", "copy.deepcopy"])
def test_a_device_is_copied_and_a_dtype_is_not(copied: str) -> None:
    namespace: dict = {}
    exec(f"import copy\ndef f(x, v): return x + 1, {copied}(v)", namespace)
    compiled = frontend.compile(namespace["f"], backend="eager")
    for value in (torch.device("cpu"), torch.float32, torch.device("meta"), torch.strided is None):
        found, expected = compiled(torch.ones(2), value)[1], namespace["f"](torch.ones(2), value)[1]
        assert found == expected == value
        assert (found is value) == (expected is value)


SIGNS = [
    "math.copysign(1, v)",
    "math.copysign(1, v * 2)",
    "math.copysign(1, -v)",
    "[math.copysign(3, v)] * 2",
]


@pytest.mark.parametrize("text", SIGNS)
@pytest.mark.parametrize("kind", [float, numpy.float64, numpy.float32])
@pytest.mark.parametrize("backend", ["eager", "aot_eager"])
def test_a_nan_has_a_sign(text: str, kind: type, backend: str) -> None:
    namespace: dict = {"math": math}
    exec(f"def f(x, v): return x + 1, {text}", namespace)
    nan = float("nan")
    for values in ([nan, -nan, nan, -nan, 1.0], [1.0, 2.0, nan, -nan, -3.0, -nan, nan]):
        compiled = frontend.compile(namespace["f"], backend=backend)
        for value in values:
            v = kind(value)
            assert compiled(torch.ones(2), v)[1] == namespace["f"](torch.ones(2), v)[1]
