"""Nodes made in the quick way are those that fx makes: names, order, tables."""

import operator

import pytest
import torch
from torch import fx

from framesmith.graph.nodes.quick_nodes import copy_node, new_input

CALLS = [
    ("call_function", torch.relu),
    ("call_function", torch.nn.functional.linear),
    ("call_function", operator.add),
    ("call_function", torch.ops.aten.relu.default),
    ("call_method", "relu"),
    ("call_method", "__getitem__"),
    ("call_method", "toTensor_3"),
]
NAMES = [
    "x",
    "x",
    "self_weight",
    "abs",
    "print",
    "is",
    "none",
    "w_",
    "é",
    "relu",
    "for",
    "list",
    "x_1",
    "x_2",
    "__y",
    "1x",
    "None_",
    "Input",
    "aB",
    "_True",
    "input",
    "input",
    "None",
    "x",
]


def shown(graph):
    """All that fx keeps of nodes."""
    tables = graph._find_nodes_lookup_table.table
    nodes = [(one.op, one.name, one.target, one.args, one.kwargs, list(one.users)) for one in graph.nodes]
    return [
        [str(part) for part in nodes],
        {key: [one.name for one in held] for key, held in tables.items() if held},
        graph._graph_namespace._used_names,
        graph._graph_namespace._base_count,
        len(graph.nodes),
        graph.python_code("self").src,
    ]


@pytest.mark.parametrize("op, target", CALLS)
def test_a_copied_call_is_that_of_fx(op, target):
    graphs = []
    for quick in (True, False):
        graph = fx.Graph()
        x = graph.placeholder("relu")
        first = graph.create_node(op, target, (x, [x, 2]), {"alpha": x})
        for _ in range(3):
            args, kwargs = (first, [x, 2]), {"alpha": first}
            first = copy_node(first, args, kwargs) if quick else graph.create_node(op, target, args, kwargs)
        graph.output((first,))
        graphs.append(shown(graph))
    assert graphs[0] == graphs[1]


def test_inputs_are_those_of_fx_with_their_name_as_target():
    graphs = []
    for quick in (True, False):
        graph = fx.Graph()
        last = graph._root
        held = graph.call_function(torch.ones, (2,))
        for name in NAMES:
            if quick:
                last = new_input(graph, name, last)
                continue
            with graph.inserting_after(last):
                last = graph.placeholder(name)
            last.target = last.name
        graph.output((held, last))
        graphs.append(shown(graph))
    assert graphs[0] == graphs[1]


def test_a_node_can_be_erased_and_replaced():
    graph = fx.Graph()
    x = new_input(graph, "x", graph._root)
    first = graph.call_function(torch.relu, (x,))
    second = copy_node(first, (first,), {})
    second.replace_all_uses_with(first)
    graph.erase_node(second)
    graph.output((first,))
    graph.lint()
    assert [one.name for one in graph.nodes] == ["x", "relu", "output"]
