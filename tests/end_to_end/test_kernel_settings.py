"""Settings that kernels read when they run, set in the middle of a function, under backends that replace operations."""

import pytest
import torch
from tests.end_to_end.support import check

from framesmith import frontend

X = torch.arange(12.0).reshape(3, 4).sin()
BACKENDS = [None, "aot_eager"]
# Where torch keeps what `set_float32_matmul_precision` sets. At first no value, which that function cannot bring back.
PRECISIONS = ("cuda", "mkldnn")


@pytest.fixture(autouse=True)
def unset_precisions():
    """Give the precisions of matrix products their first values back."""
    before = [torch._C._get_fp32_precision_getter(place, "matmul") for place in PRECISIONS]
    yield
    for place, value in zip(PRECISIONS, before, strict=True):
        torch._C._set_fp32_precision_setter(place, "matmul", value)


def filled(x):
    torch.use_deterministic_algorithms(True)
    try:
        return torch.empty(3), x * 2
    finally:
        torch.use_deterministic_algorithms(False)


def unfilled_in_the_middle(x):
    torch.use_deterministic_algorithms(True)
    y = torch.empty(2)
    torch.utils.deterministic.fill_uninitialized_memory = False
    z = torch.ones(2)
    torch.utils.deterministic.fill_uninitialized_memory = True
    w = torch.empty(2)
    torch.use_deterministic_algorithms(False)
    return y, z, w, x * 2


def warned(x):
    torch.use_deterministic_algorithms(True, warn_only=True)
    found = (
        torch.are_deterministic_algorithms_enabled(),
        torch.is_deterministic_algorithms_warn_only_enabled(),
    )
    y = torch.empty(2)
    torch.use_deterministic_algorithms(False)
    return y, found, torch.are_deterministic_algorithms_enabled()


def refused(x):
    torch.use_deterministic_algorithms(True)
    try:
        return torch.zeros(5).put_(torch.tensor([1, 2]), x[0, :2])
    except RuntimeError as error:
        return str(error)[:40], x * 2
    finally:
        torch.use_deterministic_algorithms(False)


def precise(x):
    before = torch.get_float32_matmul_precision()
    torch.set_float32_matmul_precision("high")
    inside = torch.get_float32_matmul_precision()
    y = x @ x.t()
    torch.set_float32_matmul_precision(before)
    return y, inside, torch.get_float32_matmul_precision()


def flags(x):
    with torch.backends.cudnn.flags(enabled=False, deterministic=True):
        inside = torch.backends.cudnn.enabled, torch.backends.cudnn.deterministic
        y = x * 2
    return y, inside, torch.backends.cudnn.enabled, torch.backends.cudnn.deterministic


def tensor_cores(x):
    before = torch.backends.cuda.matmul.allow_tf32
    torch.backends.cuda.matmul.allow_tf32 = not before
    y = x @ x.t(), torch.backends.cuda.matmul.allow_tf32
    torch.backends.cuda.matmul.allow_tf32 = before
    return y, torch.backends.cuda.matmul.allow_tf32


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize(
    "function", [filled, unfilled_in_the_middle, warned, refused, precise, flags, tensor_cores]
)
def test_kernels_find_what_the_program_has_set(function, backend) -> None:
    check(function, X, backend=backend)


@pytest.mark.parametrize("function", [precise, flags, tensor_cores])
def test_a_graph_that_runs_as_captured_turns_the_setting(function) -> None:
    assert check(function, X).graphs == 1


def as_it_is(x):
    torch.set_float32_matmul_precision(torch.get_float32_matmul_precision())
    with torch.backends.cudnn.flags(enabled=torch.backends.cudnn.enabled):
        return x @ x.t()


def test_a_setting_that_stays_as_it_is_breaks_nothing() -> None:
    assert check(as_it_is, X, backend="aot_eager", breaks=0).breaks == []


def test_a_setting_that_was_as_it_is_may_be_another_in_the_next_call() -> None:
    # One that is no part of the global state that each entry guards.
    read, turn = (
        torch._C._get_deterministic_fill_uninitialized_memory,
        torch._C._set_deterministic_fill_uninitialized_memory,
    )
    before = read()

    def f(x):
        torch._C._set_deterministic_fill_uninitialized_memory(True)
        return x * 2

    compiled = frontend.compile(f, backend="aot_eager")
    try:
        for value in (True, False, True, False):
            turn(value)
            assert torch.equal(compiled(X), X * 2)
            assert read() is True
    finally:
        turn(before)
