"""Nested graphs for higher-order operators: `torch.cond`, checkpoint, `while_loop`.

Before: a body that uses a node of the enclosing graph. After: the body has a placeholder for it, and the node is
listed in `lifted`, to be passed as an operand.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import final

import torch
from torch import fx

from framesmith.graph.nodes.arguments import EXAMPLE, example
from framesmith.graph.nodes.attributes import Attributes
from framesmith.graph.nodes.subgraph import Subgraph
from framesmith.graph.operations.purity import IMPURE, is_normalization, is_switch
from framesmith.graph.passes.verify import verify
from framesmith.graph.running.module_calls import make_plain
from framesmith.graph.shapes.symbols import SymbolNodes


@final
@dataclass(frozen=True, slots=True, eq=False)
class NestedGraph:
    """A finished body. `node` is its get_attr node in the enclosing graph, `lifted` are the operands it needs.

    `examples` are the examples of its outputs, one each.
    """

    node: fx.Node
    module: fx.GraphModule
    lifted: tuple[fx.Node, ...]
    examples: tuple[object, ...]


@final
class NestedRecording:
    """A body being recorded, or recorded and not yet finished."""

    def __init__(
        self, body: Subgraph, parent: Subgraph, attributes: Attributes, symbols: SymbolNodes
    ) -> None:
        self.body = body
        self._parent = parent
        self._attributes = attributes
        self._symbols = symbols

    @property
    def lifted(self) -> tuple[fx.Node, ...]:
        """The nodes of the enclosing graph used so far, in the order of their placeholders."""
        return tuple(self.body.lifted)

    def input(self, name: str, value: object) -> fx.Node:
        """Add an input of the body itself, such as the carried value of a loop; to be called before anything is lifted."""
        assert not self.body.lifted, "own inputs of a body stand before the lifted ones"
        return self.body.placeholder(name, value)

    def unknown_number(self, name: str) -> fx.Node:
        """Add an input of the body itself that is an int, another one in each run of the body."""
        assert not self.body.lifted, "own inputs of a body stand before the lifted ones"
        return self._symbols.unknown_input(self.body, name)

    def bind_symbols(self) -> None:
        """Make the symbols in the sizes of its inputs inputs too, as backends need them that look into a body by itself."""
        self._symbols.bind_inputs(self.body)

    def may_write(self) -> bool:
        """Whether an operation of the body writes to any tensor."""
        return any(node.meta.get(IMPURE) and not is_switch(node) for node in self.body.order)

    def writes_outside(self, versions: Mapping[int, int]) -> bool:
        """Whether the body writes to its own inputs or to tensors of the enclosing graphs. `versions`: of the latter, at its
        beginning; an input of the whole graph that is not among them was requested since."""
        inputs = [example(node) for node in self.body.order if node.op == "placeholder"]
        tensors = [value for value in inputs if isinstance(value, torch.Tensor)]
        if any(tensor._version != versions.get(id(tensor), 0) for tensor in tensors):
            return True
        # Running statistics: version counters do not show that they are written.
        return any(is_normalization(node.target) for node in self.body.order if node.meta.get(IMPURE))

    def finish(
        self, outputs: Sequence[fx.Node | int | None], *, name: str = "body", single: bool = False
    ) -> NestedGraph:
        """Close the body and put it into the enclosing graph as an attribute.

        The body returns a tuple, or its one output itself when `single` is set. A number or None among the outputs stays what it is.
        """
        local = tuple(self.body.local(one) if isinstance(one, fx.Node) else one for one in outputs)
        assert not single or len(local) == 1, "a single output was announced"
        result = self.body.graph.output(local[0] if single else local)
        shown = tuple(example(one) if isinstance(one, fx.Node) else one for one in local)
        result.meta[EXAMPLE] = shown
        problems = verify(self.body.graph)
        assert not problems, "\n".join(problems)
        module = make_plain(fx.GraphModule(self._attributes.root, self.body.graph, class_name=name))
        attribute = self._attributes.name_of(module, name)
        node = self._parent.append("get_attr", attribute, (), {})
        node.meta[EXAMPLE] = module
        return NestedGraph(node, module, self.lifted, shown)


def unify(bodies: Sequence[NestedRecording]) -> tuple[fx.Node, ...]:
    """Give several bodies the same operands in the same order, as the branches of `torch.cond` need.

    To be called before they are finished. A body that does not use an operand gets an unused placeholder for it.
    """
    wanted = list(dict.fromkeys(node for body in bodies for node in body.lifted))
    # Existing placeholders are moved to the head of the graph: own inputs first, then the operands in the common order.
    for recording in bodies:
        body = recording.body
        for outer in wanted:
            body.local(outer)
        previous: fx.Node | None = None
        own = [
            node for node in body.order if node.op == "placeholder" and node not in set(body.lifted.values())
        ]
        for node in [*own, *(body.lifted[outer] for outer in wanted)]:
            if previous is None:
                body.graph._root.append(node)
            else:
                previous.append(node)
            previous = node
        body.lifted = {outer: body.lifted[outer] for outer in wanted}
    return tuple(wanted)
