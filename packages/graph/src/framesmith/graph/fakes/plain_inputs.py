"""Ordinary inputs, of which torch's tables learn when somebody asks for more than their fakes.

torch keeps two tables about inputs: the fakes of tensors and memories (for views and second names of one memory), and how the sizes of
each are to be treated (for AOTAutograd, which fakes the inputs again). Most graphs have parameters alone, and most of these
entries are never read, but they are a third of the cost of an input.
"""

from typing import final

import torch
from torch._subclasses.fake_tensor import FakeTensorMode
from torch.fx.experimental.symbolic_shapes import DimDynamic, StatefulSymbolicContext, SymbolicContext
from torch.utils.weak import WeakTensorKeyDictionary

from framesmith.graph.fakes.torch_sources import SourceNames
from framesmith.guards.sources.base import Source


@final
class PlainInputs:
    """The inputs with static sizes and memory of their own, all of it (`fake_copies.memory_of_plain_input`).

    Invariant: no two have one memory. Who gives `tell_converter` a chance before it fakes another tensor gets what torch's table of
    fakes would give; `contexts` has all entries whenever it is read.
    """

    def __init__(self, mode: FakeTensorMode, names: SourceNames) -> None:
        self._converter = mode.fake_tensor_converter
        self._names = names
        self._memories: dict[int, torch.UntypedStorage] = {}
        self._unknown: list[tuple[torch.Tensor, torch.Tensor]] = []
        self._static: list[tuple[torch.Tensor, Source]] = []
        self._contexts = WeakTensorKeyDictionary()

    def add(
        self, value: torch.Tensor, memory: torch.UntypedStorage, fake: torch.Tensor, source: Source
    ) -> None:
        """Note an input with its memory and its fake."""
        self._memories[memory._cdata] = fake.untyped_storage()
        self._unknown.append((value, fake))
        self._static.append((value, source))

    def knows(self, memory: torch.UntypedStorage) -> bool:
        """Whether a tensor with this memory has a fake."""
        others = self._converter.meta_converter.describer.lookup_storage
        return memory._cdata in self._memories or (bool(others.data) and memory in others)

    def tell_converter(self) -> None:
        """Bring torch's table of fakes up to date."""
        meta = self._converter.meta_converter
        for value, fake in self._unknown:
            self._converter.set_tensor_memo(value, fake)  # type: ignore[arg-type]  # it is a FakeTensor
            memory = value.untyped_storage()
            # what it began with: the trace may have stored other data in the fake
            meta.storage_memo[meta.describer.get_storage_id(memory)] = self._memories[memory._cdata]
        self._unknown.clear()

    def has_moved(self, value: torch.Tensor, fake: torch.Tensor) -> bool:
        """Whether the fake of another input, which is a view, lies elsewhere than the fakes of its memory began: the trace has stored
        other data in that of its base. Else notes where it lies."""
        now = fake.untyped_storage()
        known = self._memories.setdefault(value.untyped_storage()._cdata, now)
        return fake._is_view() and known._cdata != now._cdata

    def set_context(self, value: torch.Tensor, context: SymbolicContext) -> None:
        """How the sizes of another input are to be treated."""
        self._contexts[value] = context

    @property
    def contexts(self) -> WeakTensorKeyDictionary:
        """How the sizes of inputs are to be treated."""
        for value, source in self._static:
            self._contexts[value] = StatefulSymbolicContext(
                dynamic_sizes=[DimDynamic.STATIC] * value.dim(), tensor_source=self._names.wrap(source)
            )
        self._static.clear()
        return self._contexts

    def release(self) -> None:
        """The trace has ended: hold none of the program's tensors, nor weak references to them (ADR 0014)."""
        self._memories.clear()
        self._unknown.clear()
        self._static.clear()
        self._contexts.clear()


class BackendContext(torch._guards.TracingContext):
    """The tracing context that a backend gets; that of a trace is a `LocatedContext`."""

    def __init__(self, mode: FakeTensorMode, inputs: PlainInputs) -> None:
        # Before the constructor, which sets `tensor_to_context`.
        self._inputs = inputs
        super().__init__(mode)

    def copy(self) -> "BackendContext":
        """A context in which no graph was compiled, with the same fakes."""
        assert self.fake_mode is not None
        return BackendContext(self.fake_mode, self._inputs)

    @property
    def tensor_to_context(self) -> WeakTensorKeyDictionary:
        """How the sizes of inputs are to be treated."""
        return self._inputs.contexts

    @tensor_to_context.setter
    def tensor_to_context(self, value: WeakTensorKeyDictionary) -> None:
        """torch sets an empty one at the beginning."""
