"""Compiled callable objects and modules whose `__class__` is replaced: each call runs what that of the object runs now."""

import pytest
import torch

from framesmith import frontend
from framesmith.frontend import api

X = torch.ones(2)
SOURCE = """
import torch
class A:
    def __call__(self, x): return x + 1
class Other:
    def __call__(self, x): return x + 100
class Inheriting(A): pass
class Calling(A):
    def __call__(self, x): return super().__call__(x) * 7
class Module(torch.nn.Module):
    def forward(self, x): return x + 1
class OtherModule(Module):
    def forward(self, x): return x + 100
class OwnCall(torch.nn.Module):
    def _call_impl(self, x): return x + 1000
class Starred:
    def __call__(*args, k=2): return args[1] + k
class OtherStarred:
    def __call__(*args, k=2): return args[1] + k * 10
def instead(self, x): return x + 55
"""
PAIRS = [
    ("A", "Other"),
    ("A", "Inheriting"),
    ("A", "Calling"),
    ("Module", "OtherModule"),
    ("Module", "OwnCall"),
    ("Starred", "OtherStarred"),
]


def classes() -> dict[str, type]:
    space: dict[str, type] = {"__name__": __name__}
    exec(SOURCE, space)
    return space


@pytest.mark.parametrize("names", PAIRS, ids=" to ".join)
@pytest.mark.parametrize("is_called_before", [True, False])
@pytest.mark.filterwarnings("ignore::framesmith.frontend.NotCompiledWarning")
def test_a_call_runs_what_the_class_of_the_object_says_now(names, is_called_before: bool) -> None:
    first, second = (classes()[name] for name in names)
    plain, one = first(), first()
    compiled = frontend.compile(one, backend="eager")
    for kind in (*([first] if is_called_before else []), second, first):
        plain.__class__ = one.__class__ = kind
        for _ in range(3):
            assert torch.equal(plain(X), compiled(X))
    assert len(api.session_of(compiled).history.entries) <= 2


@pytest.mark.filterwarnings("ignore::framesmith.frontend.NotCompiledWarning")
def test_a_class_that_inherits_the_call_may_get_its_own_later() -> None:
    space = classes()
    one, kind = space["A"](), space["Inheriting"]
    compiled = frontend.compile(one, backend="eager")
    one.__class__ = kind
    assert torch.equal(compiled(X), X + 1)
    kind.__call__ = space["instead"]
    assert torch.equal(compiled(X), X + 55)


def test_an_object_may_be_the_first_of_the_starred_arguments() -> None:
    compiled = frontend.compile(classes()["Starred"](), backend="eager", fullgraph=True)
    assert torch.equal(compiled(X), X + 2) and torch.equal(compiled(X, k=5), X + 5)
    assert api.session_of(compiled).history.entries
