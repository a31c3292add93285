"""`size_ties`: which equations between named sizes leave no choice, and what may be declared instead."""

import pytest

from framesmith.graph.shapes.size_ties import LinearSize, find_ties
from framesmith.guards.guards import Guard, Reason
from framesmith.guards.kinds.shapes import ShapeExpression
from framesmith.guards.sources.roots import Local
from framesmith.guards.sources.tensors import TensorSize

NAMES = {"x": LinearSize("b"), "y": LinearSize("c"), "z": LinearSize("d"), "w": LinearSize("b", 2, 1)}


def size(name):
    return TensorSize(Local(name), 0)


def ties(*relations):
    guards = [
        Guard.relation(ShapeExpression(template, tuple(map(size, names))), Reason("asked", f"line {index}"))
        for index, (template, names) in enumerate(relations)
    ]
    return find_ties(guards, lambda source: NAMES.get(source.base.name))


@pytest.mark.parametrize(
    ("template", "names", "text", "replacements"),
    [
        ("{0} == {1}", "xy", "c == b", {"c": "b"}),
        ("{0} == {1} + 1", "xy", "b == c + 1", {"b": "c + 1"}),
        ("{0} == {1} - 1", "xy", "c == b + 1", {"c": "b + 1"}),
        ("{0} == 2*{1} - 3", "xy", "b == 2*c - 3", {"b": "2*c - 3"}),
        ("3*{0} == 2*{1}", "xy", "3*b == 2*c", {"b": "2*b_c", "c": "3*b_c"}),
        ("{0} == 10 - {1}", "xy", "b == 10 - c", {}),
        ("{0} == {1} + 4", "wx", "b == 3", {}),
        ("{0} == {1}", "wy", "c == 2*b + 1", {"c": "2*b + 1"}),
    ],
)
def test_an_equation_of_one_or_two_names(template, names, text, replacements):
    (found,) = ties((template, names))
    assert found.replacements == replacements and found.user_frame == "line 0"
    assert found.text == text


@pytest.mark.parametrize(
    ("template", "names"),
    [
        ("{0} > {1}", "xy"),
        ("{0} % 2 == 0", "x"),
        ("{0} != 4", "x"),
        ("{0} == {1} + {2}", "xyz"),
        ("{0}*{1} == 12", "xy"),
        ("{0} == {1}", "xa"),
        ("{0} == 2*{1} + 1", "wx"),
        ("Max({0}, {1}) == 3", "xy"),
    ],
)
def test_what_is_no_tie(template, names):
    assert not ties((template, names))


def test_sizes_without_a_name_are_solved_for():
    (found,) = ties(("{0} == {1}", "ax"), ("{0} == 2*{1}", "ya"))
    assert found.text == "c == 2*b" and found.user_frame == "line 1"
