"""What wraps a compiled function has its attributes (`functools.wraps`), and is not what `compile` returned."""

import functools

import pytest
import torch

from framesmith import frontend
from framesmith.frontend import api

X = torch.ones(2)


def eager(function, **options):
    return frontend.compile(function, backend="eager", **options)


inner = eager(lambda x: x + 1)


@functools.wraps(inner)
def outer(x):
    return inner(x) * 10


class Tenfold:
    def __init__(self, function):
        functools.update_wrapper(self, function)
        self.function = function

    def __call__(self, x):
        return self.function(x) * 10


WRAPPERS = {
    "function": outer,
    "lru_cache": functools.lru_cache(inner),
    "callable object": Tenfold(inner),
    "partial": functools.partial(outer),
    "disabled": frontend.disable(inner),
    "disabled by torch": torch.compiler.disable(inner),
}


@pytest.mark.parametrize("name", WRAPPERS)
def test_a_wrapper_is_not_what_compile_returned(name: str) -> None:
    assert api.session_of(WRAPPERS[name]) is None
    with pytest.raises(frontend.InvalidArgument, match="which compile\\(\\) has not returned"):
        frontend.uncompile(WRAPPERS[name])


def test_a_compiled_wrapper_leads_back_to_the_wrapper() -> None:
    assert torch.equal(eager(outer)(X), X * 20) and frontend.uncompile(eager(outer)) is outer


def test_what_was_captured_of_a_wrapper_is_not_what_the_wrapped_function_did() -> None:
    with pytest.raises(TypeError, match="missing 1 required"):
        frontend.explain(outer)()
    assert frontend.explain(outer)(X).operators == 2


class Called:
    def __call__(self, x):
        return x + 1


class Module(torch.nn.Module):
    def forward(self, x):
        return x + 1


@pytest.mark.parametrize(("base", "name"), [(Called, "__call__"), (Module, "_call_impl")])
def test_a_class_keeps_the_wrapper_of_its_compiled_call(base: type, name: str) -> None:
    kind = type("Own", (base,), {})
    compiled = getattr(eager(kind), name)

    @functools.wraps(compiled)
    def tenfold(self, *args):
        return compiled(self, *args) * 10

    setattr(kind, name, tenfold)
    with pytest.raises(frontend.InvalidArgument, match="has not returned"):
        frontend.uncompile(kind)
    for options in ({}, {"dynamic": True}):
        eager(kind, **options)
        assert torch.equal(kind()(X), X * 20)
        assert torch.equal(eager(kind())(X), X * 20)
    assert getattr(frontend.uncompile(kind), name) is tenfold


@pytest.mark.parametrize("kind", [staticmethod, classmethod])
def test_a_compiled_static_method_leads_back(kind: type) -> None:
    assert frontend.uncompile(eager(kind(outer))).__func__ is outer
