"""What asks who refers to a tensor: a trace leaves no weak reference to what it was given."""

import weakref

import pytest
import torch

from framesmith import frontend


def swap(x, other):
    y = x * 2
    torch.utils.swap_tensors(x, other)
    return y.sum() + x.sum(), x, other


def count(x, other):
    y = x + other.sum()
    return y, weakref.getweakrefcount(x), weakref.getweakrefs(other), other


@pytest.mark.parametrize("backend", ["eager", "aot_eager"])
@pytest.mark.parametrize("dynamic", [None, True])
@pytest.mark.parametrize("function", [swap, count])
def test_arguments_have_no_references_of_a_trace(function, backend, dynamic):
    compiled = frontend.compile(function, backend=backend, dynamic=dynamic)
    for sizes in ((3, 3), (3, 2), (3, 4), (4, 5), (1, 0)):
        results = []
        for call in (function, compiled):
            given = torch.ones(sizes[0]), torch.arange(float(sizes[1]))
            found = call(*given)
            results.append([value.tolist() if isinstance(value, torch.Tensor) else value for value in found])
            results[-1] += [value.tolist() for value in given]
        assert results[0] == results[1]


def test_a_swap_is_one_break():
    compiled = frontend.compile(swap, backend="eager")
    compiled(torch.ones(2), torch.zeros(3))
    assert [reason.kind for reason in frontend.explain(compiled)().breaks] == ["native-call"]


def test_a_module_is_converted_by_swapping():
    """`Module.to` swaps where it is asked to."""

    def convert(model, x):
        y = model(x)
        model.double()
        return y, model(x.double())

    before = torch.__future__.get_swap_module_params_on_conversion()
    torch.__future__.set_swap_module_params_on_conversion(True)
    try:
        compiled = frontend.compile(convert, backend="eager")
        for _ in range(3):
            torch.manual_seed(0)
            models = [torch.nn.Linear(2, 2) for _ in range(2)]
            models[1].load_state_dict(models[0].state_dict())
            weights = [model.weight for model in models]
            x = torch.ones(1, 2)
            with torch.no_grad():
                expected, found = convert(models[0], x), compiled(models[1], x)
            assert all(map(torch.equal, expected, found))
            assert [model.weight is weight for model, weight in zip(models, weights)] == [True, True]
    finally:
        torch.__future__.set_swap_module_params_on_conversion(before)
