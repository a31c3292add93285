"""What TorchScript has made has no Python code: `compile` gives it back with a warning that says what to pass."""

import pytest
import torch

from framesmith import frontend

X = torch.ones(2, 3)


def make_model():
    return torch.nn.Sequential(torch.nn.Linear(3, 3), torch.nn.ReLU()).eval()


def add_one(x: torch.Tensor) -> torch.Tensor:
    return x + 1


@pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore:.*torch.jit.*:FutureWarning")
@pytest.mark.parametrize(
    "make",
    [
        lambda: torch.jit.script(make_model()),
        lambda: torch.jit.trace(make_model(), X),
        lambda: torch.jit.freeze(torch.jit.script(make_model())),
        lambda: torch.jit.script(add_one),
    ],
    ids=["script", "trace", "freeze", "function"],
)
def test_it_runs_as_it_is_and_the_warning_says_what_to_pass(make) -> None:
    scripted = make()
    frontend.reset()
    with pytest.warns(frontend.NotCompiledWarning, match=r"compile what was given to torch\.jit\.script"):
        compiled = frontend.compile(scripted, backend="eager")
    assert compiled is scripted
    assert torch.equal(compiled(X), scripted(X))


@pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore:.*torch.jit.*:FutureWarning")
def test_explaining_it_names_the_break() -> None:
    scripted = torch.jit.script(make_model())
    explanation = frontend.explain(scripted)(X)
    assert explanation.break_count and explanation.graph_count == 0
