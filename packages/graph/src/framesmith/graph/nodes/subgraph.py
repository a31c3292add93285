"""One fx.Graph being recorded: append nodes, erase back to a length, lift nodes of enclosing graphs. See also `nesting`."""

import operator
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final, final

from torch import fx

from framesmith.graph.nodes.arguments import EXAMPLE
from framesmith.graph.nodes.expressions import Expression
from framesmith.graph.nodes.quick_nodes import copy_node, new_input


@final
@dataclass(frozen=True)
class Use:
    """What becomes of a nested graph, if it is more than called where it stands."""

    is_transformed: bool = False
    """A transform will be applied to it."""
    is_discarded: bool = False
    """It is only a check: a node will call the function that is being traced."""
    is_repeated: bool = False
    """It runs any number of times, each time on other operands than those that the trace sees."""
    is_batched: bool = False
    """Its operands are slices of tensors, none of which is alone when it runs: no number can be read out of one."""
    is_pushed_forward: bool = False
    """Tangents go through it: forward-mode differentiation is applied to it."""
    is_traced_again: bool = False
    """The operator traces it again, also where the backend runs the operations as they are captured, and takes no floats for it."""

    def inside(self, outer: "Use") -> "Use":
        """The same in a graph of another use."""
        return Use(
            self.is_transformed or outer.is_transformed,
            self.is_discarded or outer.is_discarded,
            self.is_repeated or outer.is_repeated,
            self.is_batched or outer.is_batched,
            self.is_pushed_forward or outer.is_pushed_forward,
            self.is_traced_again or outer.is_traced_again,
        )


BODY: Final = Use()
_POWERS: Final = (operator.pow, operator.ipow)


@final
class Subgraph:
    """A graph and the order in which its nodes were made.

    Invariant: placeholders come before all other nodes; `order` lists every node, oldest first, of which `operations` are no
    placeholders; `lifted` maps a node of the enclosing graph to its placeholder here, `symbols` the expression of a symbolic number to
    its node.
    """

    def __init__(self, parent: "Subgraph | None" = None, use: Use = BODY) -> None:
        self.parent = parent
        self.use: Use = use if parent is None else use.inside(parent.use)
        self.graph = fx.Graph()
        self.order: list[fx.Node] = []
        self.operations = 0
        self.lifted: dict[fx.Node, fx.Node] = {}
        self.symbols: dict[Expression, fx.Node] = {}
        self._last_placeholder: fx.Node | None = None

    def placeholder(self, name: str, value: object) -> fx.Node:
        """Add an input after the existing inputs; `value` becomes its example."""
        node = new_input(self.graph, name, self._last_placeholder or self.graph._root)
        node.meta[EXAMPLE] = value
        self._last_placeholder = node
        self.order.append(node)
        return node

    def append(self, op: str, target: Any, args: tuple[object, ...], kwargs: Mapping[str, object]) -> fx.Node:
        """Add a node at the end. `target` is a callable, or the name of a method or an attribute, hence Any."""
        # fx writes `-1 ** x`, which is `-(1 ** x)`
        if target in _POWERS and repr(args[0]).startswith("-"):
            target = pow
        node = self.graph.create_node(op, target, args, dict(kwargs))  # type: ignore[arg-type]  # fx's closed types
        self.note(node)
        return node

    def append_copy(
        self, node: fx.Node, args: tuple[object, ...], kwargs: Mapping[str, object], result: object
    ) -> fx.Node:
        """Add at the end what a node of this graph does, with other arguments, another result and the same metadata besides."""
        copy = copy_node(node, args, dict(kwargs))
        copy.meta.update(node.meta)
        copy.meta[EXAMPLE] = result
        self.note(copy)
        return copy

    def note(self, node: fx.Node) -> None:
        """Note a node that was added to the graph, and is no placeholder."""
        self.order.append(node)
        self.operations += 1

    def local(self, node: fx.Node) -> fx.Node:
        """The node to use here for a node of this or an enclosing graph.

        One of an enclosing graph becomes a placeholder on every level in between. AssertionError for any other graph's.
        """
        if node.graph is self.graph:
            return node
        if self.parent is None:
            raise AssertionError(f"node {node} belongs to a graph that does not enclose this one")
        outer = self.parent.local(node)
        inner = self.lifted.get(outer)
        if inner is None:
            inner = self.lifted[outer] = self.placeholder(outer.name, outer.meta[EXAMPLE])
        return inner

    def erase_after(self, length: int) -> list[fx.Node]:
        """Erase the nodes made since `order` had this length; they come back newest first."""
        gone = self.order[length:]
        # fx erases a node only when nothing uses it.
        gone.reverse()
        del self.order[length:]
        self.operations -= sum(node.op != "placeholder" for node in gone)
        for node in gone:
            self.graph.erase_node(node)
        erased = set(gone)
        self.lifted = {outer: inner for outer, inner in self.lifted.items() if inner not in erased}
        self.symbols = {symbol: node for symbol, node in self.symbols.items() if node not in erased}
        placeholders = [node for node in self.order if node.op == "placeholder"]
        self._last_placeholder = placeholders[-1] if placeholders else None
        return gone
