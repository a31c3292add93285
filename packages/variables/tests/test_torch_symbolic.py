"""Symbolic sizes and numbers: arithmetic, decisions, specialization, and what they do in a graph."""

import itertools

import pytest
import torch
from torch_tracing import Trace, same

from framesmith.variables.builtin_types.slices import SliceTracker
from framesmith.variables.core import Constant
from framesmith.variables.operations.binary import FUNCTIONS, binary
from framesmith.variables.operations.compare import compare
from framesmith.variables.symbolic_numbers.symbolic import SymbolicNumber, specialize

X = torch.randn(5, 7)


def size(trace, dim=0):
    return trace.method(trace.x, "size", dim)


def test_a_dynamic_size_is_symbolic():
    with Trace(dynamic=True, x=X) as trace:
        assert isinstance(size(trace), SymbolicNumber)
        assert size(trace).python_type is int


def test_a_graph_with_a_symbolic_size_takes_other_sizes():
    with Trace(dynamic=True, x=X) as trace:
        rows = binary(trace.tx, "*", size(trace), Constant(7))
        flat = trace.method(trace.x, "view", rows)
        trace.close()
        other = torch.arange(21.0).view(3, 7)
        assert same(trace.run(flat, rows, x=other)[0], other.view(21))


@pytest.mark.parametrize(
    ("symbol", "value"),
    # a quotient that is 0.0 would be known, and a negative base torch refuses
    [
        *itertools.product(["+", "-", "*", "//", "%", "/", "**"], [2]),
        *itertools.product(["+", "-", "*", "/", "**"], [2.5]),
        ("//", -2.5),
        ("%", -2.5),
    ],
)
def test_arithmetic_is_as_in_python(symbol, value):
    with Trace(dynamic=True, x=X, n=6) as trace:
        left = binary(trace.tx, symbol, trace.n, Constant(value))
        right = binary(trace.tx, symbol, Constant(value), trace.n)
        found = trace.run(left, right, n=6)
    for actual, expected in zip(
        found, (FUNCTIONS[symbol](6, value), FUNCTIONS[symbol](value, 6)), strict=True
    ):
        assert type(actual) is type(expected)
        assert actual == pytest.approx(expected)


def test_a_decision_is_guarded():
    with Trace(dynamic=True, x=X) as trace:
        answer = compare(trace.tx, ">", size(trace), Constant(3))
        assert answer.python_type is bool
        assert answer.truth(trace.tx) is True
        guards = " ".join(guard.claim.text() for guard in trace.recorder.explain_shape_guards())
        assert "4 <= x.size(0)" in guards


def test_a_specialized_number_is_a_constant():
    with Trace(dynamic=True, x=X) as trace:
        assert specialize(trace.tx, size(trace)).value == 5
        assert isinstance(size(trace), Constant)


def test_a_dynamic_number_is_an_input():
    with Trace(dynamic=True, x=X, n=6) as trace:
        result = binary(trace.tx, "+", trace.x, trace.n)
        trace.close()
        assert same(trace.run(result, n=9)[0], X + 9)


def test_equal_numbers_are_not_one_object():
    with Trace(dynamic=True, n=6, m=6) as trace:
        assert trace.n is not trace.m


def test_the_shape_is_a_size_of_symbols():
    with Trace(dynamic=True, x=X) as trace:
        shape = trace.x.attribute(trace.tx, "shape")
        assert shape.python_type is torch.Size
        assert [type(item) for item in shape.items] == [SymbolicNumber, SymbolicNumber]


def test_a_number_is_a_key_by_its_value():
    with Trace(dynamic=True, x=X) as trace:
        assert size(trace).hash_key(trace.tx) == Constant(5).hash_key(trace.tx)


def test_a_slice_with_a_symbolic_bound_stays_symbolic():
    with Trace(dynamic=True, x=X) as trace:
        half = binary(trace.tx, "//", size(trace, 1), Constant(2))
        result = trace.x.subscript(trace.tx, SliceTracker(None, half))
        trace.close()
        other = torch.randn(8, 12)
        assert same(trace.run(result, x=other)[0], other[:6])
