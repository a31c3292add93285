"""`torch.autograd.graph.disable_saved_tensors_hooks` in a compiled function: in the graph, or a break behind which the setting is as in eager."""

import pytest
import torch
from tests.end_to_end.compare import Comparison
from torch.autograd.graph import disable_saved_tensors_hooks, save_on_cpu, saved_tensors_hooks
from torch.utils import checkpoint

from framesmith import frontend

REFUSAL = torch._C._autograd._saved_tensors_hooks_get_disabled_error_message


def block(x):
    with disable_saved_tensors_hooks("none here"):
        y = (x * x).sin()
    return y * 2


@disable_saved_tensors_hooks("none here")
def decorated(x):
    return (x * x).sin() * 2


def calls_decorated(x):
    return decorated(x) + 1


def nested(x):
    with disable_saved_tensors_hooks("outer"):
        y = x * 2
        with disable_saved_tensors_hooks("inner"):
            y = y.sin()
        return y * x, REFUSAL()


def asks(x):
    return x * 2 if torch._C._autograd._saved_tensors_hooks_is_enabled() else x * 3


def breaks(x):
    with disable_saved_tensors_hooks("none here"):
        y = x.sin()
        frontend.graph_break()
        found = REFUSAL()
        y = y.cos()
    return y, found, REFUSAL()


def pushes(x):
    with disable_saved_tensors_hooks("none here"):
        y = x.sin()
        with saved_tensors_hooks(lambda t: t, lambda t: t):
            return y * x


def pushes_and_goes_on(x):
    y = x.exp()
    try:
        with disable_saved_tensors_hooks("none here"), save_on_cpu():
            y = y * x
    except RuntimeError as error:
        return y * 2, str(error)


def checkpoints(x):
    with disable_saved_tensors_hooks("none here"):
        return checkpoint.checkpoint(torch.sin, x, use_reentrant=False)


def is_left_open(x):
    context = disable_saved_tensors_hooks("left open")
    context.__enter__()
    return x.sin(), context


def ends_in_it(x):
    with disable_saved_tensors_hooks("none here"):
        raise ValueError(x.shape)


WHOLE = [block, calls_decorated, nested, asks]
BROKEN = [breaks, pushes, pushes_and_goes_on, checkpoints, ends_in_it]


def outcome(function, number):
    """Result, gradient, error and the setting behind it."""
    x = torch.full((3,), number, requires_grad=True)
    try:
        result = function(x)
        first, *rest = result if isinstance(result, tuple) else (result,)
        first.sum().backward()
        found = first.detach(), x.grad, rest
    except Exception as error:
        found = type(error), str(error)
    return found, REFUSAL()


@pytest.mark.parametrize("backend", ["eager", "aot_eager"])
@pytest.mark.parametrize("function", WHOLE + BROKEN, ids=lambda one: one.__name__)
def test_hooks_are_refused_as_in_eager(function, backend):
    compiled = frontend.compile(function, backend=backend, fullgraph=function in WHOLE)
    for number in (0.5, 1.0, 0.5):
        Comparison(rtol=1e-6).same(outcome(function, number), outcome(compiled, number), f"{number}")


def test_what_the_caller_has_set_is_guarded():
    compiled = frontend.compile(asks, backend="eager")
    x = torch.ones(2)
    for _ in range(2):
        assert compiled(x).tolist() == [2, 2]
        with disable_saved_tensors_hooks("of the caller"):
            assert compiled(x).tolist() == [3, 3]


@pytest.mark.parametrize("backend", ["eager", "aot_eager"])
def test_hooks_of_the_caller_raise(backend):
    compiled = frontend.compile(block, backend=backend)
    for _ in range(2):
        compiled(torch.ones(2))
        with (
            saved_tensors_hooks(lambda t: t, lambda t: t),
            pytest.raises(RuntimeError, match="none here"),
        ):
            compiled(torch.ones(2))
        assert REFUSAL() is None


def test_a_context_that_stays_open():
    for call in (is_left_open, frontend.compile(is_left_open, backend="eager")):
        result, context = call(torch.ones(2))
        try:
            assert REFUSAL() == "left open"
        finally:
            context.__exit__(None, None, None)
        assert REFUSAL() is None
