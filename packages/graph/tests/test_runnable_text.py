"""A graph as a file that runs: whatever it reads is there, of the same sizes and types."""

import subprocess
import sys

import pytest
import torch
from torch import fx

from framesmith.graph.nodes.arguments import EXAMPLE
from framesmith.graph.running.runnable_text import write_runnable, write_value


def inner_graph() -> fx.GraphModule:
    graph = fx.Graph()
    x = graph.placeholder("x")
    graph.output((graph.call_function(torch.mul, (x, graph.get_attr("scale"))),))
    return fx.GraphModule({"scale": torch.full((3,), 2.0)}, graph)


def outer_graph() -> fx.GraphModule:
    graph = fx.Graph()
    x, n = graph.placeholder("x"), graph.placeholder("n")
    x.meta[EXAMPLE], n.meta[EXAMPLE] = torch.ones(2, 3), 4
    marked = graph.call_function(
        torch.ops.higher_order.tag_activation_checkpoint,
        (graph.get_attr("body"), x),
        {"use_reentrant": False},
    )
    total = graph.call_function(torch.add, (graph.call_method("__getitem__", (marked, 0)), n))
    graph.output((graph.call_method("to", (total,), {"device": torch.device("cpu")}), float("inf")))
    return fx.GraphModule({"body": inner_graph()}, graph)


def test_it_runs_with_inputs_attributes_and_the_graphs_inside(tmp_path) -> None:
    file = tmp_path / "saved.py"
    file.write_text(write_runnable(outer_graph()) + "print(module(*inputs)[0].shape)\n")
    done = subprocess.run([sys.executable, file], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr + file.read_text()
    assert done.stdout.endswith("torch.Size([2, 3])\n")


@pytest.mark.parametrize(
    "value",
    [
        torch.ones(()),
        torch.ones(3, requires_grad=True),
        torch.ones(2, 3, dtype=torch.bfloat16).t(),
        torch.zeros(2, dtype=torch.bool),
        torch.zeros(2, 0, dtype=torch.int64),
        torch.ones(2, dtype=torch.complex64),
        torch.zeros(2, dtype=torch.float8_e5m2),
    ],
    ids=lambda value: f"{value.dtype}{[*value.shape]}",
)
def test_a_tensor_is_of_the_same_kind(value) -> None:
    made = eval(write_value(value))
    assert made.shape == value.shape and made.stride() == value.stride()
    assert made.dtype == value.dtype and made.requires_grad == value.requires_grad


def test_a_value_without_a_text_is_named() -> None:
    assert write_value(3) == "3" and write_value(None) == "None"
    assert write_value(object()) == "None  # object"
