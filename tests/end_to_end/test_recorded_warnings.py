"""Warnings of the program and of torch, where the program changes what becomes of warnings."""

import warnings

import pytest
import torch
import torch.nn.functional as F

from framesmith import frontend


def recorded_twice(x):
    with warnings.catch_warnings(record=True) as found:
        warnings.simplefilter("always")
        warnings.warn("a")
        warnings.warn("b")
    return x + len(found), [str(one.message) for one in found]


def counted_between(x):
    counts = []
    with warnings.catch_warnings(record=True) as found:
        warnings.simplefilter("always")
        for number in range(3):
            warnings.warn(f"number {number}")
            counts.append(len(found))
    return x, counts


def error_of_torch(x):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        try:
            return F.softmax(x)
        except UserWarning:
            return "raised"


def error_to_the_caller(x):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        return F.mse_loss(x, torch.ones(2, 1))


def recorded_of_torch(x):
    with warnings.catch_warnings(record=True) as found:
        warnings.simplefilter("always")
        y = F.softmax(x)
    return y, len(found)


def behind_a_break(x):
    with warnings.catch_warnings(record=True) as found:
        warnings.simplefilter("always")
        print(end="")
        y = F.softmax(x)
        z = F.mse_loss(y, torch.ones(2, 1))
    return z, len(found)


def ignored(x):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        y = F.softmax(x)
        warnings.warn("ignored")
    return y


def before_and_behind(x):
    with warnings.catch_warnings(record=True) as found:
        warnings.simplefilter("always")
        warnings.warn("inside")
    y = x * 2
    warnings.warn("outside")
    return y, len(found)


def kept(x):
    warnings.simplefilter("error")
    try:
        return F.softmax(x)
    except UserWarning as error:
        return str(error)[:20]


def run(function):
    with warnings.catch_warnings(record=True) as shown:
        warnings.simplefilter("always")
        try:
            result = function(torch.ones(2, 3))
        except Warning as error:
            result = type(error)
        return show(result), [str(one.message)[:40] for one in shown]


def show(value):
    if isinstance(value, torch.Tensor):
        return value.tolist()
    return [show(one) for one in value] if isinstance(value, tuple | list) else value


PROGRAMS = [
    recorded_twice,
    counted_between,
    error_of_torch,
    error_to_the_caller,
    recorded_of_torch,
    behind_a_break,
    ignored,
    before_and_behind,
    kept,
]


@pytest.mark.parametrize("program", PROGRAMS)
def test_what_becomes_of_warnings(program):
    expected = run(program)
    compiled = frontend.compile(program, backend="eager")
    assert [run(compiled) for _ in range(3)] == [expected] * 3
