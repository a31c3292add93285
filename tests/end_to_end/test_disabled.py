"""Disabled modules, classes and methods stay what they are, and what they do is called natively."""

import gc
import weakref

import pytest
import torch

from framesmith import frontend
from framesmith.frontend import api

X = torch.ones(2)
is_traced = torch.compiler.is_compiling


def eager(function):
    return frontend.compile(function, backend="eager")


class Scale(torch.nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.weight = torch.nn.Parameter(torch.ones(2))

    def forward(self, x):
        return x * self.weight + is_traced()


class Added:
    def __init__(self, value) -> None:
        self.value = value + is_traced()

    def __call__(self, x):
        return x + self.value + is_traced()

    @frontend.disable
    @staticmethod
    def fixed(x):
        return x + is_traced()

    @frontend.disable
    @classmethod
    def of(cls, x):
        return x + is_traced()


def plain(x):
    return x + is_traced()


def own(kind: type) -> type:
    return type("Own", (kind,), {})


def test_a_disabled_module_is_the_module_and_is_called_natively() -> None:
    model = Scale()
    assert frontend.disable(model, reason="slow") is model and [*model.state_dict()] == ["weight"]
    compiled = eager(lambda x: model(x * 2) + 1)
    for _ in range(2):
        assert torch.equal(compiled(X), X * 3)
    (record,) = api.session_of(compiled).history.breaks
    assert record.detail.endswith("Scale is marked with frontend.disable: slow")


def test_a_disabled_module_runs_its_hooks_and_dies_when_it_is_dropped() -> None:
    model = frontend.disable(Scale())
    model.register_forward_hook(lambda module, args, output: output * 5)
    assert torch.equal(model(X), X * 5)
    gone = weakref.ref(model)
    gc.disable()
    try:
        del model
        assert gone() is None
    finally:
        gc.enable()


def test_a_disabled_class_is_a_class_whose_calls_are_native() -> None:
    kind = frontend.disable(own(Added))
    assert isinstance(kind, type) and frontend.disable(kind).__init__ is kind.__init__
    assert torch.equal(eager(lambda x: kind(1)(x))(X), X + 1)
    module = frontend.disable(own(Scale))()
    assert torch.equal(eager(lambda x: module(x))(X), X)


def test_a_disabled_method_is_bound_as_before() -> None:
    assert torch.equal(eager(lambda x: Added.fixed(x) + Added(0).of(x))(X), X * 2)


DISABLED = {
    "function": lambda: frontend.disable(plain),
    "compiled function": lambda: frontend.disable(eager(plain)),
    "module": lambda: frontend.disable(Scale()),
    "compiled module": lambda: frontend.disable(eager(Scale())),
    "module of a disabled class": lambda: frontend.disable(own(Scale))(),
    "module of a class that torch disabled": lambda: torch.compiler.disable(own(Scale))(),
}


@pytest.mark.parametrize("name", DISABLED)
def test_what_is_disabled_is_not_compiled(name: str) -> None:
    given = DISABLED[name]()
    assert torch.equal(given(X), X)
    assert eager(given) is given and torch.equal(given(X), X)


@pytest.mark.parametrize("disable", [torch.compiler.disable, torch._dynamo.disable])
def test_a_function_that_is_disabled_inside_breaks_where_it_is_called(disable):
    calls = []

    def helper(x, factor=1):
        """Its docstring."""
        calls.append(is_traced())
        return x * factor

    def program(x):
        disabled = disable(helper, reason="it counts")
        x = x + 1
        return disabled(x, factor=3) - 1, disabled.__name__, disabled.__doc__, disabled is helper

    compiled = eager(program)
    for _ in range(3):
        expected, found = program(X), compiled(X)
        assert torch.equal(found[0], expected[0]) and found[1:] == expected[1:]
    assert not any(calls) and len(calls) == 6
    (reason,) = frontend.explain(compiled)().breaks
    assert reason.kind == "disabled-function" and reason.detail.endswith(
        "helper is marked with torch.compiler.disable: it counts"
    )


def test_a_function_that_is_disabled_inside_and_not_called_leaves_as_one():
    compiled = frontend.compile(
        lambda x: (x + 1, torch.compiler.disable(plain)), backend="eager", fullgraph=True
    )
    first, second = compiled(X)[1], compiled(X)[1]
    assert first is not second and first is not plain
    assert torch.equal(eager(first)(X), X) and first.__name__ == "plain"


@pytest.mark.parametrize("what", [Added(1), torch.sin, frontend.disable(plain), Scale().forward])
def test_what_is_no_plain_function_is_disabled_natively(what):
    program = lambda x: torch.compiler.disable(what)(x) + 1  # noqa: E731
    assert torch.equal(eager(program)(X), program(X))
