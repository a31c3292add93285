"""What tensors and symbolic numbers have in common: a graph node stands for the value at run time.

Also the way back from a tracker to an argument of a node. How nodes become trackers is in `results`.
"""

from abc import abstractmethod
from collections.abc import Callable, Iterable, Mapping
from typing import TypeAlias

from torch import fx

from framesmith.graph import GraphBreak
from framesmith.graph.break_kinds import UNSUPPORTED_ARGUMENT
from framesmith.variables.core import Constant, TraceContext, Tracker, Writer

NodeOrNumber: TypeAlias = fx.Node | int | float | bool
"""A node, or the number that a symbolic one turned out to be."""

ArgumentRule = Callable[[TraceContext, Tracker], object]
_rules: dict[type[Tracker], ArgumentRule] = {}
_conversions: dict[type, Callable[[object], object]] = {}


class GraphValue(Tracker):
    """A value that the graph computes or takes in."""

    @abstractmethod
    def graph_node(self, tx: TraceContext) -> NodeOrNumber:
        """The node whose run-time result is this value."""

    def reconstruct(self, writer: Writer) -> str:
        """The output of the graph."""
        output = self.output_node()
        return writer.node(output) if isinstance(output, fx.Node) else repr(output)

    @abstractmethod
    def output_node(self) -> NodeOrNumber:
        """The node to output when the value is needed after the graph."""


def register_argument(kind: type[Tracker], rule: ArgumentRule) -> None:
    """Say how trackers of exactly this class become arguments of a node."""
    _rules[kind] = rule


def register_conversion(kind: type, convert: Callable[[object], object]) -> None:
    """Say as which plain number a constant of exactly this type stands in a graph."""
    _conversions[kind] = convert


def is_converted(kind: type) -> bool:
    """Whether constants of this type stand in a graph as plain numbers."""
    return kind in _conversions


def graph_argument(tx: TraceContext, tracker: Tracker) -> object:
    """The tracker as an argument of a node: nodes, constants and containers of those; else a graph break."""
    tracker = tracker.realize()
    if isinstance(tracker, GraphValue):
        return tracker.graph_node(tx)
    if isinstance(tracker, Constant):
        convert = _conversions.get(type(tracker.value))
        return tracker.value if convert is None else convert(tracker.value)
    rule = _rules.get(type(tracker))
    if rule is None:
        raise GraphBreak(
            UNSUPPORTED_ARGUMENT, f"a {tracker.describe()} cannot be an argument of a graph node"
        )
    return rule(tx, tracker)


def graph_arguments(tx: TraceContext, trackers: Iterable[Tracker]) -> tuple[object, ...]:
    """Several positional arguments."""
    return tuple(graph_argument(tx, tracker) for tracker in trackers)


def graph_keywords(tx: TraceContext, trackers: Mapping[str, Tracker]) -> dict[str, object]:
    """Several keyword arguments."""
    return {name: graph_argument(tx, tracker) for name, tracker in trackers.items()}
