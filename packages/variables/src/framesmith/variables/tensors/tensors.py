"""The tracker of a tensor: its slots. How each attribute is read is in `tensor_attributes`."""

import operator
from collections.abc import Callable, Hashable, Iterator
from types import FunctionType, GetSetDescriptorType, MethodDescriptorType, WrapperDescriptorType
from typing import Final, final

import torch
from torch import fx
from torch._subclasses.fake_tensor import FakeTensor

from framesmith.graph import GraphBreak, NumbersNeeded
from framesmith.graph.breaks.break_kinds import (
    ATTRIBUTE_STORE,
    DATA_DEPENDENT_OUTPUT,
    FAKE_INPUT,
    TENSOR_INTERNALS,
)
from framesmith.graph.inputs.inputs import has_known_layout
from framesmith.graph.python_numbers import numbers
from framesmith.graph.shapes.dynamic_dims import STATIC_DIMS, DynamicDims
from framesmith.guards import Source
from framesmith.guards.class_lookup import MISSING, class_name, is_data_descriptor, static_lookup
from framesmith.guards.kinds import HasInstanceAttribute
from framesmith.guards.sources import InstanceItem
from framesmith.variables.core import (
    Constant,
    TraceContext,
    Tracker,
    Writer,
    is_constant_type,
    raise_observed,
)
from framesmith.variables.core.builtin_methods import BoundBuiltin
from framesmith.variables.core.overrides import ask_operands, is_overridden, unless_declined
from framesmith.variables.core.registry import Table
from framesmith.variables.core.rows import Rows
from framesmith.variables.core.structure import guard_class_attribute
from framesmith.variables.graph_nodes.graph_values import GraphValue
from framesmith.variables.graph_nodes.replaced_operations import refuse_replaced
from framesmith.variables.graph_nodes.results import (
    RESULTS,
    check_no_mode,
    evaluate,
    record,
    record_node,
    record_once,
    wrap_result,
    wrap_value,
)
from framesmith.variables.operations.binary import FUNCTIONS, INPLACE_FUNCTIONS, METHODS
from framesmith.variables.operations.compare import FUNCTIONS as COMPARISONS
from framesmith.variables.operations.compare import METHODS as COMPARE_METHODS
from framesmith.variables.symbolic_numbers.changing_scalars import as_number
from framesmith.variables.tensors.declined_operands import leaves_operator_to
from framesmith.variables.tensors.number_operands import (
    OPERATORS,
    asks_gradient,
    beside,
    is_changing_float,
)
from framesmith.variables.tensors.subscripts import (
    check_stored,
    index_by_slices,
    parts_of,
    read_index,
    take_view,
    with_index_tensors,
)
from framesmith.variables.tensors.tensor_methods import TensorMethod

ROWS: Final = Rows()

__all__ = [
    "READERS",
    "TRUTH",
    "WRITERS",
    "TensorTracker",
    "tensor_of",
    "wrap_result",
]

Reader = Callable[[TraceContext, "TensorTracker"], Tracker]
AttributeWriter = Callable[[TraceContext, "TensorTracker", Tracker], None]
READERS: Final = Table[str, Reader]("reading attributes of tensors")
"""How an attribute that `torch.Tensor` defines is read."""
WRITERS: Final = Table[str, AttributeWriter]("setting attributes of tensors")
"""How an attribute that `torch.Tensor` defines is set."""
WRAPPER_RESULT: Final = Table[None, Callable[[TraceContext, Tracker], Tracker]]("results of subclasses")
"""Makes the tracker of a result whose class wraps other tensors, of that of the tensor."""
TRUTH: Final = Table[None, Callable[[TraceContext, "TensorTracker"], bool | Tracker]]("truths of tensors")
"""Decides `bool(tensor)` where the number in it is known before the graph runs."""
_UNARY: Final[dict[str, Callable[..., object]]] = {
    "-": operator.neg,
    "~": operator.invert,
    "+": operator.pos,
}
# A right operand with one of these may be taken for a number or an array by torch.


@final
class TensorTracker(GraphValue):
    """A tensor. Invariant: one tracker per fake and trace, so that `is` works on results of in-place operations.

    `value` is the real tensor of an input. `own` holds the stores of the trace into the instance dictionary and
    into attributes that are replayed after the graph (None: deleted).
    """

    tells_changes = True

    def __init__(
        self,
        node: fx.Node,
        fake: torch.Tensor,
        cls: type = torch.Tensor,
        source: Source | None = None,
        value: torch.Tensor | None = None,
        dims: DynamicDims | None = None,
    ) -> None:
        self.node = node
        self.fake = fake
        self.cls = cls
        self.source = source
        self.value = value
        self.dims = dims or STATIC_DIMS
        self.own: dict[str, Tracker | None] = {}

    @property
    def python_type(self) -> type:
        """`torch.Tensor` or `nn.Parameter`."""
        return self.cls

    def graph_node(self, tx: TraceContext) -> fx.Node:
        """The node; an input is requested again, since a roll-back may have dropped it."""
        if self.source is not None and self.value is not None:
            self.node = tx.graph.tensor_input(self.source, self.value, self.dims)
        return self.node

    def output_node(self) -> fx.Node:
        """The node of the tensor."""
        return self.node

    # -- attributes --------------------------------------------------------------------------------
    def begin_attribute(self, tx: TraceContext, name: str) -> Tracker:
        """`self.name` in CPython's order: data descriptors of the class, the instance, other entries of the class."""
        # A program may add attributes to `torch.Tensor`, or to a class of its own.
        guard_class_attribute(tx, self.cls, name)
        stored = static_lookup(self.cls, name)
        if stored is not MISSING and is_data_descriptor(type(stored)):
            if tx.changes.overrides.asks_modes():
                if not isinstance(stored, GetSetDescriptorType):
                    check_no_mode(tx, f"Tensor.{name}")
                return ask_operands(tx, getattr(torch.Tensor, name).__get__, self)
            read = tx.registry[READERS].get(name)
            return read(tx, self) if read is not None else self.unsupported(f"reading attribute {name!r}")
        if name in self.own:
            found = self.own[name]
            return found if found is not None else self._missing(tx, name)
        if self.value is not None and self.source is not None:
            present = name in self.value.__dict__
            tx.guard(self, HasInstanceAttribute(name, present))
            if present:
                return tx.wrap(self.value.__dict__[name], InstanceItem(self.source, name))
        if stored is MISSING:
            return self._missing(tx, name)
        if isinstance(stored, MethodDescriptorType | FunctionType):
            return TensorMethod(self, name, stored)
        if isinstance(stored, WrapperDescriptorType):
            return BoundBuiltin(self, stored)
        if is_constant_type(tx.registry, type(stored)):
            return Constant(stored)
        return self.unsupported(f"reading attribute {name!r}")

    def _missing(self, tx: TraceContext, name: str) -> Tracker:
        raise_observed(tx, AttributeError, f"'{class_name(self.cls)}' object has no attribute '{name}'")

    def set_attribute(self, tx: TraceContext, name: str, value: Tracker) -> None:
        """Set an attribute: by its row if torch defines it, else in the instance dictionary."""
        guard_class_attribute(tx, self.cls, name)
        stored = static_lookup(self.cls, name)
        if stored is not MISSING and is_data_descriptor(type(stored)):
            write = tx.registry[WRITERS].get(name)
            check_no_mode(tx, f"Tensor.{name}")
            if write is None:
                raise GraphBreak(ATTRIBUTE_STORE, f"{self.describe()}.{name} = ...")
            write(tx, self, value)
            return
        tx.changes.note(self)
        self.own[name] = value

    def delete_attribute(self, tx: TraceContext, name: str) -> None:
        """Delete an attribute of the instance dictionary; one that torch defines breaks the graph, but for `grad`, which becomes None."""
        stored = static_lookup(self.cls, name)
        if stored is not MISSING and is_data_descriptor(type(stored)):
            if name == "grad":
                self.set_attribute(tx, name, Constant(None))
                return
            raise GraphBreak(ATTRIBUTE_STORE, f"del {self.describe()}.{name}")
        if not self.has_own(tx, name):
            self._missing(tx, name)
        tx.changes.note(self)
        self.own[name] = None

    def has_own(self, tx: TraceContext, name: str) -> bool:
        """Whether the instance dictionary has the attribute; guarded."""
        if name in self.own:
            return self.own[name] is not None
        if self.value is None:
            return False
        present = name in self.value.__dict__
        tx.guard(self, HasInstanceAttribute(name, present))
        return present

    # -- operators ---------------------------------------------------------------------------------
    def _asked(self, tx: TraceContext, method: str, other: Tracker) -> Tracker | None:
        """The result of `__torch_function__` of a mode or the other operand, which may be NotImplemented; None where none is
        asked."""
        # These override nothing; they are most operands, so the look-up of their class is saved.
        is_plain = isinstance(other, GraphValue | Constant) and not tx.changes.overrides.modes
        if is_plain or not is_overridden(tx, (other,), {}):
            return None
        return ask_operands(tx, getattr(torch.Tensor, method), self, other)

    def binary(self, tx: TraceContext, symbol: str, other: Tracker) -> Tracker | None:
        """A node of the function of `operator`; None (NotImplemented) where torch returns it."""
        # The operand is asked as it is, and unwrapped only where nobody is asked.
        asked, other = self._asked(tx, f"__{METHODS[symbol]}__", other), _unwrap_operand(other)
        if asked is not None or leaves_operator_to(tx, other):
            return unless_declined(asked)
        return record_operator(tx, symbol, self, other)

    def reflected(self, tx: TraceContext, symbol: str, other: Tracker) -> Tracker | None:
        """As `binary`, with the operands in the order of the program."""
        asked, other = self._asked(tx, f"__r{METHODS[symbol]}__", other), _unwrap_operand(other)
        if asked is not None or leaves_operator_to(tx, other):
            return unless_declined(asked)
        return record_operator(tx, symbol, other, self)

    def inplace(self, tx: TraceContext, symbol: str, other: Tracker) -> Tracker | None:
        """A node that changes the tensor, and returns it; None for `@`, which has no in-place form, and for what is a number
        in eager."""
        if symbol == "@" or is_number(tx, self):
            return None
        asked, other = self._asked(tx, f"__i{METHODS[symbol]}__", other), _unwrap_operand(other)
        if asked is not None or leaves_operator_to(tx, other):
            return unless_declined(asked)
        other = beside(tx, self, other) if symbol in OPERATORS else other
        # No exact quotient here: eager too leaves a change in place to torch's kernel.
        return record(tx, INPLACE_FUNCTIONS[symbol], (self, round_number(tx, self, other)))

    def unary(self, tx: TraceContext, symbol: str) -> Tracker:
        """A node of the function of `operator`."""
        if tx.changes.overrides.asks_modes():
            return ask_operands(tx, _UNARY[symbol], self)
        return record(tx, _UNARY[symbol], (self,))

    def compare(self, tx: TraceContext, symbol: str, other: Tracker) -> Tracker | None:
        """A node that compares element by element; None (NotImplemented) where torch returns it."""
        asked, other = self._asked(tx, COMPARE_METHODS[symbol], other), _unwrap_operand(other)
        if asked is not None or leaves_operator_to(tx, other):
            return unless_declined(asked)
        _refuse_beside_number(tx, self, other)
        other = beside(tx, self, other)
        return record(tx, COMPARISONS[symbol], (round_number(tx, other, self), round_number(tx, self, other)))

    def truth(self, tx: TraceContext) -> bool | Tracker:
        """As a rule the tensor itself: its truth is known at run time only."""
        check_no_mode(tx, "Tensor.__bool__")
        return tx.registry.get_single(TRUTH)(tx, self)

    def hash_key(self, tx: TraceContext) -> Hashable:
        """A tensor hashes by identity."""
        # No note of it as a key: one guard keeps all tensors of an entry apart.
        return ("object", self)

    # -- containers --------------------------------------------------------------------------------
    def subscript(self, tx: TraceContext, key: Tracker) -> Tracker:
        """`x[key]`; with a symbolic int in the key, or a tensor that is read as one, see `subscripts`."""
        # torch asks a tensor of a subclass that is the key, as any other operand.
        overrides = tx.changes.overrides
        if (overrides.modes or (key.builtin_part is not None and overrides.is_watched)) and is_overridden(
            tx, (key,), {}
        ):
            return ask_operands(tx, torch.Tensor.__getitem__, self, key)
        key = with_index_tensors(tx, key)
        indexed = index_by_slices(tx, self, key) if tx.graph.use.is_batched else None
        if indexed is not None:
            return indexed
        parts = parts_of(key, self.fake.dim())
        if parts is not None:
            return take_view(tx, self, parts)
        try:
            return wrap_result(tx, record_once(tx, operator.getitem, (self, key), {}))
        except NumbersNeeded as needed:
            number = read_index(tx, key, needed)
        # Once more from the beginning: the number may be symbolic, and is then the index of a `select`.
        return self.subscript(tx, number)

    def set_subscript(self, tx: TraceContext, key: Tracker, value: Tracker) -> None:
        """`x[key] = value`, as `subscript`."""
        if tx.changes.overrides.asks_modes():
            ask_operands(tx, torch.Tensor.__setitem__, self, key, value)
            return
        check_stored(tx, value)
        key = with_index_tensors(tx, key)
        parts = parts_of(key, self.fake.dim(), is_store=True)
        if parts is not None:
            view = take_view(tx, self, parts)
            # The view shares the tensor's memory; `...` also writes to a 0-d view, which takes no other key.
            record_node(tx, operator.setitem, (view, Constant(...), value))
            return
        try:
            record_once(tx, operator.setitem, (self, key, value), {})
            return
        except NumbersNeeded as needed:
            number = read_index(tx, key, needed)
        self.set_subscript(tx, number, value)

    def iterate(self, tx: TraceContext) -> Tracker:
        """`iter(x.unbind(0))`, as in torch; TypeError for a 0-d tensor."""
        check_no_mode(tx, "Tensor.__iter__")
        if self.fake.dim() == 0:
            raise_observed(tx, TypeError, "iteration over a 0-d tensor")
        return record(tx, "unbind", (self, Constant(0))).iterate(tx)

    def length(self, tx: TraceContext) -> Tracker:
        """`len(x)`: the first size; TypeError for a 0-d tensor."""
        check_no_mode(tx, "Tensor.__len__")
        refuse_replaced("__len__")
        if self.fake.dim() == 0:
            raise_observed(tx, TypeError, "len() of a 0-d tensor")
        return self.metadata(tx, "size", 0)

    def contains(self, tx: TraceContext, item: Tracker) -> Tracker:
        """Break the graph: `(item == x).any().item()` is a bool that is known at run time only."""
        raise GraphBreak(DATA_DEPENDENT_OUTPUT, "`in` on a tensor")

    def metadata(self, tx: TraceContext, method: str, *arguments: object, **keywords: object) -> Tracker:
        """The result of a method that reads sizes, strides or types only, computed by the fake tensor without a node."""
        refuse_replaced(method)
        # The claim on the metadata of a tensor leaves the offset out: it is guarded where it is read.
        if method == "storage_offset":
            if tx.graph.use.is_transformed:
                raise GraphBreak(TENSOR_INTERNALS, "the storage offset of a tensor in a transformed function")
            tx.graph.offset_is_read(self.fake.untyped_storage())
        return wrap_value(tx, None, evaluate(method, getattr(self.fake, method), *arguments, **keywords))

    # -- after the graph ---------------------------------------------------------------------------
    def children(self) -> Iterator[Tracker]:
        """The attributes that the trace stored."""
        return (value for value in self.own.values() if value is not None)

    def reconstruct(self, writer: Writer) -> str:
        """The output of the graph, with the attributes that the trace stored; the number in it, where eager has that."""
        expression = super().reconstruct(writer)
        if _may_be_number(self.fake) and numbers.is_number(self.node):
            return f"{expression}.item()"
        if not self.own:
            return expression
        name = writer.define(self, expression, "tensor")
        self._write_attributes(writer, name, existing=False)
        return name

    def replay(self, writer: Writer) -> None:
        """Set and delete the attributes on the existing tensor."""
        assert self.source is not None
        self._write_attributes(writer, writer.load(self.source), existing=True)

    def _write_attributes(self, writer: Writer, place: str, *, existing: bool) -> None:
        for name, value in self.own.items():
            if value is not None:
                writer.statement(
                    f"{writer.constant(setattr, 'setattr')}({place}, {name!r}, {writer.value(value)})"
                )
            # A name that was stored and deleted within the trace is not there.
            elif existing and self.value is not None and name in self.value.__dict__:
                writer.statement(f"{writer.constant(delattr, 'delattr')}({place}, {name!r})")


def _unwrap_operand(operand: Tracker) -> Tracker:
    """The tensor in a tensor of a subclass that is not asked, the number for a scalar of numpy that changes; any other operand itself."""
    part = operand.builtin_part
    return part if isinstance(part, TensorTracker) else as_number(operand)


@ROWS.entry(RESULTS, torch.Tensor)
def tensor_of(tx: TraceContext, node: fx.Node | None, value: object) -> Tracker:
    """The tracker of a fake tensor: that of the first node with this result, unless a roll-back dropped the node."""
    assert isinstance(value, torch.Tensor)
    assert node is not None
    if not has_known_layout(value):
        raise GraphBreak(FAKE_INPUT, f"{node.target} gives a tensor of layout {value.layout}")
    known = tx.changes.results.get(id(value))
    # The tracker of a tensor of a subclass has the one with the node inside.
    inner = known.builtin_part if known is not None and known.builtin_part is not None else known
    if isinstance(inner, TensorTracker) and (inner.source is not None or not inner.node._erased):
        assert known is not None
        return known
    tracker: Tracker = TensorTracker(node, value)
    # A fake of a class with `__tensor_flatten__` is of that class, around fakes.
    if not isinstance(value, FakeTensor):
        tracker = tx.registry.get_single(WRAPPER_RESULT)(tx, tracker)
    tx.changes.results[id(value)] = tracker
    return tracker


_REAL: Final = (int, float, bool)
_EXACT: Final = {"**": numbers.power, "/": numbers.divide}


def is_number(tx: TraceContext, value: Tracker) -> bool:
    """Whether eager has a number where the trace has this tensor (see `framesmith.graph.python_numbers.numbers`)."""
    return (
        isinstance(value, TensorTracker)
        and _may_be_number(value.fake)
        and numbers.is_number(value.graph_node(tx))
    )


def _may_be_number(fake: torch.Tensor) -> bool:
    # Asked first, since the other question walks over the graph.
    return fake.dtype is torch.float64 and not fake.dim()


def _are_numbers(tx: TraceContext, left: Tracker, right: Tracker) -> bool:
    found = [is_number(tx, one) for one in (left, right)]
    return any(found) and all(
        one or side.python_type in _REAL for one, side in zip(found, (left, right), strict=True)
    )


def round_number(tx: TraceContext, tensor: Tracker, other: Tracker) -> Tracker:
    """The second operand of an operator. One that is a number in eager, where the first is a 0-d tensor, as torch rounds it:
    two such tensors would be computed in the wider type. For types that torch rounds in two steps, operations get
    the number, or break the graph."""
    if not isinstance(tensor, TensorTracker) or tensor.fake.dim() or tensor.fake.dtype is torch.float64:
        return other
    if not is_number(tx, other):
        return other
    if tensor.fake.dtype is not torch.float32:
        if tx.graph.runs_as_captured:
            return other  # the operation gets the number itself (`graph.number_calls`)
        return tensor.unsupported("an operator with a number that an optimizer read from a tensor")
    return record(tx, "to", (other, Constant(torch.float32)))


def _is_tensor_beside_number(tx: TraceContext, tensor: Tracker, number: Tracker) -> bool:
    return (
        isinstance(tensor, TensorTracker)
        and tensor.fake.dtype.is_floating_point
        and is_number(tx, number)
        and not is_number(tx, tensor)
    )


def _refuse_beside_number(tx: TraceContext, left: Tracker, right: Tracker) -> None:
    """Break the graph where Python computes a number and something whose operators are neither those of Python's real
    numbers nor of tensors: numpy's scalars round in their own precision, and a complex number would become a tensor."""
    for one, other in ((left, right), (right, left)):
        if not isinstance(other, TensorTracker) and other.python_type not in _REAL and is_number(tx, one):
            other.unsupported("an operator with a number that an optimizer read from a tensor")


def record_operator(tx: TraceContext, symbol: str, left: Tracker, right: Tracker) -> Tracker:
    """A node of the function of `operator`; powers and quotients of numbers are computed as Python does."""
    _refuse_beside_number(tx, left, right)
    if is_changing_float(tx, left) and isinstance(right, TensorTracker) and not is_number(tx, right):
        if symbol == "/":
            return record_operator(tx, "*", record(tx, "reciprocal", (right,)), left)
        if symbol in ("*", "+"):
            left, right = right, left  # as the reflected operators of tensors do
    if symbol in OPERATORS:
        left, right = beside(tx, right, left), beside(tx, left, right)
    elif symbol == "**" and not asks_gradient([right]):
        # an exponent is read in double precision, as a base is by the gradient
        left = beside(tx, right, left)
    if symbol == "**" and _is_tensor_beside_number(tx, left, right):
        return record(tx, numbers.raise_tensor, (left, right))
    if symbol == "/" and _is_tensor_beside_number(tx, right, left):
        # as the operator of tensors does with a number
        return record_operator(tx, "*", record(tx, "reciprocal", (right,)), left)
    left, right = round_number(tx, right, left), round_number(tx, left, right)
    exact = _EXACT.get(symbol)
    if exact is not None and _are_numbers(tx, left, right):
        return record(tx, exact, (left, right))
    return record(tx, FUNCTIONS[symbol], (left, right))
