"""Switches of autocast that set what is set already are dropped; those in force at each operation stay as they are."""

import torch
from torch import fx

from framesmith.graph.environment.ambient import Ambient
from framesmith.graph.passes.autocast_switches import drop_idle_switches

CPU, LOW = "cpu", torch.bfloat16


def graph_of(*calls):
    graph = fx.Graph()
    x = graph.placeholder("x")
    for function, *arguments in calls:
        graph.call_function(function, (x, x) if function is torch.add else tuple(arguments))
    graph.output(x)
    return graph


def left(graph):
    return [(node.target, *node.args) for node in graph.nodes if node.target in SWITCHES]


ON, OFF = (torch.set_autocast_enabled, CPU, True), (torch.set_autocast_enabled, CPU, False)
CACHE = (torch.set_autocast_cache_enabled, True)
DTYPE = (torch.set_autocast_dtype, CPU, LOW)
SWITCHES = (ON[0], CACHE[0], DTYPE[0], torch.set_autocast_cpu_enabled)
ADD = (torch.add,)


def test_what_sets_nothing_is_dropped():
    start = Ambient.now()
    graph = graph_of(OFF, DTYPE, CACHE, ADD, OFF, DTYPE, CACHE)
    assert drop_idle_switches(graph, start) == 6
    assert not left(graph)


def test_what_turns_and_turns_back_stays():
    graph = graph_of(ON, ADD, OFF, ADD, ON, ON, ADD)
    assert drop_idle_switches(graph, Ambient.now()) == 1
    assert left(graph) == [ON, OFF, ON]


def test_it_counts_from_the_switches_at_the_beginning():
    with torch.autocast(CPU, dtype=torch.float16):
        start = Ambient.now()
    graph = graph_of(ON, DTYPE, ADD, OFF)
    assert drop_idle_switches(graph, start) == 1
    assert left(graph) == [DTYPE, OFF]


def test_behind_an_older_form_nothing_is_known():
    graph = graph_of(OFF, (torch.set_autocast_cpu_enabled, True), OFF, ADD, CACHE)
    assert drop_idle_switches(graph, Ambient.now()) == 1
    assert left(graph) == [(torch.set_autocast_cpu_enabled, True), OFF, CACHE]
