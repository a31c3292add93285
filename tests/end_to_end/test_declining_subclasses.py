"""Operators and comparisons of builtin values with instances of subclasses: who is asked, in which order, and what C methods see."""

import itertools
import operator

import pytest
import torch
from tests.end_to_end.support import check

from framesmith import frontend

X = torch.ones(1)
LOG: list[str] = []


def declining(base, *names):
    """A subclass whose methods of these names log and return NotImplemented."""

    def method(name):
        def declined(self, *others):
            LOG.append(name)
            return NotImplemented

        return declined

    return type(f"Declining{base.__name__.title()}", (base,), {name: method(name) for name in names})


COMPARING = ("__lt__", "__le__", "__eq__", "__ne__", "__gt__", "__ge__")
COMPUTING = ("add", "sub", "mul", "truediv", "floordiv", "mod", "pow")
METHODS = (*COMPARING, *(f"__{name}__" for name in COMPUTING), *(f"__r{name}__" for name in COMPUTING))
VALUES = {
    "int": declining(int, *METHODS, "__hash__")(2),
    "int, left only": declining(int, "__lt__", "__eq__", "__add__", "__mul__")(2),
    "int, right only": declining(int, "__gt__", "__ne__", "__radd__", "__rpow__")(2),
    "float": declining(float, *METHODS)(2.0),
    "text": declining(str, *COMPARING)("b"),
    "list": declining(list, *COMPARING)([1, 2]),
    "tuple": declining(tuple, *COMPARING)((1, 2)),
    "dict": declining(dict, *COMPARING)({1: 2}),
    "set": declining(set, *COMPARING)({1, 2}),
    "frozenset": declining(frozenset, *COMPARING)({1, 2}),
}
OTHERS = {
    "1": 1, "2": 2, "True": True, "2.0": 2.0, "1.5": 1.5, "nan": float("nan"), "complex": 2 + 0j, "None": None,
    "text": "b", "list": [1, 2], "longer list": [1, 3], "tuple": (1, 2), "dict": {1: 2}, "set": {1, 2},
    "larger set": {1, 2, 3}, "frozenset": frozenset({1, 2}),
}  # fmt: skip
COMPARISONS = (operator.lt, operator.le, operator.eq, operator.ne, operator.gt, operator.ge)
OPERATORS = (
    operator.add, operator.sub, operator.mul, operator.truediv, operator.floordiv, operator.mod, operator.pow,
    operator.iadd,
)  # fmt: skip


def outcomes(x, mine, others, functions):
    """What each function gives for the value on both sides of each other one, and which methods it asked."""
    found = []
    LOG.clear()
    for other in others:
        for function in functions:
            for operands in ((mine, other), (other, mine)):
                try:
                    result = function(*operands)
                except (TypeError, ZeroDivisionError) as error:
                    result = str(error)
                found.append((result, type(result), list(LOG)))
                LOG.clear()
    return x + 1, found


@pytest.mark.parametrize("kind", VALUES)
def test_comparisons(kind):
    check(outcomes, X, VALUES[kind], list(OTHERS.values()), COMPARISONS)


@pytest.mark.parametrize(
    ("kind", "other"), itertools.product(("int", "int, left only", "int, right only", "float"), OTHERS)
)
def test_operators(kind, other):
    check(outcomes, X, VALUES[kind], [OTHERS[other]], OPERATORS)


@pytest.mark.parametrize("kind", VALUES)
def test_each_other(kind):
    check(outcomes, X, VALUES[kind], list(VALUES.values()), COMPARISONS)


def test_a_number_that_a_symbol_stands_for():
    def program(x, mine):
        size = x.shape[0]
        return (
            x + 1,
            size < mine,
            mine < size,
            size == mine,
            mine == size,
            size + mine,
            mine + size,
            size * mine,
        )

    for count in (1, 2, 3, 4, 5):
        check(program, torch.ones(count), VALUES["int"])


@pytest.mark.parametrize("kind", ["int", "int, left only", "int, right only", "float"])
def test_numbers_that_vary(kind):
    def program(x, number, mine):
        return outcomes(x, mine, [number], (*COMPARISONS, operator.add, operator.mul))

    compiled = frontend.compile(program, backend="eager")
    for number in (1.5, 2.5, 3.5, 4.5, 1, 2, 3, 4, True, 7):
        assert repr(compiled(X, number, VALUES[kind])) == repr(program(X, number, VALUES[kind])), number


CONCATENATING = {
    "both": ("__add__", "__radd__", "__mul__", "__rmul__"),
    "left": ("__add__", "__mul__"),
    "right": ("__radd__", "__rmul__"),
    "in place": ("__iadd__", "__imul__"),
    "all": ("__add__", "__radd__", "__mul__", "__rmul__", "__iadd__", "__imul__"),
}
SEQUENCES = {str: "b", bytes: b"b", list: [1], tuple: (1,)}
OPERANDS = [2, 2.5, "x", b"x", [3], (3,), {1: 2}, {4}, None]


def sequence_outcomes(x, make, others, with_texts):
    found = []
    for other in others:
        for function in (operator.add, operator.mul, operator.iadd, operator.imul):
            for is_left in (True, False):
                mine = make()
                operands = (mine, other) if is_left else (other, mine)
                try:
                    result = function(*operands)
                except TypeError as error:
                    result = str(error) if with_texts else "error"
                found.append((result, type(result), result is mine, mine, list(LOG)))
                LOG.clear()
    return x + 1, found


@pytest.mark.parametrize("methods", CONCATENATING)
@pytest.mark.parametrize("base", SEQUENCES, ids=lambda base: base.__name__)
def test_sequences_whose_operators_are_overridden(base, methods):
    """A class that overrides a method of a sequence's slot has no such slot: `*=` asks `__mul__` then, which makes another object,
    and texts of errors speak of operands. Which slot a class has that overrides a part only, other texts of errors would show."""
    cls = declining(base, *CONCATENATING[methods])
    LOG.clear()
    check(sequence_outcomes, X, lambda: cls(SEQUENCES[base]), OPERANDS, methods in ("both", "all"), calls=2)


def test_a_list_that_is_multiplied():
    class Scaled(list):
        def __mul__(self, number):
            return Scaled([one * number for one in self])

    def program(x, values):
        before = values
        values *= 2
        return x * values[0], values, before is values

    check(program, X, Scaled([1, 2]))


def test_a_text_before_one_whose_class_declines():
    cls = declining(str, "__radd__")

    def program(x):
        return x + 1, "a" + cls("b"), f"{x.shape[0]}" + cls("b")

    check(program, X)


def test_a_list_of_a_subclass_is_extended_by_what_has_a_reflected_method():
    """Of list itself `+=` asks the other one first, of a subclass not: CPython gives that the slot of a number as well."""

    class Numbers(list):
        pass

    class Values:
        def __iter__(self):
            return iter((5, 6))

        def __radd__(self, other):
            return "reflected"

    def program(x, mine, plain):
        before, former = mine, plain
        mine += Values()
        plain += Values()
        return x + 1, mine, plain, mine is before, plain is former

    check(program, X, Numbers([1]), [1])
