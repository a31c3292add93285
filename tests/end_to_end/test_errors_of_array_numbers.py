"""`numpy.errstate` and `numpy.seterr`: what numpy does about an overflow or a division by zero, inside of a function and around it."""

import numpy as np
import pytest
import torch
from tests.end_to_end.support import check

from framesmith import frontend

A = np.arange(6.0).reshape(2, 3)


def set_inside(x, a):
    before = np.seterr(over="raise")
    try:
        return np.exp(a * 1000)
    except FloatingPointError as error:
        return str(error), x * 2
    finally:
        np.seterr(**before)


def in_a_block(x, a):
    try:
        with np.errstate(divide="raise"):
            return x * 2, 1 / a
    except FloatingPointError as error:
        return str(error), np.geterr(), x * 2


def printed(x, a):
    with np.errstate(divide="call", call=lambda kind, flag: print(kind)):
        return 1 / a, x * 2


@pytest.mark.parametrize("function", [set_inside, in_a_block, printed])
def test_what_the_function_sets(function) -> None:
    check(function, torch.ones(2), A)


def test_what_the_caller_has_set() -> None:
    compiled = frontend.compile(lambda x, a: (x * 2, np.exp(a * 1000)), backend="eager")
    for mode in ("ignore", "raise", "ignore", "raise"):
        with np.errstate(over=mode):
            if mode == "raise":
                with pytest.raises(FloatingPointError):
                    compiled(torch.ones(2), A)
            else:
                assert np.isinf(compiled(torch.ones(2), A)[1]).any()


def test_arrays_stay_in_the_graph_where_numpy_only_warns() -> None:
    assert check(lambda x, a: (x * 2, np.sin(a) + 1), torch.ones(2), A, breaks=0).graphs == 1
