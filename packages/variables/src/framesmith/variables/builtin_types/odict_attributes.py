"""Attributes that an `OrderedDict` holds itself, such as the `_metadata` of a state dict."""

from collections import OrderedDict

from framesmith.guards import Source
from framesmith.guards.kinds import HasInstanceAttribute
from framesmith.guards.sources import InstanceItem
from framesmith.variables.core.base import TraceContext, Tracker, Writer
from framesmith.variables.core.wrap_rules import lazy

Attributes = dict[str, Tracker]


def own_attribute(
    tx: TraceContext, value: object, source: Source | None, stored: Attributes, name: str
) -> Tracker | None:
    """The attribute as the trace sees it now; None when the instance has none (guarded), or the class has the name."""
    if name in stored:
        return stored[name].realize()
    # what the class has is read by the caller, with the rules for descriptors
    if source is None or hasattr(OrderedDict, name):
        return None
    present = name in vars(value)
    tx.guard(source, HasInstanceAttribute(name, present))
    return lazy(tx, vars(value)[name], InstanceItem(source, name)).realize() if present else None


def write_attributes(place: str, stored: Attributes, writer: Writer) -> None:
    """Emit the stores of the attributes that the trace set."""
    for name, value in stored.items():
        setter = writer.constant(setattr, "setattr")
        writer.statement(f"{setter}({place}, {name!r}, {writer.value(value)})")
