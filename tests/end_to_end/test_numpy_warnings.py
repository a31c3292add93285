"""numpy warns of divisions by zero and the like. Where the program sees the warning, numpy itself computes."""

import warnings

import numpy as np
import pytest

from framesmith import frontend


def divide(a):
    try:
        return (a / 0).tolist()
    except RuntimeWarning as error:
        return str(error)


def take_logarithm(a):
    try:
        return np.log(a - 1).tolist()
    except RuntimeWarning as error:
        return str(error)


def multiply(a):
    try:
        return (a * 1e300 * 1e300).tolist()
    except RuntimeWarning as error:
        return str(error)


def changes_filters(a):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        return divide(a)


def records(a):
    with warnings.catch_warnings(record=True) as seen:
        warnings.simplefilter("always")
        b = a / 0
    return b.tolist(), [str(one.message) for one in seen]


PROGRAMS = [divide, take_logarithm, multiply, changes_filters, records]


@pytest.mark.parametrize("backend", ["eager", "aot_eager"])
@pytest.mark.parametrize("function", PROGRAMS, ids=lambda one: one.__name__)
def test_a_warning_that_the_program_sees_comes_as_in_eager(function, backend):
    compiled = frontend.compile(function, backend=backend)
    for action in ("ignore", "error", "ignore", "default", "error"):
        for value in (np.ones(2), np.full(2, 3.0)):
            with warnings.catch_warnings():
                warnings.filterwarnings(action, category=RuntimeWarning)
                assert str(compiled(value.copy())) == str(function(value.copy()))


@pytest.mark.parametrize("category", [DeprecationWarning, Warning])
def test_errors_of_other_warnings_do_not_count(category):
    compiled = frontend.compile(lambda a: (a * 2).sum(), backend="eager", fullgraph=category is not Warning)
    with warnings.catch_warnings():
        warnings.simplefilter("error", category)
        assert compiled(np.ones(3)) == 6


def test_recorded_warnings_are_those_of_eager():
    compiled = frontend.compile(lambda a: a / 0, backend="eager")
    for _ in range(2):
        with pytest.warns(RuntimeWarning, match="divide by zero"):
            compiled(np.ones(3))
