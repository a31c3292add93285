"""Formulas for texts: they read as Python and mean what the guard computes."""

import operator
import random

import pytest

from framesmith.guards.infix import Infix, find_asked, write_call, write_formula, write_number
from framesmith.guards.kinds import ShapeExpression
from framesmith.guards.kinds.shapes import FUNCTIONS
from framesmith.guards.sources import Attribute, Computed, Local

N, EPOCH = Local("n"), Attribute(Local("sched"), "last_epoch")
BINARY = (
    *(operator.add, operator.sub, operator.mul, operator.truediv, operator.floordiv, operator.mod),
    *(operator.lt, operator.le, operator.eq, operator.and_, operator.or_, operator.xor, operator.lshift),
)
UNARY = (operator.neg, operator.pos, abs, round)


def test_what_a_scheduler_compares_reads_as_its_source() -> None:
    computed = Computed(operator.le, (Computed(lambda v0: 1 + v0, (EPOCH,), "<1 + v0>"), 2.9), "le")
    guard = ShapeExpression("bool({0}) is True", (computed,))
    assert guard.text() == "sched.last_epoch + 1 <= 2.9"
    assert guard.explain([False]) == "sched.last_epoch + 1 <= 2.9 was True and is False"


@pytest.mark.parametrize(
    ("template", "said"),
    [
        ("bool({0}) is False", "bool(n) was False and is True"),
        ("{0} % 4 > 2", "n % 4 > 2 no longer holds (n = 2)"),
    ],
)
def test_a_miss_names_the_answer_of_a_question_and_the_numbers_of_a_relation(template, said) -> None:
    assert ShapeExpression(template, (N,)).explain([2]) == said


@pytest.mark.parametrize(
    ("formula", "text"),
    [
        ("1 + 2*v0", "2 * n + 1"),
        ("(-1) + 3*v0", "3 * n - 1"),
        ("FloorDiv(v0, 2) - 1 == 3", "n // 2 - 1 == 3"),
        ("FloorDiv(1 + v0, 2)", "(n + 1) // 2"),
        ("Mod(v0, v1 + 1)", "n % (m < 2 + 1)"),
        ("PowByNatural(v0, 2)", "n ** 2"),
        ("Max(1, v0)", "max(1, n)"),
        ("IntTrueDiv(v0, v0 - 1)", "n / (n - 1)"),
        ("bool(v1) is False", "not m < 2"),
        ("bool(v1) is True or v0 > 3 and v0 < 9", "m < 2 or n > 3 and n < 9"),
        ("0 < v0 <= 9", "0 < n <= 9"),
        ("2 if v0 > 1 else 3", "2 if n > 1 else 3"),
        ("{v0: 1}[v0 + 1]", "{n: 1}[n + 1]"),
        ("math.trunc(v0)", "math.trunc(n)"),
        ("10 - (v0 - 3)", "10 - n + 3"),
    ],
)
def test_a_formula_of_sympy_is_written_with_operators(formula, text) -> None:
    compared = write_call(operator.lt, "lt", [Infix("m"), write_number(2)])
    # a comparison inside a sum is in parentheses; here it is looked up to be one
    expected = text.replace("(m < 2 + 1)", "((m < 2) + 1)")
    assert write_formula(formula, [Infix("n"), compared]).text == expected


def make_random(rng, depth):
    """A random computed source of `n` and constants."""
    if depth == 0 or rng.random() < 0.1:
        return rng.choice([N, rng.randint(-3, 5)])
    if rng.random() < 0.25:
        function = rng.choice(UNARY)
        return Computed(function, (make_random(rng, depth - 1),), function.__name__)
    function = rng.choice(BINARY)
    pair = (make_random(rng, depth - 1), make_random(rng, depth - 1))
    return Computed(function, pair, function.__name__)


def compute(function, *args):
    try:
        return function(*args)
    except (ArithmeticError, TypeError, ValueError) as error:
        return type(error)


@pytest.mark.parametrize("seed", range(300))
def test_the_text_means_what_is_computed(seed) -> None:
    rng = random.Random(seed)
    made = make_random(rng, rng.randint(1, 4))
    if not isinstance(made, Computed):
        made = Computed(operator.pow, (made, 2), "pow")

    def value_of(operand, n):
        if isinstance(operand, Computed):
            return operand.function(*(value_of(one, n) for one in operand.operands))
        return n if operand is N else operand

    assert "<" not in made.text() or any(symbol in made.text() for symbol in (" < ", " <= ", " << "))
    for n in (-2, 0, 1, 3):
        written = compute(lambda n=n: eval(made.text(), {"n": n}))
        assert written == compute(lambda n=n: value_of(made, n)), made.text()


@pytest.mark.parametrize("template", ["1 + 2*{0}", "(-1) + 3*{0} - FloorDiv({0}, 2)", "Mod(7 - {0}, 3)"])
def test_the_text_of_a_formula_means_what_it_computes(template) -> None:
    text = ShapeExpression(template, (N,)).text()
    for n in (-3, 0, 4, 11):
        assert eval(text, {"n": n}) == eval(template.replace("{0}", str(f"({n})")), dict(FUNCTIONS))


def test_a_question_is_found_with_its_answer() -> None:
    assert find_asked("bool(v0) is True") == ("bool(v0)", True)
    assert find_asked("v0 > 3") is None
    assert find_asked("type(v0) is int") is None
