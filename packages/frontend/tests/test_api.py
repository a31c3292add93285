"""What `compile` takes, and what it says to bad input."""

import functools

import pytest
import torch

from framesmith import frontend
from framesmith.frontend.cache import unit


def double(x: torch.Tensor) -> torch.Tensor:
    return x * 2


@pytest.mark.parametrize("value", [3, "text", None.__class__(), [], torch.ones(2)])
def test_what_cannot_be_called_is_named(value: object) -> None:
    if value is None:
        assert callable(frontend.compile(value, backend="eager"))  # a decorator
        return
    with pytest.raises(frontend.InvalidArgument, match=type(value).__name__):
        frontend.compile(value, backend="eager")


def test_an_unknown_backend_is_named_with_the_known_ones() -> None:
    with pytest.raises(frontend.UnknownBackend, match=r"'nonsense'.*aot_eager.*eager"):
        frontend.compile(double, backend="nonsense")


def test_mode_and_options_exclude_each_other() -> None:
    with pytest.raises(frontend.InvalidArgument, match="mode or options"):
        frontend.compile(double, mode="default", options={"a": 1})


def test_a_backend_that_raises_is_named_and_nothing_is_lost() -> None:
    def broken(module: object, examples: object) -> object:
        raise OSError("no disk")

    with pytest.raises(frontend.BackendFailed, match="broken.*OSError: no disk"):
        frontend.compile(double, backend=broken)(torch.ones(2))
    assert torch.equal(double(torch.ones(2)), torch.full((2,), 2.0))


def test_a_backend_that_returns_no_callable_is_named() -> None:
    with pytest.raises(frontend.BackendFailed, match="5"):
        frontend.compile(double, backend=lambda module, examples: 5)(torch.ones(2))


def test_builtins_generators_and_coroutines_stay_what_they_are() -> None:
    def generator():
        yield 1

    async def coroutine() -> int:
        return 1

    for function in (len, generator, coroutine):
        assert frontend.compile(function, backend="eager") is function


def test_metadata_defaults_and_closure_are_the_users() -> None:
    factor = 3

    def scaled(x: torch.Tensor, by: int = 2, *, plus: int = 1) -> torch.Tensor:
        """Doc."""
        return x * by * factor + plus

    compiled = frontend.compile(scaled, backend="eager")
    for name in ("__name__", "__qualname__", "__module__", "__doc__", "__defaults__", "__kwdefaults__"):
        assert getattr(compiled, name) == getattr(scaled, name)
    assert compiled.__wrapped__ is scaled
    assert torch.equal(compiled(torch.ones(2), plus=5), scaled(torch.ones(2), plus=5))


def test_partials_methods_and_modules() -> None:
    class Scale(torch.nn.Module):
        def forward(self, x: torch.Tensor, by: int) -> torch.Tensor:
            return x * by

    partial = frontend.compile(functools.partial(torch.mul, other=3), backend="eager")
    assert torch.equal(partial(torch.ones(2)), torch.full((2,), 3.0))
    module = Scale()
    assert frontend.compile(module, backend="eager") is module
    assert type(module) is Scale
    assert torch.equal(module(torch.ones(2), 4), torch.full((2,), 4.0))


def test_fullgraph_names_the_line_and_the_remedy() -> None:
    def noisy(x: torch.Tensor) -> torch.Tensor:
        print("here")
        return x

    with pytest.raises(frontend.FullGraphError, match=r"(?s)print.*what to do.*test_api\.py"):
        frontend.compile(noisy, backend="eager", fullgraph=True)(torch.ones(1))


def test_config_patch_refuses_an_unknown_field() -> None:
    with pytest.raises(AttributeError, match="recompile_limit"), frontend.config.patch(nonsense=1):
        pass


def test_past_the_recompile_limit_entries_keep_serving() -> None:
    def pick(x: torch.Tensor, name: str) -> torch.Tensor:
        return x + len(name) if name != "b" else x

    compiled = frontend.compile(pick, backend="eager", dynamic=False)
    with frontend.config.patch(recompile_limit=2):
        for name in ("a", "b", "cc", "a", "ddd"):
            assert torch.equal(compiled(torch.ones(2), name), pick(torch.ones(2), name))
    report = frontend.explain(compiled)()
    assert report.graph_count <= 2
    assert "recompile_limit" in report.notes[0]


def test_past_the_limit_nobody_finds_out_why_an_entry_rejects_a_call(monkeypatch: pytest.MonkeyPatch) -> None:
    compiled = frontend.compile(lambda x: x.sum() + len(list(range(len(x)))[::-1]), backend="eager")
    with frontend.config.patch(recompile_limit=2):
        for size in (2, 3, 4):
            compiled(torch.ones(size))
        monkeypatch.setattr(unit, "first_failure", None)
        assert compiled(torch.ones(5)) == 10 and compiled(torch.ones(2)) == 4
        assert len(frontend.explain(compiled)().notes) == 1


def test_past_the_limit_a_stance_that_refuses_recompiles_still_does() -> None:
    compiled = frontend.compile(lambda x: x.sum() + len(list(range(len(x)))[::-1]), backend="eager")
    with frontend.config.patch(recompile_limit=1):
        for size in (2, 3):
            compiled(torch.ones(size))
        with torch.compiler.set_stance("fail_on_recompile"), pytest.raises(frontend.RecompileError):
            compiled(torch.ones(4))


@pytest.mark.parametrize(
    ("options", "settings", "said"),
    [
        ({"fullgraph": True}, {}, "fullgraph=True"),
        ({}, {"fail_on_recompile_limit_hit": True}, "config.fail_on_recompile_limit_hit is set"),
    ],
)
def test_past_the_limit_a_call_that_may_not_run_uncompiled_is_an_error(options, settings, said: str) -> None:
    compiled = frontend.compile(lambda x, name: x + len(name), backend="eager", **options)
    compiled(torch.ones(2), "")
    with frontend.config.patch(recompile_limit=1, **settings):
        for _ in range(2):
            with pytest.raises(frontend.RecompileError) as caught:
                compiled(torch.ones(2), "aa")
        assert torch.equal(compiled(torch.ones(2), ""), torch.ones(2))
    message = str(caught.value)
    assert "has 1 entry (config.recompile_limit)" in message and said in message
    assert "\n  name: value changed from '' to 'aa'" in message and "what to do: Keep it" in message


def test_a_failing_backend_is_an_error_with_fullgraph_whatever_the_configuration_says() -> None:
    def failing(module, inputs):
        raise ValueError("no")

    compiled = frontend.compile(lambda x: x + 1, backend=failing, fullgraph=True)
    with frontend.config.patch(suppress_errors=True), pytest.raises(frontend.BackendFailed, match="no"):
        compiled(torch.ones(2))


@pytest.mark.parametrize("given", [(torch.ones(2), None), (None, torch.ones(2)), (None, [1])])
def test_the_remedy_where_none_takes_turns_with_something(given) -> None:
    compiled = frontend.compile(lambda x, other: x if other is None else x * other[0], backend="eager")
    with (
        frontend.config.patch(recompile_limit=1),
        pytest.warns(frontend.RecompileLimitWarning, match="Pass something of one kind always"),
    ):
        for other in given:
            compiled(torch.ones(2), other)


def test_something_compiled_is_explained_with_its_own_backend() -> None:
    graphs = []

    def backend(module, examples):
        graphs.append(len(module.graph.nodes))
        return module

    def program(x, mask, values):
        y = x.clone()
        y[mask] = values
        print("break")
        return y * 2

    given = torch.ones(3, 2), torch.tensor([True, False, True]), torch.ones(2, 2, requires_grad=True)
    compiled = frontend.compile(program, backend=backend, fullgraph=True)
    explained = frontend.explain(compiled)(*given)
    # two graphs before the break, one behind it; a break is reported, though an error by `fullgraph`
    assert explained.break_count == 1 and len(graphs) == explained.graph_count == 2
    other = frontend.compile(program, backend="aot_eager")
    assert frontend.explain(other)(*given).break_count == 2
    assert frontend.explain(program)(*given).break_count == 1
