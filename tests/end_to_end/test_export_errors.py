"""`export` of a program that raises for its example: the error shows the exception."""

import pytest
import torch

from framesmith import frontend


def raises(x):
    raise ValueError("bad")


def misses(x):
    return {}["missing"]


class Own(Exception):
    """An exception with an argument that is a tensor."""


def raises_from(x):
    try:
        raise KeyError(1)
    except KeyError as error:
        raise RuntimeError(f"outer {x.dim()}") from error


def raises_deeper(x):
    return raises(x)


@pytest.mark.parametrize(
    ("program", "shown"),
    [
        (raises, "ValueError: bad"),
        (misses, "KeyError: 'missing'"),
        (raises_from, "RuntimeError: outer 1"),
        (raises_deeper, "ValueError: bad"),
        (lambda x: x.nope, "AttributeError: 'Tensor' object has no attribute 'nope'"),
        (
            eval("lambda x: Own.fail(x, 1)", {"Own": Own}),
            "AttributeError: type object 'Own' has no attribute 'fail'",
        ),
    ],
)
def test_the_exception_of_a_program_that_raises_is_shown(program, shown) -> None:
    with pytest.raises(frontend.ExportError) as caught:
        frontend.export(program)(torch.ones(2))
    assert f": {shown}\n" in str(caught.value)


def raises_own(x):
    raise Own(1, x)


def asserts(x):
    raise AssertionError("wants two")


def raises_without_arguments(x):
    raise NotImplementedError


@pytest.mark.parametrize(
    ("program", "shown"),
    [
        (raises_own, "Own(1, Tensor (x))"),
        (asserts, "AssertionError: wants two"),
        (raises_without_arguments, "NotImplementedError"),
    ],
)
def test_arguments_that_are_no_text_are_named(program, shown) -> None:
    with pytest.raises(frontend.ExportError) as caught:
        frontend.export(program)(torch.ones(2))
    assert f": {shown}\n" in str(caught.value)
