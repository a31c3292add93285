"""What torch says while an operation runs is said once: when the graph runs, and not while it is traced on fakes."""

import logging
import pickle
import threading
import warnings
from collections.abc import Callable, Iterator

import pytest
import torch
import torch.nn.functional as F

from framesmith import frontend
from framesmith.graph.environment.silence import SILENCE

Program = Callable[[torch.Tensor], torch.Tensor]


def broadcast_loss(x: torch.Tensor) -> torch.Tensor:
    return F.mse_loss(x, torch.ones(2, 1))


def broadcast_l1(x: torch.Tensor) -> torch.Tensor:
    return F.l1_loss(x, torch.ones(2, 1))


def implicit_dim(x: torch.Tensor) -> torch.Tensor:
    return F.log_softmax(x)


def default_alignment(x: torch.Tensor) -> torch.Tensor:
    return F.grid_sample(x.reshape(1, 1, 1, -1), torch.zeros(1, 2, 2, 2))


def resized_output(x: torch.Tensor) -> torch.Tensor:
    return torch.add(x, 1, out=torch.empty(1))


def no_freedom(x: torch.Tensor) -> torch.Tensor:
    return x[None].std(0)


PROGRAMS = (broadcast_loss, broadcast_l1, implicit_dim, default_alignment, resized_output, no_freedom)


@pytest.fixture(autouse=True)
def forget() -> Iterator[None]:
    frontend.reset()
    yield
    frontend.reset()


def heard(function: Program, *sizes: int) -> list[str]:
    found: list[str] = []
    for size in sizes:
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            function(torch.ones(size))
        found.extend(str(warning.message) for warning in caught)
    return found


@pytest.mark.parametrize("program", PROGRAMS)
def test_a_warning_comes_as_often_as_in_eager_and_names_no_symbol(program: Program) -> None:
    compiled = frontend.compile(program, backend="eager")
    assert heard(compiled, 3, 2, 4) == heard(program, 3, 2, 4)


def test_a_warning_that_torch_gives_once_is_left_for_the_run() -> None:
    """In C++ the first to ask gets it: were that the fake run, nobody would ever see it."""
    compiled = frontend.compile(lambda x: x[None, None].T, backend="eager")
    said = heard(compiled, 3)
    assert len(said) <= 1  # another test may have had it
    before = torch.is_warn_always_enabled()
    torch.set_warn_always(True)
    try:
        assert len(heard(compiled, 3)) == 1
        with SILENCE:
            pass
        assert torch.is_warn_always_enabled()
    finally:
        torch.set_warn_always(before)
    with SILENCE:
        assert torch.is_warn_always_enabled()
    assert torch.is_warn_always_enabled() == before


def test_a_warning_that_is_an_error_is_raised_by_the_run() -> None:
    compiled = frontend.compile(broadcast_loss, backend="eager")
    for function in (broadcast_loss, compiled):
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            with pytest.raises(
                UserWarning, match=r"target size \(torch.Size\(\[2, 1\]\)\).*torch.Size\(\[3\]\)"
            ):
                function(torch.ones(3))


def test_only_the_thread_that_infers_is_silent() -> None:
    said: list[str] = []

    def beside() -> None:
        warnings.warn("beside", stacklevel=1)

    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        with SILENCE:
            warnings.warn("inside", stacklevel=1)
            thread = threading.Thread(target=beside)
            thread.start()
            thread.join()
        warnings.warn("after", stacklevel=1)
        said.extend(str(warning.message) for warning in caught)
    assert said == ["beside", "after"]


def ours() -> list[object]:
    return [row for row in warnings.filters if type(row[3]).__name__ == "_InferencePattern"]


def test_the_filter_is_there_once_and_can_be_sent_to_another_process() -> None:
    with warnings.catch_warnings():
        for action in ("error", "always", "error", "always"):
            warnings.simplefilter(action)  # type: ignore[arg-type]
            with SILENCE, SILENCE:
                warnings.warn("inside", stacklevel=1)
                assert len(ours()) == 1
                assert pickle.loads(pickle.dumps(ours())) == ours()
            assert not ours()


def test_filters_that_are_replaced_meanwhile() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with SILENCE:
            caught = warnings.catch_warnings()
            caught.__enter__()
        assert not ours()
        caught.__exit__(None, None, None)
        assert not ours()
        with pytest.raises(UserWarning):
            warnings.warn("outside", stacklevel=1)


def test_a_warning_shown_once_per_line_stays_shown() -> None:
    def again(function: Program) -> int:
        count = 0
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("default")
            for size in (3, 2, 4):
                warnings.warn("one line", stacklevel=1)
                function(torch.ones(size))
            count = sum(str(warning.message) == "one line" for warning in caught)
        return count

    assert again(frontend.compile(lambda x: x + 1, backend="eager")) == 1


def shapes_packed(function: Program, inside: bool) -> list[object]:
    """What the hooks saw and the gradients, for two sizes."""
    seen: list[object] = []

    def pack(tensor: torch.Tensor) -> torch.Tensor:
        seen.append(("pack", type(tensor), tuple(tensor.shape)))
        return tensor * 2

    def unpack(tensor: torch.Tensor) -> torch.Tensor:
        seen.append(("unpack", type(tensor), tuple(tensor.shape)))
        return tensor * 3

    for size in (3, 4, 4):
        x = torch.arange(1.0, size + 1).requires_grad_()
        if inside:
            loss = function(x, pack, unpack)  # type: ignore[call-arg]
        else:
            with torch.autograd.graph.saved_tensors_hooks(pack, unpack):
                loss = function(x)
        loss.backward()
        assert x.grad is not None
        seen.append(x.grad.tolist())
    return seen


def test_hooks_on_saved_tensors_around_the_call_see_no_fake() -> None:
    def product(x: torch.Tensor) -> torch.Tensor:
        return (x.sin() * x).sum()

    assert shapes_packed(frontend.compile(product, backend="eager"), False) == shapes_packed(product, False)


def test_hooks_on_saved_tensors_inside_the_function_see_no_fake() -> None:
    def product(
        x: torch.Tensor,
        pack: Callable[[torch.Tensor], torch.Tensor],
        unpack: Callable[[torch.Tensor], torch.Tensor],
    ) -> torch.Tensor:
        with torch.autograd.graph.saved_tensors_hooks(pack, unpack):
            return (x.sin() * x).sum()

    compiled = frontend.compile(product, backend="eager")
    assert shapes_packed(compiled, True) == shapes_packed(product, True)  # type: ignore[arg-type]


def test_the_filters_are_as_before_when_a_trace_has_ended():
    before = list(warnings.filters)
    compiled = frontend.compile(lambda x: F.mse_loss(x, x.sum(0)), backend="eager")
    compiled(torch.ones(2, 3))
    assert warnings.filters == before


def test_filters_that_an_earlier_trace_has_seen():
    def program(x):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            warnings.warn("old")
            return x + 1

    frontend.compile(lambda x: x * 2, backend="eager")(torch.ones(2))
    compiled = frontend.compile(program, backend="eager", fullgraph=True)
    with frontend.config.patch(error_on_recompile=True):
        assert [compiled(torch.ones(2)).tolist() for _ in range(3)] == [[2.0, 2.0]] * 3


def test_a_warning_of_an_inference_that_raised_is_not_the_next_operation_s():
    with SILENCE:
        warnings.warn("from an operation that then raises", stacklevel=1)
    report = frontend.explain(lambda x: x + 1)(torch.ones(2))
    assert "warnings.filters" not in str(report)


def test_an_input_whose_gradient_is_a_view_of_another_type_is_captured_and_nothing_is_logged() -> None:
    """Its gradient is a view, in another type than what it views, as `Module.double()` leaves it after training."""
    weight = torch.nn.Parameter(torch.ones(3, 3))
    weight.grad = torch.ones(9).view(3, 3)
    weight.data, weight.grad.data = weight.data.double(), weight.grad.data.double()

    def program(x: torch.Tensor) -> torch.Tensor:
        return x @ weight

    records: list[logging.LogRecord] = []
    handler = logging.Handler()
    handler.emit = records.append
    logger = logging.getLogger("torch._subclasses.fake_tensor")
    logger.addHandler(handler)
    try:
        x = torch.ones(2, 3, dtype=torch.float64)
        assert torch.equal(frontend.compile(program, backend="eager")(x), program(x))
        assert frontend.explain(program)(x).break_count == 0
    finally:
        logger.removeHandler(handler)
    assert not records
