"""What tensors and symbolic numbers have in common: a graph node computes the value at run time.

Also how a tracker becomes an argument of a node. How nodes become trackers is in `results`.
"""

from abc import abstractmethod
from collections.abc import Callable, Iterable, Mapping
from typing import Final, TypeAlias

from torch import fx

from framesmith.graph import GraphBreak
from framesmith.graph.breaks.break_kinds import UNSUPPORTED_ARGUMENT
from framesmith.guards.words import with_article
from framesmith.variables.core import Constant, TraceContext, Tracker, Writer
from framesmith.variables.core.registry import Table
from framesmith.variables.core.unspecialized import refuse_unread

NodeOrNumber: TypeAlias = fx.Node | int | float | bool
"""A node, or the number that a symbolic value was found to be."""

ArgumentRule = Callable[[TraceContext, Tracker], object]
ARGUMENTS: Final = Table[type[Tracker], ArgumentRule]("arguments of nodes")
"""How trackers of exactly this class become arguments of a node."""
CONVERSIONS: Final = Table[type, Callable[[object], object]]("constants as numbers")
"""How a constant of exactly this type becomes a plain number in a graph; breaks the graph where torch takes it for another."""
UNLIKE_ITEMS: Final = Table[type, None]("constants unlike numbers in containers")
"""Types among those of `CONVERSIONS` of whose values torch may read the type where they stand in a list or tuple."""


class GraphValue(Tracker):
    """A value that the graph computes or takes as an input."""

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


def graph_argument(tx: TraceContext, tracker: Tracker) -> object:
    """The argument of a node for a tracker: a node, a constant or a container of those; else a graph break."""
    tracker = tracker.realize()
    if isinstance(tracker, GraphValue):
        return tracker.graph_node(tx)
    if isinstance(tracker, Constant):
        convert = tx.registry[CONVERSIONS].get(type(tracker.value))
        return tracker.value if convert is None else convert(tracker.value)
    rule = tx.registry[ARGUMENTS].get(type(tracker))
    if rule is None:
        refuse_unread(tracker)
        raise GraphBreak(
            UNSUPPORTED_ARGUMENT, f"{with_article(tracker.describe())} cannot be an argument of a graph node"
        )
    return rule(tx, tracker)


def graph_arguments(tx: TraceContext, trackers: Iterable[Tracker]) -> tuple[object, ...]:
    """The arguments of a node for several trackers."""
    return tuple(graph_argument(tx, tracker) for tracker in trackers)


def graph_keywords(tx: TraceContext, trackers: Mapping[str, Tracker]) -> dict[str, object]:
    """The keyword arguments of a node for several trackers."""
    return {name: graph_argument(tx, tracker) for name, tracker in trackers.items()}
