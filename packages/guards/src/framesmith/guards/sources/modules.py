"""Path elements into `torch.nn.Module` trees, through the dictionaries the instance holds (no `__getattr__` runs)."""

from framesmith.guards.sources.base import Source
from framesmith.guards.sources.containers import Item
from framesmith.guards.sources.steps import InstanceItem


def submodule(base: Source, name: str) -> Source:
    """`base.name` where name is a child module."""
    return Item(InstanceItem(base, "_modules"), name)


def parameter(base: Source, name: str) -> Source:
    """`base.name` where name is a parameter."""
    return Item(InstanceItem(base, "_parameters"), name)


def buffer(base: Source, name: str) -> Source:
    """`base.name` where name is a buffer."""
    return Item(InstanceItem(base, "_buffers"), name)
