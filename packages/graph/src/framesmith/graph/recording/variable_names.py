"""Operations are named after the variables of the program that they are bound to, as torch.compile names them.

q = linear(x, w)    the node is `q`, which was `linear`
"""

from collections.abc import Iterable, Mapping
from typing import Final, final

from torch import fx

from framesmith.graph.inputs.writes import Writes
from framesmith.graph.nodes.arguments import EXAMPLE
from framesmith.graph.nodes.quick_nodes import name_after

_VARIABLE: Final = "variable"
"""In the metadata of a node: the first variable that it was bound to, and how many names had been given before."""


@final
class VariableNames:
    """Names the nodes of one recording. `given`: how many names it has given."""

    def __init__(self, writes: Writes) -> None:
        self.given = 0
        self._writes = writes

    def bind(self, node: fx.Node, variable: str) -> None:
        """The program binds what a node made to a variable. The first one names it; inputs have names of their own. `x += 1` binds the
        tensor that `x` was before, and names the addition."""
        last = self._writes.last
        if last is not None and last.meta[EXAMPLE] is node.meta[EXAMPLE]:
            node = last
        meta = node.meta
        if _VARIABLE not in meta and node.op != "placeholder":
            meta[_VARIABLE] = variable, self.given
            self.given += 1
            name_after(node, variable)

    def copy(self, nodes: Iterable[fx.Node], copies: Mapping[fx.Node, fx.Node], given: int) -> None:
        """Name the copies of nodes of a call as these are, where they were named in it: when it had ended, `given` names had been given."""
        for node in nodes:
            found = node.meta.get(_VARIABLE)
            if found is not None:
                copy = copies[node]
                copy.meta.pop(_VARIABLE, None)
                if found[1] < given:
                    self.bind(copy, found[0])
