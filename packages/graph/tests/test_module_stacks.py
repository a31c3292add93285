"""`nn_module_stack`: names, paths and classes of the modules in whose calls an operation stands."""

import sys
from types import MappingProxyType

import pytest
from torch import nn

from framesmith.graph.recording.module_stacks import NO_MODULES, enter, move, path_of
from framesmith.guards.sources import Attribute, Global, Item, Local, Pinned, Source
from framesmith.guards.sources.modules import submodule

MODEL = Local("self")
LAYERS = submodule(MODEL, "layers")


@pytest.mark.parametrize(
    ("source", "path"),
    [
        (MODEL, "L['self']"),
        (submodule(LAYERS, "0"), "L['self'].layers.0"),
        (submodule(Global("model"), "encoder"), "G['model'].encoder"),
        (Item(Local("held"), "model"), "L['held']['model']"),
        (submodule(Attribute(Pinned(sys, "sys"), "model"), "encoder"), "G['model'].encoder"),
    ],
)
def test_paths_begin_with_their_root_as_torch_writes_it(source: Source, path: str) -> None:
    assert path_of(source) == path


def test_the_outermost_call_comes_first() -> None:
    outer = enter(NO_MODULES, MODEL, nn.Sequential)
    stack = enter(outer, submodule(LAYERS, "0"), nn.Linear)
    assert list(stack.items()) == [
        ("L__self__", ("L['self']", nn.Sequential)),
        ("L__self___layers_0", ("L['self'].layers.0", nn.Linear)),
    ]
    assert len(outer) == 1 and not NO_MODULES


def test_a_repeated_call_has_the_paths_of_its_own_module() -> None:
    outer = enter(NO_MODULES, MODEL, nn.Sequential)
    first, now = (enter(outer, submodule(LAYERS, name), nn.Sequential) for name in ("1", "2"))
    inside = enter(first, submodule(submodule(LAYERS, "1"), "act"), nn.ReLU)
    assert [path for path, _ in move(inside, first, now).values()] == [
        "L['self']",
        "L['self'].layers.2",
        "L['self'].layers.2.act",
    ]
    assert move(MappingProxyType(first), first, now) == now


def test_what_lies_elsewhere_stays_where_it_is() -> None:
    first, now = (enter(NO_MODULES, submodule(LAYERS, name), nn.Sequential) for name in ("1", "11"))
    shared = enter(first, Global("head"), nn.Linear)
    beside = enter(first, submodule(LAYERS, "10"), nn.Linear)
    assert [path for path, _ in move(shared, first, now).values()] == ["L['self'].layers.11", "G['head']"]
    assert [path for path, _ in move(beside, first, now).values()] == [
        "L['self'].layers.11",
        "L['self'].layers.10",
    ]
