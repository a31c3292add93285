"""What eager's backward pass reads of each memory: sorted from what the operations of a graph save (`saved_history`)."""

from collections.abc import Iterable, Iterator, Sequence
from typing import final

import torch
from torch import fx

from framesmith.graph.backends.saved_history import Saved, saved_by_nodes
from framesmith.graph.backends.saved_operands import Reads
from framesmith.graph.fakes.execution import storage_of
from framesmith.graph.fakes.histories import no_guards
from framesmith.graph.nodes.arguments import EXAMPLE, tensors_in


@final
class SavedReads:
    """What the operations of a graph save of which a backward pass from any of the `ends` may read something."""

    def __init__(self, graph: fx.Graph, ends: Sequence[torch.Tensor]) -> None:
        self._by_memory: dict[int, list[tuple[fx.Node, Saved]]] = {}
        self._is_known = True
        self.is_changed = False
        """Whether something was written to afterwards: a backward pass through that is refused."""
        self.ids: set[int] = set()
        """Of all tensors that are saved."""
        with no_guards(ends):
            for node, saved in saved_by_nodes(graph, ends):
                self._is_known &= saved.is_known
                self.is_changed |= saved.is_changed
                self.ids.update(map(id, saved.tensors))
                for memory in set(map(storage_of, saved.tensors)):
                    self._by_memory.setdefault(memory, []).append((node, saved))

    def memories(self) -> Iterator[int]:
        """Those of which something is saved."""
        return iter(self._by_memory)

    def reads_of(self, node: fx.Node | None, memory: int) -> Reads:
        """What eager saves of the tensor that a node stands for (None: of nothing but its value), and of its value, which have a memory."""
        if not self._is_known:
            return ~Reads(0)
        own, views = (None, set()) if node is None else (node.meta[EXAMPLE], views_of(node, memory))
        reads = Reads(0)
        for user, saved in self._by_memory.get(memory, ()):
            times = _times(own, saved.tensors)
            if times:
                reads |= Reads.TENSOR if times == _times(own, saved.direct) else Reads.TENSOR | Reads.RESULTS
            if any(one is not own and storage_of(one) == memory for one in saved.tensors):
                operands = {one for one in user.all_input_nodes if has_memory(one, memory)}
                reads |= Reads.VIEWS if operands & views or not operands else Reads(0)
                reads |= Reads.VALUE if operands - views or not operands else Reads(0)
        return reads


def _times(tensor: torch.Tensor | None, saved: Iterable[torch.Tensor]) -> int:
    return sum(one is tensor for one in saved)


def views_of(node: fx.Node, memory: int) -> set[fx.Node]:
    """A node, and what is computed from it and has its memory."""
    todo, seen = [node], {node}
    while todo:
        more = {user for user in todo.pop().users if user.op != "output" and has_memory(user, memory)} - seen
        seen |= more
        todo += more
    return seen


def has_memory(node: fx.Node, memory: int) -> bool:
    """Whether a tensor of its value has that memory."""
    return memory in map(storage_of, tensors_of([node]))


def tensors_of(nodes: Iterable[fx.Node]) -> Sequence[torch.Tensor]:
    """The fakes in the values of some nodes."""
    return [one for node in nodes for one in tensors_in(node.meta.get(EXAMPLE))]
