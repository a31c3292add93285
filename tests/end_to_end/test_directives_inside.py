"""Functions of `frontend` that are called in a compiled function: they run natively, and what they make holds from there on."""

import pytest
import torch

from framesmith import frontend
from framesmith.frontend import api
from framesmith.graph.backends import backend as backends

X = torch.ones(3)


def disabled_by(mark):
    """Which calls of a function that is disabled in the midst of a call see a trace."""

    def check(compile_it):
        seen = []

        def f(x):
            def note(value):
                seen.append(torch.compiler.is_compiling())
                return value

            return mark(note)(x * 2) + 1

        f = compile_it(f)
        for _ in range(3):
            assert torch.equal(f(X), X * 2 + 1)
        assert seen == [False] * 3

    return check


def disabled_method(compile_it):
    class Model(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.seen = []

        def forward(self, x):
            self.seen.append(torch.compiler.is_compiling())
            return x + 1

    model = Model()

    def f(x):
        return frontend.disable(model)(x * 2) * 3

    f = compile_it(f)
    for _ in range(3):
        assert torch.equal(f(X), (X * 2 + 1) * 3)
    assert model.seen == [False] * 3


@pytest.mark.parametrize(
    "check",
    [
        disabled_by(frontend.disable),
        disabled_by(frontend.disable()),
        disabled_by(lambda function: frontend.disable(reason="here")(function)),
        disabled_by(torch.compiler.disable),
        disabled_method,
    ],
    ids=["disable", "a decorator from outside", "with a reason", "torch's", "a module"],
)
def test_what_is_disabled_inside_is_not_traced(check):
    check(lambda function: function)
    check(lambda function: frontend.compile(function, backend="eager"))


CALLS = {
    "allow_in_graph": lambda: frontend.allow_in_graph(plus),
    "substitute_in_graph": lambda: frontend.substitute_in_graph(X.storage)(plus),
    "assume_constant_result": lambda: frontend.assume_constant_result(three),
    "mark_dynamic": lambda: frontend.mark_dynamic(torch.ones(5), 0),
    "maybe_mark_dynamic": lambda: frontend.maybe_mark_dynamic(torch.ones(5), 0),
    "mark_static": lambda: frontend.mark_static(torch.ones(5), 0),
    "mark_unbacked": lambda: frontend.mark_unbacked(torch.ones(5), 0),
    "list_backends": frontend.list_backends,
    "register_backend": lambda: frontend.register_backend(lambda module, examples: module.forward, "mine"),
    "compile": lambda: frontend.compile(plus),
    "explain": lambda: frontend.explain(plus)(X),
    "export": lambda: frontend.export(plus)(X),
}


def plus(x):
    return x + 1


def three():
    return 3


@pytest.mark.parametrize("name", CALLS)
def test_it_runs_natively(name, monkeypatch):
    monkeypatch.setattr(backends, "_REGISTERED", dict(backends._REGISTERED))

    def f(x):
        x = x * 2
        CALLS[name]()
        return x + 1

    compiled = frontend.compile(f, backend=lambda module, examples: module.forward)
    assert torch.equal(compiled(X), X * 2 + 1)
    breaks = [one.detail for one in api.session_of(compiled).history.breaks]
    assert breaks and set(breaks) == {f"frontend.{name}, which always runs natively"}
