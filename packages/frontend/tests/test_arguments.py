"""What `compile` and `config` are given wrong is an error that names the value, the expectation and the remedy."""

import functools
from collections.abc import Callable

import pytest
import torch

from framesmith import frontend


class Scale(torch.nn.Module):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return x * 2


def double(x: torch.Tensor) -> torch.Tensor:
    return x * 2


@pytest.mark.parametrize(
    ("name", "value", "said"),
    [
        ("fullgraph", "yes", "fullgraph='yes'.*True or False"),
        ("fullgraph", 1, "fullgraph=1"),
        ("dynamic", "auto", "dynamic='auto'.*None"),
        ("disable", None, "disable=None"),
        ("mode", "max-autotun", "did you mean 'max-autotune'"),
        ("mode", 3, "mode=3, an int"),
        ("options", ["trace"], "options=.*a list.*dict"),
        ("options", {1: 2}, "a dict from names"),
        ("backend", 3, "backend=3, an int"),
    ],
)
def test_a_wrong_argument_is_named_with_the_expectation(name, value, said) -> None:
    with pytest.raises(frontend.InvalidArgument, match=said):
        frontend.compile(double, **{"backend": "inductor", name: value})


def test_a_backend_that_nearly_exists_is_suggested() -> None:
    with pytest.raises(frontend.UnknownBackend, match="did you mean 'inductor'"):
        frontend.compile(double, backend="inductr")


def test_a_backend_without_options_refuses_them_at_once() -> None:
    with pytest.raises(frontend.InvalidArgument, match="'eager' takes neither"):
        frontend.compile(double, backend="eager", options={"epilogue_fusion": True})


def test_an_unknown_field_of_config_is_an_error_with_a_suggestion() -> None:
    with pytest.raises(AttributeError, match="did you mean 'recompile_limit'"):
        frontend.config.recompile_limt = 3
    with pytest.raises(TypeError, match="takes int"):
        frontend.config.recompile_limit = "3"
    with pytest.raises(ValueError, match="the least is 0"):
        frontend.config.recompile_limit = -1


def test_an_unknown_option_of_inductor_is_an_error_before_any_call() -> None:
    with pytest.raises(frontend.InvalidArgument, match="did you mean 'max_autotune'"):
        frontend.compile(double, options={"max_autotun": True})


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"max_autotune": "yes"}, "'max_autotune' was given 'yes', a str; it takes bool"),
        ({"triton.cudagraphs": 3}, "'triton.cudagraphs' was given 3, an int; it takes bool"),
        ({"epilogue-fusion": None}, "'epilogue-fusion' was given None; it takes bool"),
    ],
)
def test_an_option_of_inductor_with_a_value_of_another_type_is_an_error_before_any_call(
    options, said
) -> None:
    with pytest.raises(frontend.InvalidArgument, match=said):
        frontend.compile(double, options=options)
    # what may be more than one class is left to inductor
    frontend.compile(double, options={"epilogue_fusion": True, "coordinate_descent_tuning": False})


def test_a_backend_is_registered_with_a_callable_and_a_text() -> None:
    with pytest.raises(TypeError, match="got 3"):
        frontend.register_backend(lambda module, inputs: module, name=3)
    with pytest.raises(TypeError, match="got 'x'"):
        frontend.register_backend("x")
    assert "eager" in frontend.list_backends()


def test_a_dimension_that_is_no_number_is_named() -> None:
    with pytest.raises(TypeError, match="got index='0', a str"):
        frontend.mark_dynamic(torch.ones(2), "0")


def test_explain_says_what_it_was_given() -> None:
    with pytest.raises(frontend.InvalidArgument, match="explain.* got 3"):
        frontend.explain(3)


def test_a_second_compilation_of_a_module_with_other_options_is_refused() -> None:
    module = frontend.compile(Scale(), backend="eager")
    assert frontend.compile(module, backend="eager") is module
    with pytest.raises(frontend.InvalidArgument, match="uncompile"):
        frontend.compile(module, backend="eager", fullgraph=True)
    assert getattr(frontend.uncompile(module), "_compiled_call_impl") is None
    assert frontend.compile(module, backend="eager", fullgraph=True) is module
    assert torch.equal(module(torch.ones(2)), torch.full((2,), 2.0))


def test_two_compilations_of_a_function_are_separate_and_lead_back() -> None:
    one, other = (frontend.compile(double, backend="eager", fullgraph=flag) for flag in (True, False))
    assert one is not other
    assert frontend.uncompile(one) is frontend.uncompile(other) is double
    with pytest.raises(frontend.InvalidArgument, match="has not returned"):
        frontend.uncompile(double)


def test_a_compiled_class_leads_back() -> None:
    class Own(Scale):
        pass

    assert frontend.uncompile(frontend.compile(Own, backend="eager")) is Own
    assert "_call_impl" not in vars(Own)


def test_other_code_after_compile_is_compiled() -> None:
    def grown(x: torch.Tensor) -> torch.Tensor:
        return x + 1

    compiled = frontend.compile(grown, backend="eager")
    grown.__code__ = (lambda x: x + 2).__code__
    assert torch.equal(compiled(torch.ones(2)), torch.full((2,), 3.0))
    grown.__code__ = (lambda x, *rest: x + 3).__code__
    with pytest.warns(frontend.NotCompiledWarning, match="code with other parameters"):
        assert torch.equal(compiled(torch.ones(2)), torch.full((2,), 4.0))


def test_every_field_of_config_is_read_by_somebody() -> None:
    import ast
    import dataclasses
    from pathlib import Path

    from framesmith.frontend import options

    folder = Path(options.__file__).parent
    read = {
        node.attr
        for path in folder.rglob("*.py")
        for node in ast.walk(ast.parse(path.read_text()))
        if isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Load)
    }
    assert {field.name for field in dataclasses.fields(options.Config)} <= read


def counting() -> tuple[list[int], Callable[[int], int]]:
    ran: list[int] = []

    @functools.lru_cache
    def cached(n: int) -> int:
        ran.append(n)
        return n + 1

    return ran, cached


def test_a_cached_function_keeps_its_cache() -> None:
    ran, cached = counting()
    with pytest.warns(frontend.NotCompiledWarning, match=r"as in lru_cache\(compile\(.*cached\)\)"):
        compiled = frontend.compile(cached, backend="eager")
    assert compiled is cached and compiled(1) == compiled(1) == 2 and ran == [1]


def test_a_compiled_partial_keeps_its_class_and_attributes() -> None:
    class Named(functools.partial):
        pass

    given = Named(double)
    given.title = "twice"
    compiled = frontend.compile(given, backend="eager")
    assert type(compiled) is Named and compiled.title == "twice" and compiled.func is not double
    back = frontend.uncompile(compiled)
    assert type(back) is Named and back.title == "twice" and back.func is double


def test_the_call_of_a_partials_class_is_kept() -> None:
    class Tenfold(functools.partial):
        def __call__(self, x: torch.Tensor) -> torch.Tensor:
            return super().__call__(x) * 10

    given = Tenfold(double)
    compiled = frontend.compile(given, backend="eager")
    assert torch.equal(compiled(torch.ones(2)), given(torch.ones(2)))


def test_an_unknown_name_is_told_with_the_nearest_one():
    with pytest.raises(
        frontend.InvalidArgument, match=r"fullgrpah=True, did you mean 'fullgraph'\?; it takes"
    ):
        frontend.compile(lambda x: x, fullgrpah=True)
    with pytest.raises(TypeError, match="compile\\(\\) got colour='red'; it takes"):
        frontend.compile(colour="red")


def test_a_module_that_is_compiled_already_names_both_choices():
    model = torch.nn.Linear(2, 2)
    frontend.compile(model, backend="eager", dynamic=False)
    expected = "with backend='eager', dynamic=False, and compile\\(\\) was asked for backend='eager', fullgraph=True;"
    with pytest.raises(frontend.InvalidArgument, match=expected):
        frontend.compile(model, backend="eager", fullgraph=True)


def test_what_was_not_called_says_so():
    compiled = frontend.compile(lambda x: x + 1, backend="eager")
    assert "nothing was compiled so far" in str(frontend.explain(compiled)())
    compiled(torch.ones(1))
    assert "nothing" not in str(frontend.explain(compiled)())


def test_what_cannot_be_compiled_is_called_by_its_kind():
    def made():
        yield 1

    async def awaited():
        return 1

    async def made_later():
        yield 1

    kinds = {
        made: "a generator function",
        awaited: "a coroutine function",
        made_later: "an asynchronous generator function",
    }
    for function, kind in kinds.items():
        with pytest.warns(frontend.NotCompiledWarning, match=f"{function.__name__}, {kind}, which runs"):
            assert frontend.compile(function) is function


def test_a_function_that_is_turned_off_stays_eager():
    calls = []

    def counting(graph, inputs):
        calls.append(graph)
        return graph

    @frontend.disable
    def eager(x):
        return x + 1

    @frontend.compile(backend=counting)
    def outer(x):
        return eager(x)

    assert outer(torch.ones(2)).sum() == 4 and not calls
