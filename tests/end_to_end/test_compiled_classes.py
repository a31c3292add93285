"""Classes that are compiled, and their instances and subclasses too, in each order: one graph, and a way back."""

import warnings

import pytest
import torch

from framesmith import frontend

X = torch.ones(1, 2)


def compiled(model):
    return frontend.compile(model, backend="eager", fullgraph=True)


def module_class() -> type:
    class Model(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.layer = torch.nn.Linear(2, 2)

        def forward(self, x):
            return self.layer(x) * 2

    return Model


def callable_class() -> type:
    class Double:
        def __call__(self, x):
            return x * 2

    return Double


def derived(kind: type) -> type:
    return type("Derived", (kind,), {})


ORDERS = {
    "class, instance": lambda kind: (compiled(kind), compiled(kind()))[1],
    "class twice": lambda kind: (compiled(kind), compiled(kind), kind())[2],
    "class twice, instance": lambda kind: (compiled(kind), compiled(kind), compiled(kind()))[2],
    "instance, class": lambda kind: (one := compiled(kind()), compiled(kind))[0] and one,
    "class, subclass": lambda kind: (compiled(kind), compiled(derived(kind))())[1],
    "class, instance of a subclass": lambda kind: (compiled(kind), compiled(derived(kind)()))[1],
}


@pytest.mark.parametrize("order", ORDERS)
@pytest.mark.parametrize("make", [module_class, callable_class])
def test_each_order_gives_one_graph(make, order: str) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        one = ORDERS[order](make())
        expected = one.layer(X) * 2 if isinstance(one, torch.nn.Module) else X * 2
        for _ in range(2):
            assert torch.equal(one(X), expected)


@pytest.mark.parametrize("make", [module_class, callable_class])
def test_uncompile_gives_back_what_was_there(make) -> None:
    kind = make()
    name = "_call_impl" if issubclass(kind, torch.nn.Module) else "__call__"
    before = getattr(kind, name)
    compiled(kind)
    frontend.compile(kind, backend="aot_eager")
    frontend.uncompile(kind)
    assert getattr(kind, name) is before
