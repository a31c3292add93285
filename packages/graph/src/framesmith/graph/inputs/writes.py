"""Which operations may have written to the memory of a tensor. Not here: what the version counters say (`execution`)."""

from collections.abc import Sequence
from typing import cast, final

import torch
from torch import fx

from framesmith.graph.fakes.execution import storage_of
from framesmith.graph.inputs.inputs import Inputs
from framesmith.graph.nodes.arguments import EXAMPLE, tensors_in
from framesmith.guards.sources.base import Source


@final
class Writes:
    """The operations that do more than compute, by the memory of their operands. Invariant: each list is in the order of the graph."""

    def __init__(self, inputs: Inputs) -> None:
        self._inputs = inputs
        self._nodes: dict[int, list[fx.Node]] = {}
        self.last: fx.Node | None = None
        self.stored: list[fx.Node] = []
        self.stand_ins: dict[fx.Node, fx.Node] = {}
        # of what is stored, when it was stored
        self._versions: dict[tuple[fx.Node, fx.Node], int] = {}
        # `p.data = v` ends the graph, or may come behind its end; or it is on another path through the function
        self.is_store_next = self.may_store_later = False
        self.are_counted = False  # whether the trace asked for a version counter

    def note(self, node: fx.Node) -> None:
        """An operation was recorded that may have changed any of its operands; it is the `last` one."""
        self.last = node
        operands = [tensor for one in node.all_input_nodes for tensor in tensors_in(one.meta[EXAMPLE])]
        for memory in {storage_of(tensor) for tensor in operands}:
            self._nodes.setdefault(memory, []).append(node)

    def of(self, tensor: torch.Tensor) -> Sequence[fx.Node] | None:
        """Those that had an operand in the memory of a fake, but for what was rolled back; None for that of an input whose memory
        another input shares."""
        if self._inputs.share_memory(tensor):
            return None
        return [node for node in self._nodes.get(storage_of(tensor), ()) if not node._erased]

    def store_behind(self) -> None:
        """The last one is `setattr(p, "data", v)`, which is to be made behind the graph: in there `v` stands for `p` from now on."""
        assert self.last is not None
        self.stored.append(self.last)
        tensor, _, value = cast(tuple[fx.Node, str, fx.Node], self.last.args)
        self._versions[tensor, value] = value.meta[EXAMPLE]._version

    def stores(self) -> Sequence[tuple[fx.Node, fx.Node, fx.Node]]:
        """Those that are to be made behind the graph, but for what was rolled back; each with the tensor and the value."""
        living = [node for node in self.stored if not node._erased]
        return [(node, cast(fx.Node, node.args[0]), cast(fx.Node, node.args[2])) for node in living]

    def is_written_behind(self, tensor: fx.Node, value: fx.Node) -> bool:
        """Whether what was stored in a tensor is written to behind the store: eager counts that for the tensor."""
        return bool(value.meta[EXAMPLE]._version != self._versions[tensor, value])

    def last_stores(self) -> dict[fx.Node, tuple[fx.Node, fx.Node]]:
        """Of each tensor its last store, with the tensor and the value."""
        last = {tensor: (node, (tensor, value)) for node, tensor, value in self.stores()}
        return dict(last.values())

    def stand_in(self, store: fx.Node) -> fx.Node | None:
        """What stands for the tensor of a store where operations may be differentiated, if anything does so far."""
        found = self.stand_ins.get(store)
        return None if found is None or found._erased else found

    def stand_ins_of(self, tensor: fx.Node) -> Sequence[fx.Node]:
        """All that stands for an input behind one of its stores."""
        return [one for one in self.stand_ins.values() if not one._erased and one.args[0] is tensor]

    def is_for_another(self, store: fx.Node) -> bool:
        """Whether something stands for another tensor in the memory of the value of a store."""
        memory = storage_of(cast(fx.Node, store.args[2]).meta[EXAMPLE])
        others = [
            one for one in self.stand_ins.values() if not one._erased and one.args[0] is not store.args[0]
        ]
        return memory in [storage_of(one.meta[EXAMPLE]) for one in others]

    def stored_in(self, tensor: fx.Node) -> fx.Node | None:
        """What is to be stored in a tensor behind the graph."""
        return next((value for _, one, value in reversed(self.stores()) if one is tensor), None)

    def name_of(self, tensor: fx.Node) -> str:
        """What the program calls an input."""
        return self._inputs.by_node()[tensor].source.text()

    def first_version(self, source: Source) -> int:
        """What the version counter of the fake of an input said before anything was recorded."""
        return self._inputs.versions[source]

    def is_of_input(self, tensor: torch.Tensor) -> bool:
        """Whether the memory of a fake is that of an input."""
        return storage_of(tensor) in self._inputs.memories

    def has_other_names(self, tensor: torch.Tensor) -> bool:
        """Whether more than one input has the memory of a fake: their fakes count their writes apart."""
        memory = storage_of(tensor)
        fakes = [one.example for one in self._inputs.ever if isinstance(one.example, torch.Tensor)]
        return len({id(fake) for fake in fakes if storage_of(fake) == memory}) > 1
