"""The tracker of a tensor whose class derives from `torch.Tensor` in Python, and has no `__torch_dispatch__`.

It is an instance of its class, with attributes and methods as any other one, around a tensor of the graph. Operators and
fields of C code ask its `__torch_function__`, where torch would; how, is in `subclasses.dispatch`. Existing ones are wrapped in
`subclasses.subclass_inputs`.
"""

import operator
from collections.abc import Callable, Hashable, Iterator
from types import MemberDescriptorType
from typing import Final, final

import torch

from framesmith.graph import GraphBreak
from framesmith.graph.breaks.break_kinds import ATTRIBUTE_STORE, DATA_DEPENDENT_BRANCH, UNSUPPORTED_SUBCLASS
from framesmith.graph.inputs.inputs import parts_of
from framesmith.guards import Source
from framesmith.guards.class_lookup import MISSING, class_name, overrides, static_lookup
from framesmith.guards.words import a_type
from framesmith.variables.core import (
    PendingCall,
    TraceContext,
    Tracker,
    Writer,
    from_python,
    is_constant_type,
)
from framesmith.variables.core.base import FieldDescriptor, NativeMethod
from framesmith.variables.core.folding import BUILDERS
from framesmith.variables.core.overrides import NAME, ask_operands, is_overridden, unless_declined
from framesmith.variables.core.rows import Rows
from framesmith.variables.graph_nodes.graph_values import ARGUMENTS
from framesmith.variables.graph_nodes.results import call_node, wrap_result
from framesmith.variables.objects.instance_writing import write_attributes
from framesmith.variables.objects.instances import InstanceTracker
from framesmith.variables.objects.lookup import find
from framesmith.variables.operations.binary import METHODS, UNARY_METHODS
from framesmith.variables.operations.compare import METHODS as COMPARE_METHODS
from framesmith.variables.tensors.tensors import READERS, WRITERS, TensorTracker
from framesmith.variables.torch_functions.graph_calls import graph_call

ROWS: Final = Rows()

_UNARY: Final[dict[str, Callable[..., object]]] = {"-": operator.neg, "+": operator.pos, "~": operator.invert}
_CLASSES: Final = (torch._C.TensorBase, torch.Tensor)


def refuses(cls: type) -> str | None:
    """Why tensors of a class have no tracker of this kind, or None."""
    if overrides(cls, torch.Tensor, "__class__"):  # torch asks a tensor for it where it makes a fake of one
        return f"{a_type(cls)} with a __class__ of its own"
    if overrides(cls, torch.Tensor, "__getattribute__"):  # torch and the trace read fields of a tensor too
        return f"{a_type(cls)} with a __getattribute__ of its own"
    dispatches = static_lookup(cls, "__torch_dispatch__") is not torch._C._disabled_torch_dispatch_impl
    return a_type(cls) if dispatches and not hasattr(cls, "__tensor_flatten__") else None


def is_convertible(cls: type) -> bool:
    """Whether `as_subclass` makes tensors of the class of plain ones, which a trace can follow."""
    dispatches = static_lookup(cls, "__torch_dispatch__") is not torch._C._disabled_torch_dispatch_impl
    return not dispatches and not issubclass(cls, torch.nn.Parameter | torch.nn.UninitializedBuffer)


def is_of_torch(cls: type, name: str) -> bool:
    """Whether a class inherits this item from torch."""
    return any(name in vars(owner) and static_lookup(cls, name) is vars(owner)[name] for owner in _CLASSES)


def inner_of(tracker: Tracker) -> Tracker:
    """The plain tensor in a tensor of a subclass; any other value itself."""
    return tracker.inner if isinstance(tracker, SubclassTensor) else tracker


@final
class SubclassTensor(InstanceTracker):
    """A tensor of a subclass. Invariant: `inner` is the tensor of the graph; the program never sees it by itself."""

    tells_changes = False

    def __init__(
        self, cls: type, inner: TensorTracker, value: object | None = None, source: Source | None = None
    ) -> None:
        super().__init__(cls, value, source, builtin_part=inner)
        self.inner = inner
        self.parts = parts_of(inner.fake)
        # Attributes with trackers of their own: parts that other wrappers may hold too, and what the program made it of.
        self.shared: dict[str, Tracker] = {}

    def builtin_part_or_self(self, tx: TraceContext) -> Tracker:
        """The tensor itself: C code asks its class."""
        return self

    def _operate(
        self, tx: TraceContext, function: Callable[..., object], *operands: Tracker
    ) -> Tracker | None:
        """The result of asking the operands, which may be NotImplemented; None where no one is asked."""
        operands = tuple(operand.realize() for operand in operands)
        return ask_operands(tx, function, *operands) if is_overridden(tx, operands, {}) else None

    def _own(self, result: Tracker | None) -> Tracker | None:
        return self if result is self.inner else result

    def _has_method(self, name: str) -> bool:
        return not is_of_torch(self.cls, name)

    # -- operators ---------------------------------------------------------------------------------
    def binary(self, tx: TraceContext, symbol: str, other: Tracker) -> Tracker | None:
        """A method of the class, else torch's operator."""
        method = f"__{METHODS[symbol]}__"
        # A method of the class goes first, as CPython calls it; only that of torch asks `__torch_function__`.
        if self._has_method(method):
            return super().binary(tx, symbol, other)
        # torch is asked about the method of `torch.Tensor`, as C code does, whatever operator it stands for.
        asked = self._operate(tx, getattr(torch.Tensor, method), self, other)
        return self.inner.binary(tx, symbol, inner_of(other)) if asked is None else unless_declined(asked)

    def reflected(self, tx: TraceContext, symbol: str, other: Tracker) -> Tracker | None:
        """As `binary`; CPython does not call it between operands of one type."""
        if other.python_type is self.cls:
            return None
        method = f"__r{METHODS[symbol]}__"
        if self._has_method(method):
            return super().reflected(tx, symbol, other)
        asked = self._operate(tx, getattr(torch.Tensor, method), self, other)
        return self.inner.reflected(tx, symbol, inner_of(other)) if asked is None else unless_declined(asked)

    def reflects_first(self, tx: TraceContext, symbol: str, other: Tracker) -> bool:
        """Whether the class overrides the reflected method; a plain tensor has the one of torch."""
        if isinstance(other, TensorTracker):
            return self._has_method(f"__r{METHODS[symbol]}__")
        return super().reflects_first(tx, symbol, other)

    def inplace(self, tx: TraceContext, symbol: str, other: Tracker) -> Tracker | None:
        """As `binary`; `@` has no in-place form."""
        method = f"__i{METHODS[symbol]}__"
        if self._has_method(method):
            return super().inplace(tx, symbol, other)
        # `torch.Tensor` has no `__imatmul__`; CPython falls back to `@`.
        if symbol == "@":
            return None
        asked = self._operate(tx, getattr(torch.Tensor, method), self, other)
        if asked is None:
            return self._own(self.inner.inplace(tx, symbol, inner_of(other)))
        return unless_declined(asked)

    def unary(self, tx: TraceContext, symbol: str) -> Tracker:
        """As `binary`."""
        if self._has_method(UNARY_METHODS[symbol]):
            return super().unary(tx, symbol)
        asked = self._operate(tx, _UNARY[symbol], self)
        return self.inner.unary(tx, symbol) if asked is None else asked

    def compare(self, tx: TraceContext, symbol: str, other: Tracker) -> Tracker | None:
        """As `binary`."""
        if self._has_method(COMPARE_METHODS[symbol]):
            return super().compare(tx, symbol, other)
        asked = self._operate(tx, getattr(torch.Tensor, COMPARE_METHODS[symbol]), self, other)
        return self.inner.compare(tx, symbol, inner_of(other)) if asked is None else unless_declined(asked)

    def subscript(self, tx: TraceContext, key: Tracker) -> Tracker:
        """As `binary`."""
        if self._has_method("__getitem__"):
            return super().subscript(tx, key)
        asked = self._operate(tx, torch.Tensor.__getitem__, self, key)
        return self.inner.subscript(tx, inner_of(key)) if asked is None else asked

    def set_subscript(self, tx: TraceContext, key: Tracker, value: Tracker) -> None:
        """As `binary`."""
        if self._has_method("__setitem__"):
            super().set_subscript(tx, key, value)
        elif self._operate(tx, torch.Tensor.__setitem__, self, key, value) is None:
            self.inner.set_subscript(tx, inner_of(key), inner_of(value))

    def truth(self, tx: TraceContext) -> bool | Tracker:
        """The truth of the tensor, unless the class is asked, which breaks the graph."""
        if self._has_method("__bool__") or is_overridden(tx, (self,), {}):
            raise GraphBreak(DATA_DEPENDENT_BRANCH, f"the truth of {self.describe()}")
        return self.inner.truth(tx)

    def hash_key(self, tx: TraceContext) -> Hashable:
        """It hashes by identity, unless its class defines it."""
        if self._has_method("__hash__") or self._has_method("__eq__"):
            return self.unsupported("hashing it with a __hash__ or __eq__ of its own")
        return ("object", self)

    # -- fields ------------------------------------------------------------------------------------
    def read_field(self, tx: TraceContext, descriptor: FieldDescriptor) -> Tracker:
        """A field of `torch.Tensor`: the class is asked, or the tensor has it. Others are those of the instance."""
        if descriptor.__objclass__ not in _CLASSES:
            return super().read_field(tx, descriptor)
        name = descriptor.__name__
        asked = self._operate(tx, getattr(torch.Tensor, name).__get__, self)
        return self.read_unasked(tx, name) if asked is None else asked

    def read_unasked(self, tx: TraceContext, name: str) -> Tracker:
        """A field of `torch.Tensor` as C code reads it where no class is asked."""
        read = tx.registry[READERS].get(name)
        if read is None:
            return self.unsupported(f"reading attribute {name!r}")
        result = read(tx, self.inner)
        return self if result is self.inner else result

    def store_field(self, tx: TraceContext, descriptor: FieldDescriptor, value: Tracker | None) -> None:
        """A field of `torch.Tensor`, by its row where no class is asked."""
        if descriptor.__objclass__ not in _CLASSES:
            super().store_field(tx, descriptor, value)
            return
        write = tx.registry[WRITERS].get(descriptor.__name__)
        # A new tensor has no place from which the change could be replayed.
        if write is None or value is None or is_overridden(tx, (self, value), {}) or self.source is None:
            self.unsupported(f"storing attribute {descriptor.__name__!r}")
        else:
            write(tx, self.inner, inner_of(value.realize()))

    def bind_native(self, tx: TraceContext, descriptor: NativeMethod) -> Tracker | None:
        """No method differs from the usual."""
        return None

    def begin_generic(self, tx: TraceContext, name: str) -> Tracker | PendingCall:
        """As for any instance; a tensor in a wrapper is read in the graph."""
        if self.parts and name not in self.own.pending and name not in self.own.deleted:
            if name in self.shared:
                return self.shared[name]
            # Inside of the graph the wrapper is one value, and its parts are computed by operations on it.
            if name in self.parts:
                return wrap_result(tx, call_node(tx, getattr, (self.inner.graph_node(tx), name)))
            # What `__tensor_unflatten__` put into the fake of a result is in no tracker; constants can be read off.
            held = MISSING if self.source is not None else self._held_by_fake(name)
            if is_constant_type(tx.registry, type(held)) or type(held) in tx.registry[BUILDERS]:
                return from_python(tx, held)
            if held is not MISSING:
                return self.unsupported(f"reading attribute {name!r}, which torch computed")
        return super().begin_generic(tx, name)

    def _held_by_fake(self, name: str) -> object:
        """What the fake of a new wrapper holds in its dictionary or in a slot."""
        descriptor = static_lookup(self.cls, name)
        if isinstance(descriptor, MemberDescriptorType):
            return descriptor.__get__(self.inner.fake)
        return vars(self.inner.fake).get(name, MISSING)

    def change_generic(self, tx: TraceContext, name: str, value: Tracker | None) -> None:
        """As for any instance; breaks for a wrapper, whose `__torch_dispatch__` reads what it holds while tracing."""
        if self.parts:
            raise GraphBreak(ATTRIBUTE_STORE, f"{self.describe()}.{name}, which wraps other tensors")
        super().change_generic(tx, name, value)

    # -- afterwards --------------------------------------------------------------------------------
    def children(self) -> Iterator[Tracker]:
        """The attributes that the trace stored, and the tensor."""
        yield from self.own.children()
        yield self.inner

    def reconstruct(self, writer: Writer) -> str:
        """The output of the graph as a tensor of the class, with the attributes that the trace stored."""
        if self.parts:
            # The graph gives the wrapper itself: its class came with the fake.
            name = writer.define(self, writer.value(self.inner), "tensor")
            write_attributes(self.own, name, writer)
            return name
        shown = class_name(self.cls)
        make = f"{writer.constant(as_class, 'as_class')}({writer.value(self.inner)}, {writer.constant(self.cls, shown)})"
        name = writer.define(self, make, "tensor")
        write_attributes(self.own, name, writer)
        return name

    def is_restored(self) -> bool:
        """Whether the attributes are what they were; the graph writes to the tensor."""
        return self.own.is_restored()


def as_class(tensor: torch.Tensor, cls: type[torch.Tensor]) -> torch.Tensor:
    """`tensor.as_subclass(cls)` with the tensor's history, whatever the grad mode is now; no mode sees it."""
    with torch._C.DisableTorchFunction(), torch.set_grad_enabled(tensor.requires_grad):
        return tensor.as_subclass(cls)


@ROWS.entry(ARGUMENTS, SubclassTensor)
def node_argument(tx: TraceContext, tracker: Tracker) -> object:
    """The tensor in it, where no class is asked; a call that would ask one must not become a node."""
    assert isinstance(tracker, SubclassTensor)
    if is_overridden(tx, (tracker,), {}):
        raise GraphBreak(UNSUPPORTED_SUBCLASS, f"{tracker.describe()} as an argument of a graph node")
    return tracker.inner.graph_node(tx)


def make_subclass_tensor(
    tx: TraceContext,
    cls: type,
    inner: TensorTracker,
    value: object | None = None,
    source: Source | None = None,
) -> SubclassTensor:
    """The tracker of a tensor of a subclass. From now on calls are looked at; the class's override is guarded."""
    tx.changes.overrides.is_watched = True
    # For its guard.
    find(tx, cls, NAME)
    return SubclassTensor(cls, inner, value, source)


@ROWS.call(torch.Tensor.as_subclass)
def as_subclass(tx: TraceContext, self: Tracker, cls: Tracker) -> Tracker:
    """`x.as_subclass(cls)`: another tensor over the same memory."""
    kind = getattr(cls, "value", None)
    inner = inner_of(self)
    if (
        not isinstance(inner, TensorTracker)
        or not isinstance(kind, type)
        or not issubclass(kind, torch.Tensor)
    ):
        raise GraphBreak(UNSUPPORTED_SUBCLASS, f"as_subclass({cls.describe()})")
    if not is_convertible(kind):
        raise GraphBreak(UNSUPPORTED_SUBCLASS, f"as_subclass({cls.describe()})")
    return convert_tensor(tx, inner, kind)


@ROWS.call(torch.Tensor._make_subclass)
def make_subclass(
    tx: TraceContext, cls: Tracker, data: Tracker, require_grad: Tracker | None = None
) -> Tracker:
    """`torch.Tensor._make_subclass(cls, data)`: a detached tensor of the class over the same memory. A new leaf breaks the graph."""
    kind, inner = getattr(cls, "value", None), inner_of(data)
    is_leaf = require_grad is not None and require_grad.truth(tx) is not False
    if (
        is_leaf
        or not isinstance(inner, TensorTracker)
        or not isinstance(kind, type)
        or not issubclass(kind, torch.Tensor)
        or kind is torch.Tensor
        or not is_convertible(kind)
    ):
        raise GraphBreak(UNSUPPORTED_SUBCLASS, f"_make_subclass({cls.describe()}, {data.describe()})")
    detached = wrap_result(tx, call_node(tx, "detach", (inner.graph_node(tx),)))
    assert isinstance(detached, TensorTracker)
    return make_subclass_tensor(tx, kind, detached)


def convert_tensor(tx: TraceContext, inner: TensorTracker, cls: type) -> Tracker:
    """A tensor of the class, or a plain one, over the memory of a tensor."""
    # The graph has plain tensors only; the class is put on where the tensor leaves the graph.
    alias = graph_call(tx, torch.ops.aten.alias.default, (inner,), {})
    assert isinstance(alias, TensorTracker)
    return alias if cls is torch.Tensor else make_subclass_tensor(tx, cls, alias)
