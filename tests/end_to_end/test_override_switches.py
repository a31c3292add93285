"""The switches that keep `__torch_function__` from being asked, and the questions of torch about them."""

from contextlib import nullcontext

import pytest
import torch
from torch.overrides import BaseTorchFunctionMode

from framesmith import frontend

Total, Subclasses = torch._C.DisableTorchFunction, torch._C.DisableTorchFunctionSubclass


class Tagged(torch.Tensor):
    """Inherits the default override."""


def state():
    return (
        torch._C._is_torch_function_all_disabled(),
        torch._C._is_torch_function_enabled(),
        torch._C._is_torch_function_mode_enabled(),
        torch._C._len_torch_function_stack(),
    )


def observe(function):
    """What a call returns or raises, and how it leaves torch's switch, which is restored."""
    before = torch._C._get_torch_function_state()
    try:
        result = function(torch.ones(2).as_subclass(Tagged))
    except ValueError as error:
        result = str(error)
    after = str(torch._C._get_torch_function_state())
    torch._C._set_torch_function_state(before)
    return result, after


def compare(function, full=True):
    compiled = frontend.compile(function, backend="eager", fullgraph=full)
    for _ in range(2):
        assert observe(compiled) == observe(function)


@pytest.mark.parametrize("outer", [Total, Subclasses, lambda: torch.device("cpu")])
@pytest.mark.parametrize("inner", [Total, Subclasses])
def test_the_answers_within_the_switches(outer, inner):
    def run(x):
        with outer():
            with inner():
                inside = state(), type(x + 1) is Tagged
            between = state()
        return inside, between, state(), type(x + 1) is Tagged

    compare(run)


@pytest.mark.parametrize("first", [Total, Subclasses, BaseTorchFunctionMode, nullcontext])
def test_the_answers_follow_the_caller(first):
    compiled = frontend.compile(lambda x: (state(), x + 1)[0], backend="eager")
    for around in (first, nullcontext, Total, BaseTorchFunctionMode, Subclasses, nullcontext):
        with around():
            assert compiled(torch.ones(2)) == state()


def test_blocks_that_are_left_in_another_order():
    def crossed(x):
        one, other = Total(), Subclasses()
        one.__enter__()
        other.__enter__()
        one.__exit__(None, None, None)
        between = state()
        other.__exit__(None, None, None)
        return between, state(), type(x + 1) is Tagged

    def twice(x):
        one = Subclasses()
        one.__enter__()
        one.__enter__()
        one.__exit__(None, None, None)
        return state(), type(x + 1) is Tagged

    def never(x):
        Subclasses().__exit__(None, None, None)
        return state(), type(x + 1) is Tagged

    for function in (crossed, twice, never):
        compare(function, full=False)


def test_blocks_that_stay_open():
    def returns(x):
        Subclasses().__enter__()
        return state(), type(x + 1) is Tagged

    def raises(x):
        Subclasses().__enter__()
        Total().__enter__()
        raise ValueError("inside")

    for function in (returns, raises):
        compare(function)


def test_blocks_that_an_exception_leaves():
    def run(x):
        try:
            with Total(), Subclasses():
                raise ValueError
        except ValueError:
            return state(), type(x + 1) is Tagged

    compare(run)
