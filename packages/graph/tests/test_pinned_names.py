"""Graphs run the operations that were captured, wherever their paths lead by then."""

import torch
from torch import fx

from framesmith.graph.running.module_calls import make_plain

X = torch.tensor([-1.0, 2.0])


def module_of(*operations):
    graph = fx.Graph()
    x = graph.placeholder("x")
    results = [graph.call_function(function, (x, *more)) for function, *more in operations]
    graph.output(tuple(results))
    return make_plain(fx.GraphModule(torch.nn.Module(), graph))


def test_an_operation_that_was_replaced_is_run(monkeypatch):
    module = module_of((torch.relu,), (torch.nn.functional.elu,), (torch.Tensor.neg,))
    expected = [value.tolist() for value in module(X)]
    for holder, name in ((torch, "relu"), (torch.nn.functional, "elu"), (torch.Tensor, "neg")):
        monkeypatch.setattr(holder, name, None)
    assert [value.tolist() for value in module(X)] == expected


def test_an_operator_and_its_overload():
    add = torch.ops.aten.add
    for both in ((add, add.Tensor), (add.Tensor, add)):
        module = module_of(*((one, 2.0) for one in both))
        assert [value.tolist() for value in module(X)] == [[1.0, 4.0]] * 2


def test_what_is_no_operation_is_found():
    module = module_of((torch.Tensor.to, torch.float64), (torch.Tensor.neg,))
    assert module(X)[0].dtype is torch.float64


def test_the_text_after_recompile_names_paths():
    module = module_of((torch.relu,))
    module.recompile()
    assert module(X)[0].tolist() == [0.0, 2.0] and "torch.relu(x)" in module.code


def test_builtins_have_no_path():
    assert module_of((getattr, "shape"), (torch.relu,))(X)[0] == X.shape
