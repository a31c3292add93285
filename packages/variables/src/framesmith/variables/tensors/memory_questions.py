"""What a program asks about the memory of a tensor, where the fake has the same answer: `_version`, and whether two `data_ptr()` are equal.

Which memory a tensor has is known, where it is not. How often it was written to is known where each operation is one kernel:
what torch composes of others, it may compose in another way for fakes (`one_hot`).
"""

import operator
from collections.abc import Iterator
from types import BuiltinFunctionType
from typing import Final, final

import torch
from torch import fx

from framesmith.graph import GraphBreak
from framesmith.graph.backends.captured_only import HISTORY_ASKED
from framesmith.graph.breaks.break_kinds import TENSOR_INTERNALS
from framesmith.graph.fakes.execution import storage_of
from framesmith.graph.nodes.arguments import example, tensors_in
from framesmith.graph.options import is_fixed
from framesmith.guards import Guard, Reason
from framesmith.guards.kinds import SameStorage
from framesmith.guards.plain_tensors import PLAIN_TENSORS, read_unasked
from framesmith.guards.sources import Attribute
from framesmith.variables.core import Constant, TraceContext, Tracker, Writer
from framesmith.variables.core.rows import Rows
from framesmith.variables.operations.binary import binary
from framesmith.variables.tensors.tensors import READERS, TensorTracker

ROWS: Final = Rows()
_COMPARED: Final = Reason("the program compared addresses in their memory", None)


@ROWS.entry(READERS, "_version")
def read_version(tx: TraceContext, tensor: TensorTracker) -> Tracker:
    """`_version`: of an existing tensor a number that is read when the call begins, and how often the graph has written to it."""
    fake = tensor.fake
    tx.graph.writes.are_counted = True
    writes = tx.graph.writes.of(fake)
    if writes and tx.graph.writes.has_other_names(fake):
        raise GraphBreak(TENSOR_INTERNALS, "Tensor._version of memory that another argument has as well")
    if writes is None or fake.is_inference() or tx.graph.use.is_repeated or tx.graph.use.is_transformed:
        raise GraphBreak(TENSOR_INTERNALS, "Tensor._version")
    # a new parameter is filled by the graph, which eager does not do
    if not all(map(_is_one_write, writes)) or not set(writes).isdisjoint(tx.changes.moved):
        _ask(tx, tensor)
        raise GraphBreak(TENSOR_INTERNALS, "Tensor._version behind an operation that is composed of others")
    if tensor.value is None:
        if tx.graph.writes.is_of_input(fake) or not all(map(_is_one_kernel, _makers(tx, fake))):
            _ask(tx, tensor)
            raise GraphBreak(TENSOR_INTERNALS, "Tensor._version of what is composed of other operations")
        return Constant(fake._version)
    if type(tensor.value) not in PLAIN_TENSORS or tensor.source is None:
        raise GraphBreak(TENSOR_INTERNALS, "Tensor._version of a subclass")
    tensor.graph_node(tx)
    begun = tx.wrap(read_unasked(tensor.value, "_version"), Attribute(tensor.source, "_version"))
    return binary(tx, "+", begun, Constant(fake._version - tx.graph.writes.first_version(tensor.source)))


def _makers(tx: TraceContext, fake: torch.Tensor) -> Iterator[fx.Node]:
    """The operations that made this memory; views of it are none."""
    memory = storage_of(fake)
    for node in tx.graph.graph.nodes:
        given = [example(operand) for operand in node.all_input_nodes]
        if _holds(example(node), memory) and not any(_holds(one, memory) for one in given):
            yield node


def _holds(value: object, memory: int) -> bool:
    return any(storage_of(tensor) == memory for tensor in tensors_in(value))


def _is_one_kernel(node: fx.Node) -> bool:
    """Whether an operation is one of torch's, and not composed of others."""
    if node.target is operator.setitem:
        return True
    if not isinstance(node.target, str | BuiltinFunctionType):
        return False
    name = node.target if isinstance(node.target, str) else node.target.__name__
    # `operator.iadd` is `add_` of a tensor
    if name.startswith("i") and getattr(operator, name, None) is node.target and hasattr(operator, name[1:]):
        name = f"{name[1:]}_"
    packet = getattr(torch.ops.aten, name, None)
    if packet is None:
        return False
    overloads = [
        f"aten::{name}{'' if overload == 'default' else '.' + overload}" for overload in packet.overloads()
    ]
    # some overloads are those of scripts, and are not dispatched
    return not any(
        torch._C._dispatch_has_kernel(one)
        and torch._C._dispatch_has_kernel_for_dispatch_key(one, "CompositeImplicitAutograd")
        for one in overloads
    )


def _is_one_write(node: fx.Node) -> bool:
    """Whether an operation writes to tensors that it is given one by one: fakes do not count what is done to a list of them."""
    listed = [given for given in (*node.args, *node.kwargs.values()) if isinstance(given, list | tuple)]
    held = [one for given in listed for one in given]
    return _is_one_kernel(node) and (
        node.target is operator.setitem or not any(isinstance(one, fx.Node) for one in held)
    )


def _ask(tx: TraceContext, tensor: TensorTracker) -> None:
    """Note that the program asks a result of the graph, which a backend that replaces operations makes by others."""
    if tensor.value is None:
        tensor.graph_node(tx).meta[HISTORY_ASKED] = True


@final
class DataPointer(Tracker):
    """`tensor.data_ptr()`. Invariant: `storage` is what the tensor had then, and still has where it is built."""

    def __init__(self, tensor: TensorTracker) -> None:
        self.tensor = tensor
        # Held, or its identity might become that of another one.
        self.storage = tensor.fake.untyped_storage()
        self.offset = tensor.fake.storage_offset() * tensor.fake.itemsize
        # Without elements it says that its memory is at 0.
        self.is_empty = any(not is_fixed(size) or size == 0 for size in tensor.fake.shape)

    @property
    def python_type(self) -> type:
        """`int`."""
        return int

    def describe(self) -> str:
        """It has no source: its tensor may have."""
        return f"data_ptr() of {self.tensor.describe()}"

    def compare(self, tx: TraceContext, symbol: str, other: Tracker) -> Tracker | None:
        """`==` and `!=` with a pointer into the same memory. Anything else breaks the graph: memory may be used again."""
        if symbol not in ("==", "!=") or not isinstance(other, DataPointer):
            return self.unsupported(f"comparison {symbol}")
        known = is_fixed(self.offset) and is_fixed(other.offset)
        if self.storage._cdata != other.storage._cdata or not known or self.is_empty or other.is_empty:
            return self.unsupported("comparison with another memory")
        # Of one input it is one memory in each call; several need not share theirs in the next one.
        sources = tx.graph.offset_is_read(self.storage)
        for source in sources[1:]:
            tx.guards.add(Guard.relation(SameStorage(sources[0], source), _COMPARED))
        return Constant((self.offset == other.offset) == (symbol == "=="))

    def is_same(self, tx: TraceContext, other: Tracker) -> bool:
        """Two calls need not give the same int object: breaks the graph for another tracker."""
        return self is other or bool(self.unsupported("an identity test"))

    def children(self) -> Iterator[Tracker]:
        """The tensor."""
        yield self.tensor

    def reconstruct(self, writer: Writer) -> str:
        """The pointer at run time."""
        if storage_of(self.tensor.fake) != self.storage._cdata:
            return self.unsupported("building it, as the tensor has got other memory since,")
        return f"{writer.constant(torch.Tensor.data_ptr, 'data_ptr')}({writer.value(self.tensor)})"


@ROWS.call(torch.Tensor.data_ptr)
def data_ptr(tx: TraceContext, self: Tracker, /) -> Tracker:
    """`tensor.data_ptr()`."""
    if not isinstance(self, TensorTracker) or self.cls not in PLAIN_TENSORS or tx.graph.use.is_transformed:
        raise GraphBreak(TENSOR_INTERNALS, "Tensor.data_ptr()")
    return DataPointer(self)
