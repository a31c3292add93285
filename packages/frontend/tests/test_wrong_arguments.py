"""Every public function refuses what it cannot use, at the call: the value, what is expected, the nearest known name."""

import inspect
import warnings

import pytest
import torch

from framesmith import frontend
from framesmith.frontend.torch_settings import forget_warnings

X = torch.ones(2, 3)
VALUES = ["eager", 3, None, [1], X, 1.5, {}, object()]
TAKEN = {  # arguments that mean something
    ("compile", "None"),
    ("disable", "None"),
    ("mark_static", "Tensor"),
    ("graph_break", "str"),
}


@pytest.fixture(autouse=True)
def warn_again():
    forget_warnings()


def double(x: torch.Tensor) -> torch.Tensor:
    return x * 2


def functions() -> list[str]:
    return [
        name
        for name in frontend.__all__
        if callable(getattr(frontend, name))
        and not (
            inspect.isclass(getattr(frontend, name)) and issubclass(getattr(frontend, name), BaseException)
        )
        and name not in ("Explanation", "counters")
    ]


@pytest.mark.parametrize("name", functions())
def test_a_value_of_a_wrong_type_is_an_error_that_names_the_function(name: str) -> None:
    for value in VALUES:
        kind = "None" if value is None else type(value).__name__
        if (name, kind) in TAKEN:
            continue
        with pytest.raises((TypeError, ValueError)) as caught:
            getattr(frontend, name)(value)
        text = str(caught.value)
        assert name in text and ("pass " in text or "argument" in text), text


@pytest.mark.parametrize("mark", ["mark_dynamic", "maybe_mark_dynamic", "mark_static"])
def test_a_mark_names_what_is_no_dimension(mark: str) -> None:
    function = getattr(frontend, mark)
    for index in ("0", 1.5, [0, "a"], True, X, [[0]], *([] if mark == "mark_static" else [None])):
        with pytest.raises(frontend.InvalidArgument, match=rf"{mark}\(\) got index=.*pass a dimension"):
            function(torch.ones(2, 3), index)
    for index in (2, -3, range(5)):
        with pytest.raises(IndexError, match=rf"{mark}\(\) got dimension .*pass one from -2 to 1"):
            function(torch.ones(2, 3), index)
    with pytest.raises(IndexError, match="without dimensions"):
        function(torch.tensor(1.0), 0)
    for value in ("x", torch.nn.Linear(1, 1), [X]):
        with pytest.raises(frontend.InvalidArgument, match=rf"{mark}\(\) got .*; pass a tensor"):
            function(value, 0)


def test_a_range_that_no_size_fits_is_an_error_at_the_mark() -> None:
    x = torch.ones(2, 3)
    with pytest.raises(frontend.InvalidArgument, match=r"min=5 and max=2, which no size fits"):
        frontend.mark_dynamic(x, 0, min=5, max=2)
    assert not x.__dict__


def test_a_failed_mark_leaves_no_mark() -> None:
    x = torch.ones(2, 3)
    with pytest.raises(IndexError):
        frontend.mark_dynamic(x, [0, 7])
    assert not x.__dict__


def test_a_parameter_that_is_marked_says_that_its_sizes_are_fixed() -> None:
    with pytest.warns(frontend.IgnoredSettingWarning, match="sizes of parameters are fixed"):
        frontend.mark_dynamic(torch.nn.Parameter(torch.ones(2)), 0)


def test_the_name_of_a_backend_in_place_of_the_function_is_explained() -> None:
    with pytest.raises(frontend.InvalidArgument, match=r"compile\(function, backend='eager'\)"):
        frontend.compile("eager")
    with pytest.raises(frontend.InvalidArgument, match=r"did you mean 'inductor'\? as in .*backend="):
        frontend.compile("inductr")


@pytest.mark.parametrize(
    ("arguments", "said"),
    [({"recursive": "no"}, "recursive='no'"), ({"reason": 3}, "reason=3"), ({"fn": 3}, "got 3, an int")],
)
def test_disable_names_what_is_wrong(arguments: dict, said: str) -> None:
    with pytest.raises(frontend.InvalidArgument, match=said):
        frontend.disable(**{"fn": double, **arguments})
    with pytest.raises(frontend.InvalidArgument, match="which cannot be called"):
        frontend.disable()("text")


def test_disable_that_is_not_recursive_says_what_that_means_here() -> None:
    with pytest.warns(frontend.IgnoredSettingWarning, match=r"double, recursive=False"):
        assert torch.equal(frontend.disable(double, recursive=False)(X), X * 2)


def test_directives_about_functions_name_what_is_wrong() -> None:
    with pytest.raises(
        frontend.InvalidArgument, match=r"substitute_in_graph\(sum\) got <built-in function len>"
    ):
        frontend.substitute_in_graph(sum)(len)
    with pytest.raises(frontend.InvalidArgument, match="int, which framesmith traces in another way"):
        frontend.substitute_in_graph(int)(double)
    with pytest.raises(frontend.InvalidArgument, match=r"assume_constant_result\(\) got len, which"):
        frontend.assume_constant_result(len)
    with pytest.raises(frontend.InvalidArgument, match=r"allow_in_graph\(\) got 3, an int"):
        frontend.allow_in_graph([lambda x: x, 3])


def test_a_directive_given_twice_is_no_error() -> None:
    def own(x: torch.Tensor) -> torch.Tensor:
        return x

    def other() -> int:
        return 3

    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert frontend.allow_in_graph(frontend.allow_in_graph(own)) is own
        assert frontend.assume_constant_result(frontend.assume_constant_result(other)) is other
        frontend.allow_in_graph(torch.sin)


def test_what_has_no_effect_is_said() -> None:
    with pytest.warns(frontend.IgnoredSettingWarning, match=r"allow_in_graph\(\) of print has no effect"):
        frontend.allow_in_graph(print)
    with pytest.warns(frontend.NotCompiledWarning, match="<built-in function len>.* runs uncompiled"):
        assert frontend.compile(len) is len
    with pytest.warns(frontend.NotCompiledWarning, match="<class 'int'>"):
        assert frontend.compile(int) is int

    def numbers():
        yield 1

    with pytest.warns(frontend.NotCompiledWarning, match="numbers, a generator function, .* runs uncompiled"):
        assert frontend.compile(numbers) is numbers


def test_what_is_not_compiled_is_said_for_each_choice_of_options() -> None:
    def numbers():
        yield 1

    for given in (divmod, numbers):
        with pytest.warns(frontend.NotCompiledWarning):
            frontend.compile(given)
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            frontend.compile(given)
        with pytest.warns(frontend.NotCompiledWarning):
            frontend.compile(given, fullgraph=True)


def test_config_checks_at_the_call() -> None:
    with pytest.raises(AttributeError, match="did you mean 'recompile_limit'"):
        frontend.config.patch(recompile_limt=3)
    with pytest.raises(TypeError, match="recompile_limit was given '3', a str"):
        frontend.config.patch(recompile_limit="3")
    with pytest.raises(TypeError, match=r"config.patch\(recompile_limit=3\)"):
        frontend.config.patch({"recompile_limit": 3})
    with pytest.raises(AttributeError, match="did you mean 'recompile_limit'"):
        frontend.config.recompile_limt
    with pytest.raises(AttributeError, match="it is called 'recompile_limit' here"):
        frontend.config.cache_size_limit = 3
    with pytest.raises(AttributeError, match="cannot be deleted"):
        del frontend.config.disable
    assert frontend.config.disable is False


def test_config_patch_is_a_decorator_too() -> None:
    @frontend.config.patch(recompile_limit=3)
    def asked() -> int:
        return frontend.config.recompile_limit

    assert asked() == asked() == 3 and frontend.config.recompile_limit == 8


@pytest.mark.parametrize(
    ("name", "said"), [("", "empty name"), ("eager", "the name 'eager', which .* has already")]
)
def test_a_backend_gets_a_name_of_its_own(name: str, said: str) -> None:
    with pytest.raises(ValueError, match=said):
        frontend.register_backend(lambda module, inputs: module, name)


def returning(result):
    def own_backend(module, inputs):
        return lambda *values: result(*module(*values))

    return own_backend


@pytest.mark.parametrize(
    ("result", "said"),
    [
        (lambda y: y, "gave a Tensor"),
        (lambda y: y[:1, 0], "gave a Tensor"),
        (lambda y: None, "gave None"),
        (lambda y: (), "gave a tuple of 0 values"),
        (lambda y: [y, y], "gave a list of 2 values"),
        (lambda y: {"y": y}, "gave a dict"),
    ],
)
def test_a_backend_whose_callable_returns_no_tuple_is_named(result, said: str) -> None:
    compiled = frontend.compile(double, backend=returning(result))
    for verified in (False, True):
        with (
            frontend.config.patch(verify_correctness=verified),
            pytest.raises(frontend.BackendFailed) as caught,
        ):
            compiled(X)
        text = str(caught.value)
        assert "own_backend" in text and said in text and "with the 1 output of the graph" in text


def test_a_backend_may_return_a_list() -> None:
    assert torch.equal(frontend.compile(double, backend=returning(lambda y: [y]))(X), X * 2)


def test_a_backend_that_returns_nothing_is_told_what_to_return() -> None:
    with pytest.raises(
        frontend.BackendFailed, match="returned None, when it was given a graph; a backend returns"
    ):
        frontend.compile(double, backend=lambda module, inputs: None)(X)


def takes(x: torch.Tensor, backend: str = "a") -> torch.Tensor:
    return x * len(backend)


def takes_all(x: torch.Tensor, **named: str) -> torch.Tensor:
    return x * len(named)


@pytest.mark.parametrize(
    ("call", "given", "said"),
    [
        (
            frontend.explain,
            {"mode": "default"},
            r"explain\(\) got mode='default', a str; .*takes.* explain\(compiled\)\(\)",
        ),
        (
            frontend.export,
            {"strict": True},
            r"export\(\) got strict=True, a bool; .*takes.* export\(\) takes dynamic_shapes",
        ),
    ],
)
def test_an_option_of_another_function_is_refused_with_a_word_of_what_to_do(call, given, said: str) -> None:
    for arguments in ((), (torch.ones(2),)):
        with pytest.raises(frontend.InvalidArgument, match=said):
            call(takes, *arguments, **given)


def test_an_argument_of_the_function_may_have_the_name_of_an_option() -> None:
    assert frontend.explain(takes, torch.ones(2), backend="ab").graph_count == 1
    assert frontend.explain(takes_all, torch.ones(2), backend="ab").graph_count == 1
    assert frontend.export(takes, torch.ones(2), backend="ab").graph_module is not None


def test_the_former_name_of_fullgraph_is_known() -> None:
    with pytest.raises(
        frontend.InvalidArgument, match="got nopython=True, it is called 'fullgraph' here; it takes"
    ):
        frontend.compile(lambda x: x, nopython=True)
