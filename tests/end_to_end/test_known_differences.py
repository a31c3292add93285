"""The rows of docs/differences.md: each shows what eager does and what a compiled function does. A row that no longer differs fails."""

import enum
import sys
import weakref
from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch import nn

from framesmith import frontend

Function = Callable[..., Any]


class Color(enum.Enum):
    RED = 1
    BLUE = 2


@torch.library.custom_op("known_differences::refuse", mutates_args=())
def refuse(x: torch.Tensor) -> torch.Tensor:
    REFUSALS.append(1)
    raise ValueError("refused")


REFUSALS: list[int] = []
refuse.register_fake(torch.empty_like)


def aot(function: Function) -> Function:
    return frontend.compile(function, backend="aot_eager")


def eager(function: Function) -> Function:
    return frontend.compile(function, backend="eager")


def leaf() -> torch.Tensor:
    return torch.ones(2, 3, requires_grad=True)


def test_variables_in_tracebacks() -> None:
    def run(x: torch.Tensor) -> object:
        singular = x * 0
        try:
            torch.linalg.inv(singular)
        except RuntimeError as error:
            assert error.__traceback__ is not None
            return "singular" in error.__traceback__.tb_frame.f_locals
        return None

    assert run(torch.ones(2, 2)) is True
    assert eager(run)(torch.ones(2, 2)) is False


def test_iterators_of_enums() -> None:
    def run() -> str:
        return type(iter(Color)).__name__

    assert (run(), eager(run)()) == ("generator", "tuple_iterator")


class Held:
    writes = 0


def test_counts_of_references() -> None:
    def count(x: torch.Tensor) -> int:
        return sys.getrefcount(x)

    x = torch.ones(2)
    assert eager(count)(x) > count(x)


def test_an_object_that_is_written_to_and_let_go() -> None:
    def run(x: torch.Tensor, held: list[Any]) -> tuple[torch.Tensor, bool]:
        reference = weakref.ref(held[0])
        held[0].writes = 1
        del held[0]
        return x + 1, reference() is None

    assert run(torch.ones(2), [Held()])[1] is True
    assert eager(run)(torch.ones(2), [Held()])[1] is False


class Noted:
    """Notes its end."""

    def __init__(self, log: list[str]) -> None:
        self.log = log

    def __del__(self) -> None:
        self.log.append("ended")


def test_what_the_variables_of_a_frame_in_a_traceback_hold() -> None:
    def run(x: torch.Tensor, log: list[str]) -> torch.Tensor:
        def inner() -> None:
            held = Noted(log)  # noqa: F841
            try:
                raise ValueError
            finally:
                log.append("finally")

        try:
            inner()
        except ValueError as error:  # noqa: F841
            log.append("caught")
        return x + 1

    found = []
    for call in (run, eager(run)):
        log = list[str]()
        call(torch.ones(2), log)
        found.append(log)
    assert found == [["finally", "caught", "ended"], ["finally", "ended", "caught"]]


def test_gradients_of_a_weight_under_autocast() -> None:
    def gradient(compile_function: Callable[[Function], Function]) -> torch.Tensor:
        torch.manual_seed(0)
        linear, x = nn.Linear(16, 16), torch.randn(32, 16)

        def run(x: torch.Tensor) -> torch.Tensor:
            return linear(torch.relu(linear(x))).float().pow(2).mean()

        with torch.autocast("cpu", dtype=torch.bfloat16):
            loss = compile_function(run)(x)
        loss.backward()
        assert linear.weight.grad is not None
        return linear.weight.grad

    in_eager, compiled = gradient(lambda function: function), gradient(aot)
    assert 0 < (in_eager - compiled).abs().max() < 1e-3


def test_names_of_histories() -> None:
    def name(wrap: Function) -> str:
        return type(wrap(lambda x: x * 2)(leaf()).grad_fn).__name__

    assert (name(eager), name(aot)) == ("MulBackward0", "CompiledFunctionBackward")


def test_a_second_backward_pass() -> None:
    def passes(wrap: Function) -> bool:
        loss = wrap(lambda x: x + 1)(leaf()).sum()
        loss.backward()
        try:
            loss.backward()
        except RuntimeError as error:
            assert "a second time" in str(error)
            return False
        return True

    assert (passes(eager), passes(aot)) == (True, False)


def test_gradients_of_gradients() -> None:
    def passes(wrap: Function) -> bool:
        x = leaf()
        (gradient,) = torch.autograd.grad(wrap(lambda x: x**3)(x).sum(), x, create_graph=True)
        try:
            gradient.sum().backward()
        except RuntimeError as error:
            assert "double backward" in str(error)
            return False
        return True

    def inside(x: torch.Tensor) -> torch.Tensor:
        (gradient,) = torch.autograd.grad((x**3).sum(), x, create_graph=True)
        return torch.autograd.grad(gradient.sum(), x)[0]

    assert (passes(eager), passes(aot)) == (True, False)
    assert torch.equal(aot(inside)(leaf()), inside(leaf()))


def test_order_of_hooks_of_leaves() -> None:
    def order(wrap: Function) -> list[str]:
        layer, seen = nn.Linear(2, 2), list[str]()
        for name, parameter in layer.named_parameters():
            parameter.register_post_accumulate_grad_hook(lambda _, name=name: seen.append(name))
        wrap(lambda x: layer(x))(torch.ones(2)).sum().backward()
        return seen

    assert order(lambda function: function) == order(eager) == ["bias", "weight"]
    assert order(aot) == ["weight", "bias"]


def test_gradients_of_what_is_overwritten() -> None:
    def gradient(wrap: Function) -> torch.Tensor | None:
        def run(a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
            b[0, 0] = 2
            return a * 1

        given = leaf()
        wrap(run)(leaf(), given * 2).sum().backward()
        return given.grad

    assert gradient(eager) is None
    found = gradient(aot)
    assert found is not None and not found.any()


def test_gradients_of_what_is_written_to_and_not_needed() -> None:
    def run(x: torch.Tensor, w: torch.Tensor) -> torch.Tensor:
        x.add_(1)
        return w * 2

    def gradient(call: Function) -> torch.Tensor | None:
        w, p = leaf(), leaf()
        result = call(p * 2, w)
        (given,) = torch.autograd.grad(result.sum(), [p], allow_unused=True)
        return given

    assert gradient(eager(run)) is None
    given = gradient(aot(run))
    assert given is not None and given.eq(0).all()


def test_version_counters_of_results() -> None:
    def written(x: torch.Tensor) -> torch.Tensor:
        return (x * 2).add_(1)

    def stored(x: torch.Tensor) -> torch.Tensor:
        y = x * 2
        y.add_(1)
        y.data = torch.ones(2)
        return y.add_(1)

    assert [eager(run)(torch.ones(2))._version for run in (written, stored)] == [1, 2]
    assert [aot(run)(torch.ones(2))._version for run in (written, stored)] == [0, 1]


def test_operators_that_raise() -> None:
    def calls(wrap: Function) -> int:
        def run(x: torch.Tensor) -> str:
            try:
                torch.ops.known_differences.refuse(x.sin())
            except ValueError as error:
                return str(error)
            return ""

        REFUSALS.clear()
        assert wrap(run)(torch.ones(3)) == "refused"
        return len(REFUSALS)

    assert (calls(lambda function: function), calls(eager), calls(aot)) == (1, 1, 3)


def test_gradients_of_a_refused_backward_pass() -> None:
    def gradient(call: Function) -> torch.Tensor | None:
        p, q = leaf(), leaf()
        loss = call(p, q)
        with torch.no_grad():
            p.add_(1)
        with pytest.raises(RuntimeError, match="modified by an inplace operation"):
            loss.backward()
        return q.grad

    def run(p: torch.Tensor, q: torch.Tensor) -> torch.Tensor:
        return (p.sin() * q).sum()

    assert gradient(eager(run)) is not None
    assert gradient(aot(run)) is None


def test_data_of_a_leaf_that_were_replaced_where_a_mask_of_the_old_ones_is_saved() -> None:
    def gradient(call: Function) -> torch.Tensor:
        p = leaf()
        loss = call(p)
        p.data = torch.full((2, 3), 5.0)
        loss.backward()
        assert p.grad is not None
        return p.grad

    def run(p: torch.Tensor) -> torch.Tensor:
        return torch.clamp(p, -2, 2).sum()

    assert gradient(eager(run)).eq(0).all()
    with pytest.raises(RuntimeError, match="run the backward pass first"):
        gradient(aot(run))


def test_data_of_a_result_that_were_replaced_before_its_backward_pass() -> None:
    def gradient(call: Function) -> torch.Tensor:
        p, x = torch.ones(2, requires_grad=True), torch.ones(2, requires_grad=True)
        weight, y = call(p, x)
        weight.data = torch.full((2,), 9.0)
        y.sum().backward()
        assert x.grad is not None
        return x.grad

    def run(p: torch.Tensor, x: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        weight = p * 2
        return weight, weight * x

    assert gradient(eager(run)).tolist() == [9, 9]
    assert gradient(aot(run)).tolist() == [2, 2]


def test_a_view_of_new_data_is_written_to_under_no_grad() -> None:
    def version(call: Function) -> int:
        p = leaf()
        call(p)
        return p._version

    def run(p: torch.Tensor) -> None:
        with torch.no_grad():
            p.data = p.data * 2
            p.view(-1).add_(1)

    assert version(eager(run)) == 1
    assert version(aot(run)) == 0


def test_data_of_a_leaf_that_were_changed_in_place_behind_the_back_of_autograd() -> None:
    def gradient(call: Function) -> torch.Tensor:
        p, q = torch.ones(3, requires_grad=True), torch.ones(3, requires_grad=True)
        loss = call(p, q)
        p.data.zero_()
        loss.backward()
        assert q.grad is not None
        return q.grad

    def run(p: torch.Tensor, q: torch.Tensor) -> torch.Tensor:
        return (p.exp() * (p / (q * q + 1))).sum()

    assert gradient(eager(run)).eq(0).all()
    assert not gradient(aot(run)).eq(0).any()


@pytest.mark.inductor
def test_memory_that_changed_behind_the_back_of_autograd() -> None:
    def gradient(call: Function) -> torch.Tensor:
        p, q = torch.zeros(3), torch.zeros(3, requires_grad=True)
        loss = call(p, q)
        p.data.add_(1)
        loss.backward()
        assert q.grad is not None
        return q.grad

    def run(p: torch.Tensor, q: torch.Tensor) -> torch.Tensor:
        return (p.cos().cos() * q).sum()

    assert not gradient(frontend.compile(run, backend="inductor")).equal(gradient(run))


def test_the_version_of_a_result_that_was_written_to() -> None:
    def run(x: torch.Tensor) -> torch.Tensor:
        z = x * 1
        z.t()[0] = 5.0
        return z

    x = torch.ones(2, 2, requires_grad=True)
    assert eager(run)(x)._version == 1
    assert aot(run)(x)._version == 0


def test_an_infinite_derivative_of_a_result_that_is_not_differentiated() -> None:
    def run(w: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        return (w * 3).sum(), w.sqrt()

    def gradient(call: Function) -> list[float]:
        w = torch.tensor([0.0, 4.0], requires_grad=True)
        call(w)[0].backward()
        assert w.grad is not None
        return list(w.grad.tolist())

    assert gradient(eager(run)) == [3, 3]
    assert str(gradient(aot(run))) == "[nan, 3.0]"


def test_a_value_of_another_result_was_changed_in_place() -> None:
    def run(a: torch.Tensor, w: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        return a * w, w * 2

    def gradient(call: Function) -> torch.Tensor | None:
        a, w = torch.ones(2), torch.ones(2, requires_grad=True)
        result = call(a, w)[1]
        a.mul_(3)
        result.sum().backward()
        return w.grad

    given = gradient(eager(run))
    assert given is not None and given.eq(2).all()
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        gradient(aot(run))
