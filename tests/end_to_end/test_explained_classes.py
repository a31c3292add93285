"""`explain()` without arguments says what a compiled class has done: asked of the class, an instance or its `forward`."""

import pytest
import torch

from framesmith import frontend

X = torch.ones(3)


def make_module_class():
    class Net(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.inner = torch.nn.Linear(3, 3)

        def forward(self, x):
            return self.inner(x)

    return Net


def make_plain_class():
    class Adder:
        def __call__(self, x):
            return x + 1

    return Adder


@pytest.mark.parametrize("make", [make_module_class, make_plain_class])
def test_a_compiled_class_is_explained(make) -> None:
    cls = frontend.compile(make(), backend="eager")
    instance = cls()
    instance(X)
    assert frontend.explain(cls)().graph_count == 1
    assert frontend.explain(instance)().graph_count == 1
    assert frontend.explain(type("Derived", (cls,), {})())().graph_count == 1


@pytest.mark.parametrize("by_class", [False, True])
def test_the_forward_of_a_compiled_module_is_explained(by_class) -> None:
    cls = make_module_class()
    module = (
        frontend.compile(cls, backend="eager")() if by_class else frontend.compile(cls(), backend="eager")
    )
    module(X)
    assert frontend.explain(module.forward)().graph_count == 1
    assert frontend.explain(module.forward)(X).graph_count == 1


@pytest.mark.parametrize("make", [make_module_class, make_plain_class])
def test_a_class_that_is_not_compiled_is_not_compiled_by_the_question(make) -> None:
    cls = make()
    with pytest.raises(frontend.InvalidArgument, match="whose call makes an instance; pass an instance"):
        frontend.explain(cls)(X)
    with pytest.raises(frontend.InvalidArgument, match=r"which compile\(\) has not returned"):
        frontend.uncompile(cls)
