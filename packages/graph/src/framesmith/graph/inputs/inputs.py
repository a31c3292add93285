"""The inputs of the graph being recorded, one per source.

Their fake tensors are made by `shape_env`.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from types import MemberDescriptorType
from typing import Final, TypeAlias, final

import torch
import torch._guards
from torch import fx
from torch.autograd.graph import Node
from torch.utils._python_dispatch import is_traceable_wrapper_subclass

from framesmith.graph.breaks.break_kinds import BACKEND_LIMIT, FAKE_INPUT, UNSUPPORTED_SUBCLASS
from framesmith.graph.breaks.breaks import GraphBreak
from framesmith.graph.fakes.execution import storage_of
from framesmith.graph.fakes.fake_copies import is_former_view
from framesmith.graph.nodes.arguments import EXAMPLE
from framesmith.graph.options import is_symbolic
from framesmith.graph.replacing_backends import Reliance
from framesmith.guards.class_lookup import resolution_order, static_lookup, type_dict
from framesmith.guards.plain_tensors import PLAIN_TENSORS
from framesmith.guards.sources.base import Source
from framesmith.guards.sources.steps import Attribute, InstanceItem
from framesmith.guards.sources.tensors import Unasked

# What classes of tensors define for their own life, and no operation of a graph calls.
_OF_CLASSES: Final = frozenset(
    {*vars(object), "__torch_function__", "__torch_dispatch__", "__deepcopy__", "__setstate__", "__slots__", "__weakref__"}
) - {"__eq__", "__ne__", "__lt__", "__le__", "__gt__", "__ge__"}  # fmt: skip
_OPERATIONS: Final = frozenset(dir(torch.Tensor)) - _OF_CLASSES

Layout: TypeAlias = tuple[tuple[object, ...], tuple[object, ...], object]
"""Sizes, strides and offset of a tensor."""


@final
@dataclass(slots=True, eq=False)
class Input:
    """One input. `value` is the real object, kept while recording only; `example` represents it in the trace.

    Never changed; not frozen, since that takes several times as long to make.
    `layout` is what a tensor's fake was made with: sizes, strides, offset; `memory` what it then had. The fake itself may be
    changed by a recorded operation such as `x.t_()` or `x.data = y`. `parts` has the layouts of the tensors in a wrapper.
    """

    source: Source
    node: fx.Node
    value: object
    example: object
    layout: Layout | None
    parts: tuple[tuple[Source, Layout], ...] = ()
    memory: torch.UntypedStorage | None = None

    def layouts(self) -> Iterator[tuple[Source, Source, Layout]]:
        """For the tensor, and those in a wrapper: where it is, where its sizes are read without asking its class, and its layout."""
        if self.layout is not None:
            yield self.source, Unasked(self.source) if self.parts else self.source, self.layout
        for place, layout in self.parts:
            yield place, Unasked(place), layout


def layout_of(fake: torch.Tensor) -> Layout:
    """Sizes, strides and offset of a strided tensor; sizes only for others."""
    if fake.layout is not torch.strided or fake.is_nested:
        return (tuple(fake.shape) if is_jagged(fake) or not fake.is_nested else (), (), 0)
    return tuple(fake.shape), tuple(fake.stride()), fake.storage_offset()


def make_input(source: Source, node: fx.Node, value: object, example: object) -> Input:
    """An input with the layouts that the tensors of its example have now."""
    if not isinstance(example, torch.Tensor):
        return Input(source, node, value, example, None)
    parts = () if type(value) in PLAIN_TENSORS else tuple(_layouts_of_parts(source, example))
    memory = example.untyped_storage() if example.layout is torch.strided else None
    return Input(source, node, value, example, layout_of(example), parts, memory)


def _layouts_of_parts(source: Source, fake: torch.Tensor) -> Iterator[tuple[Source, Layout]]:
    for name in _own_parts(fake):
        part, place = getattr(fake, name), place_of_part(type(fake), source, name)
        yield place, layout_of(part)
        yield from _layouts_of_parts(place, part)


@final
class Inputs:
    """The inputs by source. Invariant: a source has one entry; entries are in the order of their first request."""

    def __init__(self) -> None:
        self.entries: dict[Source, Input] = {}  # to be read only
        self._dropped: dict[Source, object] = {}  # the examples of entries that were dropped again
        self.ever: list[Input] = []  # with those that were dropped again
        self.versions: dict[Source, int] = {}  # of their fakes at first
        self.memories: set[int] = set()  # the storages of their fakes
        self.inference: set[int] = set()  # the storages of those made in inference mode
        self._sharing: dict[int, set[int]] = {}  # the storages of fakes, by that of the existing tensors
        self._places: dict[int, int] = {}  # the storage of an existing tensor, by that of its fake
        # the fakes of those that were computed before the graph, with what stands for that computation
        self.computed: list[tuple[Node, torch.Tensor]] = []

    def find(self, source: Source) -> Input | None:
        """The entry of a source, if there is one."""
        return self.entries.get(source)

    def add(self, entry: Input) -> None:
        """Add an entry; the source must not have one."""
        # Sources are hashed by code in Python, so each look-up counts.
        held = self.entries.setdefault(entry.source, entry)
        assert held is entry, entry.source
        fake = entry.example
        if isinstance(fake, torch.Tensor):
            memory = storage_of(fake)
            self.memories.add(memory)
            if type(entry.value) in PLAIN_TENSORS and fake.layout is torch.strided:
                assert isinstance(entry.value, torch.Tensor)
                place = entry.value.untyped_storage()._cdata
                self._places[memory] = place
                self._sharing.setdefault(place, set()).add(memory)
            if fake.is_inference():
                self.inference.add(memory)
            # The first one counts: an input that was rolled back and comes again has its old fake.
            else:
                known = len(self.versions)
                self.versions.setdefault(entry.source, fake._version)
                if fake.grad_fn is not None and len(self.versions) > known:
                    self.computed.append((fake.grad_fn, fake))
        self.ever.append(entry)

    def share_memory(self, fake: torch.Tensor) -> bool:
        """Whether this is the fake of an input that may share memory with another one, which their fakes do not."""
        memory = storage_of(fake)
        if memory not in self.memories:
            return False
        place = self._places.get(memory)
        return place is None or len(self._sharing[place]) > 1

    def recall(self, source: Source) -> object:
        """The example a source had before, or None: an input that was rolled back gets it again."""
        return self._dropped.get(source) if self._dropped else None

    def drop_nodes(self, nodes: set[fx.Node]) -> None:
        """Forget the entries of these placeholders."""
        kept: dict[Source, Input] = {}
        for source, entry in self.entries.items():
            if entry.node in nodes:
                self._dropped[source] = entry.example
            else:
                kept[source] = entry
        self.entries = kept

    def of(self, graph: fx.Graph) -> list[Input]:
        """The inputs of a graph, in its order."""
        return self.of_nodes(graph.find_nodes(op="placeholder"))

    def of_nodes(self, nodes: Iterable[fx.Node]) -> list[Input]:
        """The entries of these placeholders, in their order."""
        entries = self.by_node()
        return [entries[node] for node in nodes]

    def by_node(self) -> dict[fx.Node, Input]:
        """The entries by their placeholders."""
        return {entry.node: entry for entry in self.entries.values()}

    def __iter__(self) -> Iterator[Input]:
        return iter(self.entries.values())

    def __len__(self) -> int:
        return len(self.entries)


def find_written_inputs(used: Sequence[Input], versions: Mapping[Source, int]) -> tuple[Source, ...]:
    """Inputs whose content or metadata a recorded operation changed, directly or through a tensor that shares their
    memory: the version counter of their fake differs from its first value."""
    return tuple(
        entry.source
        for entry in used
        if isinstance(entry.example, torch.Tensor)
        and not entry.example.is_inference()
        and entry.example._version != versions.get(entry.source)
    )


def for_backend(entry: Input, context: torch._guards.TracingContext) -> object:
    """The example input that a backend gets: a real tensor, a symbolic number.

    One of a subclass without `__torch_dispatch__` is given as a plain tensor over the same memory, since the trace has asked
    the subclass. It takes over the subclass tensor's item of `tensor_to_context`, which says how its sizes are treated.
    """
    value = entry.value
    if type(value) in PLAIN_TENSORS:
        return value
    if not isinstance(value, torch.Tensor):
        return entry.example
    if not needs_plain_form(type(value)):
        return value
    with torch._C.DisableTorchFunction():
        # `data` leaves the history behind, and by itself requires no gradient.
        plain = value.data.requires_grad_(value.requires_grad)
    if value in context.tensor_to_context:
        context.tensor_to_context[plain] = context.tensor_to_context[value]
    return plain


def needs_plain_form(cls: type) -> bool:
    """Whether this is a class of tensors in Python that overrides no operation of torch's dispatcher."""
    disabled = torch._C._disabled_torch_dispatch_impl
    return is_subclass(cls) and getattr(cls, "__torch_dispatch__", None) is disabled


def replaces_operations(cls: type) -> bool:
    """Whether a class of tensors has methods or fields of its own in place of those of torch, so that `x.sin()` or `x[0]` in a
    graph would call them once more: the trace has done so."""
    order = resolution_order(cls)
    before = order[: order.index(torch.Tensor)]
    return any(not _OPERATIONS.isdisjoint(type_dict(one)) for one in before)


def is_wrapper(value: object) -> bool:
    """Whether a tensor says by `__tensor_flatten__` which tensors it wraps."""
    return bool(is_traceable_wrapper_subclass(value))


_VALUES: Final = ("_values",)


def is_jagged(value: torch.Tensor) -> bool:
    """Whether it is torch's nested tensor with the layout `torch.jagged`: a wrapper whose class is a part of torch."""
    return value.layout is torch.jagged


def has_known_layout(value: torch.Tensor) -> bool:
    """Whether a trace can follow tensors of this layout: strided ones that are neither nested nor quantised, and jagged ones."""
    return is_jagged(value) or not (
        value.layout is not torch.strided or value.is_quantized or value.is_nested
    )


def parts_of(value: torch.Tensor) -> tuple[str, ...]:
    """The names of the tensors that a wrapper holds; none for other tensors."""
    if type(value) in PLAIN_TENSORS:
        return ()
    flatten = getattr(value, "__tensor_flatten__", None)
    if flatten is None or not is_wrapper(value):
        return ()
    # Other things may be among them, such as a mesh of processes.
    return tuple(name for name in flatten()[0] if isinstance(getattr(value, name), torch.Tensor))


def place_of_part(cls: type, wrapper: Source, name: str) -> Source:
    """Where a wrapper of this class holds something: in a slot of its class, or in its dictionary. Reading it runs no code."""
    is_slot = isinstance(static_lookup(cls, name), MemberDescriptorType)
    return Attribute(wrapper, name) if is_slot else InstanceItem(wrapper, name)


def memories_of(source: Source, value: torch.Tensor) -> Iterator[tuple[Source, torch.Tensor]]:
    """The tensor, or those in a wrapper, that have memory, with where they are read."""
    parts = parts_of(value)
    for name in parts:
        yield from memories_of(place_of_part(type(value), source, name), getattr(value, name))
    if not parts and value.layout is torch.strided:
        yield source, value


def _own_parts(value: torch.Tensor) -> tuple[str, ...]:
    """The names of the tensors that no other one shares. Those that say where the components of jagged ones are may be shared: they are
    inputs by themselves, to which no operation writes."""
    return _VALUES if is_jagged(value) else parts_of(value)


def with_memory(value: torch.Tensor) -> Iterator[torch.Tensor]:
    """The tensor, or those in a wrapper, if it has a storage."""
    parts = _own_parts(value)
    for name in parts:
        yield from with_memory(getattr(value, name))
    if not parts and value.layout is torch.strided:
        yield value


def memories(value: torch.Tensor) -> Iterator[int]:
    """The identities of the storages of a tensor, or of those in a wrapper."""
    for part in with_memory(value):
        yield part.untyped_storage()._cdata


def refuse_without_fake(value: torch.Tensor, source: Source, reliance: Reliance) -> None:
    """Raise GraphBreak for a leaf made in inference mode: AOTAutograd can make no fake of it, and an ordinary tensor in its
    place would have views with a history, where its own have none; and for a view that was given other data and requires a gradient,
    whose history goes on being that of a part of its base."""
    if type(value) is torch.Tensor and value.requires_grad and is_former_view(value):
        raise GraphBreak(
            FAKE_INPUT, f"{source.text()}, a view that was given other data and requires a gradient"
        )
    if value.requires_grad and value.is_inference() and not reliance.ask():
        said = "which requires a gradient and was made in inference mode"
        raise GraphBreak(BACKEND_LIMIT, f"{source.text()}, {said}")


def check_wrappers(known: Iterable[Input], value: torch.Tensor, name: str, reliance: Reliance) -> None:
    """Raise GraphBreak where a wrapper shares memory with another input: torch knows of no aliasing within them. AOTAutograd makes
    a result over the memory of a wrapper as if the tensors in it began with their storages, so one in which some do not is left out."""
    wraps = bool(parts_of(value))
    if wraps and any(part.storage_offset() != 0 for part in with_memory(value)) and not reliance.ask():
        raise GraphBreak(BACKEND_LIMIT, f"{name}, which wraps a part of another tensor's memory")
    own = set(memories(value))
    for entry in known:
        other = entry.value
        if (
            isinstance(other, torch.Tensor)
            and (wraps or parts_of(other))
            and not own.isdisjoint(memories(other))
        ):
            raise GraphBreak(UNSUPPORTED_SUBCLASS, f"{name} shares memory with {entry.source.text()}")


def is_subclass(cls: type) -> bool:
    """Whether this is a class of tensors other than `torch.Tensor` and `Parameter`."""
    return issubclass(cls, torch.Tensor) and cls not in PLAIN_TENSORS


def let_go(used: Sequence[Input]) -> None:
    """Take the caller's objects out of the graph, which lives as long as the compiled function (ADR 0014)."""
    for entry in used:
        # The example of a generator is the object itself.
        if not isinstance(entry.example, torch.Tensor) and not is_symbolic(entry.example):
            entry.node.meta[EXAMPLE] = None
