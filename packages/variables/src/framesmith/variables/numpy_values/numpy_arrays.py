"""Arrays of numpy, and numpy's scalars that are computed in the graph: a tensor of the graph, seen as numpy shows it.

An existing array is read as a table of constants as long as single numbers are asked for; anything else makes its memory
an input of the graph. What is done with arrays is in `array_calls`.
"""

import operator
from collections.abc import Callable, Iterator
from typing import Final, final

import torch

from framesmith.graph import GraphBreak
from framesmith.guards import Source
from framesmith.guards.kinds import TypeIs
from framesmith.guards.sources import Attribute, CallResult, Item
from framesmith.variables.builtin_types.tuples import TupleTracker
from framesmith.variables.core import (
    Arguments,
    Constant,
    Keywords,
    PendingCall,
    TraceContext,
    Tracker,
    Writer,
    is_constant_type,
    raise_observed,
)
from framesmith.variables.core.registry import Table
from framesmith.variables.core.rows import Rows
from framesmith.variables.graph_nodes.results import call_node, record, wrap_result
from framesmith.variables.numpy_values.array_nodes import (
    NUMPY_CALL,
    as_read_only,
    dtype_of,
    make_example_array,
    numpy,
    tensor_over,
)
from framesmith.variables.objects.item_iterators import ItemIterator
from framesmith.variables.operations.binary import FUNCTIONS, INPLACE_FUNCTIONS
from framesmith.variables.operations.compare import FUNCTIONS as COMPARISONS
from framesmith.variables.symbolic_numbers.changing_scalars import ChangingScalar
from framesmith.variables.tensors.number_operands import as_number_tensor
from framesmith.variables.tensors.tensors import TensorTracker

ROWS: Final = Rows()

ArrayCall = Callable[[TraceContext, str, object, Arguments, Keywords], Tracker]
ARRAY_CALLS: Final = Table[None, ArrayCall]("calls on arrays")
"""What calls an operator, a method or an attribute of arrays (`array_calls`)."""
_NUMBERS: Final = ("__float__", "__int__", "__index__", "__complex__")
_OF_TENSORS: Final = ("item", "tolist")
_METHODS: Final = frozenset(
    {
        "all", "any", "argmax", "argmin", "astype", "clip", "conj", "conjugate", "copy", "cumprod", "cumsum", "diagonal", "dot",
        "fill", "flatten", "item", "max", "mean", "min", "nonzero", "prod", "ptp", "ravel", "repeat", "reshape", "round", "sort",
        "squeeze", "std", "sum", "swapaxes", "take", "tolist", "trace", "transpose", "var",
    }
)  # fmt: skip
_COMPUTED: Final = ("T", "real", "imag", "mT")
_FIXED: Final = ("ndim", "itemsize", "size")


@final
class ArrayTracker(Tracker):
    """An array, or a computed scalar (`kind`). Invariant: `like` is an example array with the dtype, sizes and layout of the value.

    `value` is the real array of an existing one. Every number of it that is known while tracing is guarded.
    """

    def __init__(
        self,
        cls: type,
        tensor: TensorTracker | None,
        like: object = None,
        value: object = None,
        source: Source | None = None,
        *,
        is_over_input: bool = False,
    ) -> None:
        self.is_over_input = is_over_input or value is not None  # its memory is that of an existing array
        self.cls = cls
        self.value = value
        self.source = source
        self._tensor = tensor
        self._like = like

    @property
    def python_type(self) -> type:
        """`numpy.ndarray`, or the class of the scalar."""
        return self.cls

    @property
    def _real(self) -> object:
        """The array with the numbers that are read while tracing."""
        return self._like if self.is_known else self.value

    @property
    def is_scalar(self) -> bool:
        """Whether it is a scalar of numpy, which is immutable."""
        return numpy is None or self.cls is not numpy.ndarray

    @property
    def is_read_only(self) -> bool:
        """Whether numpy made it such that it cannot be written to, as `broadcast_to` and `diagonal` do."""
        return not (self.is_scalar or self._like is None or getattr(self._like, "flags").writeable)  # noqa: B009

    @property
    def is_known(self) -> bool:
        """Whether all numbers of a new array are known: they are those of the example."""
        return self._tensor is None and self.source is None

    def tensor(self, tx: TraceContext) -> TensorTracker:
        """The tensor over the memory of the array; for an existing one an input of the graph."""
        if self._tensor is None and self.source is None:
            given: dict[str, object] = {"dtype": dtype_of(self._like), "device": torch.device("cpu")}
            if getattr(self._like, "size"):  # noqa: B009  # numpy has no types here
                # As a list of numbers: a node holds no array.
                node = call_node(tx, torch.tensor, (getattr(self._like, "tolist")(),), given)  # noqa: B009
            else:
                # The list of an empty array does not tell all sizes: `zeros((0, 3))` gives `[]`.
                node = call_node(tx, torch.zeros, (getattr(self._like, "shape"),), given)  # noqa: B009
            found = wrap_result(tx, node)
            assert isinstance(found, TensorTracker)
            self._tensor = found
        if self._tensor is None:
            assert self.source is not None
            try:
                with tx.graph.pause_recording():
                    memory = tensor_over(self.value)
            except (TypeError, ValueError) as error:
                raise GraphBreak(NUMPY_CALL, f"{self.describe()}, whose memory torch cannot take") from error
            # The source makes a tensor over the memory in each call; guards on its metadata follow from wrapping it.
            found = tx.wrap(memory, CallResult(self.source, tensor_over)).realize()
            assert isinstance(found, TensorTracker)
            self._tensor = found
        return self._tensor

    def like(self, tx: TraceContext) -> object:
        """The example array."""
        if self._like is None:
            self._like = make_example_array(self.tensor(tx).fake)
        return self._like

    def _call(self, tx: TraceContext, form: str, what: object, *args: Tracker) -> Tracker:
        return tx.registry.get_single(ARRAY_CALLS)(tx, form, what, (self, *args), {})

    # -- attributes ----------------------------------------------------------------------------------
    def begin_attribute(self, tx: TraceContext, name: str) -> Tracker:
        """Sizes, dtype, views and methods; others break the graph."""
        if numpy is None or not hasattr(numpy.ndarray, name):
            shown = "numpy.ndarray" if not self.is_scalar else f"numpy.{self.cls.__name__}"
            return raise_observed(tx, AttributeError, f"'{shown}' object has no attribute '{name}'")
        # An array of strings or objects has no tensor, but sizes.
        if name in ("shape", "size", "ndim") and self._tensor is None and not self._has_memory(tx):
            return self._read(tx, name)
        if name == "shape":
            return TupleTracker(list(self._sizes(tx)), None, tuple)
        if name == "size" and not self.is_known:
            return self.tensor(tx).metadata(tx, "numel")
        if name in _FIXED:
            return Constant(getattr(self.like(tx), name))
        if name == "dtype":
            return Constant(getattr(self.like(tx), "dtype"))  # noqa: B009  # numpy has no types here
        if name in _COMPUTED:
            return self._call(tx, "attribute", name)
        if name in _METHODS or name in _NUMBERS:
            return ArrayMethod(self, name)
        return self.unsupported(f"reading attribute {name!r}")

    def _has_memory(self, tx: TraceContext) -> bool:
        """Whether torch can take the memory of an existing array."""
        try:
            with tx.graph.pause_recording():
                return self.source is None or tensor_over(self.value) is not None
        except (TypeError, ValueError):
            return False

    def _read(self, tx: TraceContext, name: str) -> Tracker:
        assert self.source is not None
        return tx.wrap(getattr(self.value, name), Attribute(self.source, name))

    def _sizes(self, tx: TraceContext) -> Iterator[Tracker]:
        if self.is_known:
            yield from (Constant(size) for size in getattr(self._like, "shape"))  # noqa: B009
            return
        shape = self.tensor(tx).attribute(tx, "shape")
        assert isinstance(shape, TupleTracker)
        yield from shape.items

    # -- items ---------------------------------------------------------------------------------------
    def length(self, tx: TraceContext) -> Tracker:
        """`len(array)`: the first size. It makes no input of an array that may be a table of constants."""
        if self._tensor is None and self.source is not None and self._rank():
            return self._read(tx, "shape").realize().subscript(tx, Constant(0))
        if not self.tensor(tx).fake.dim():
            return self.unsupported("taking its length")
        return next(self._sizes(tx))

    def subscript(self, tx: TraceContext, key: Tracker) -> Tracker:
        """A single number of an existing array is a constant, guarded by its value; all else is computed."""
        key = key.realize()
        index = key.as_python_constant() if key.is_python_constant() else None
        # Once the memory is in the graph, only the graph knows its numbers. That of an existing array may be in it by way of
        # another tensor or array, so after any write the graph reads them.
        is_read_now = self._tensor is None and (self.source is None or not tx.graph.has_changes)
        found = self._number(index) if is_read_now else None
        if found is not None and is_constant_type(tx.registry, type(found)):
            return Constant(found) if self.source is None else tx.wrap(found, Item(self.source, index))
        return self._call(tx, "operator", operator.getitem, key)

    def set_subscript(self, tx: TraceContext, key: Tracker, value: Tracker) -> None:
        """`array[key] = value`."""
        self._call(tx, "operator", operator.setitem, key, value)

    def iterate(self, tx: TraceContext) -> Tracker:
        """The items along the first dimension, each read when it is asked for: the program may write to the array meanwhile."""
        return ItemIterator(self, self._row_count(tx))

    def _row_count(self, tx: TraceContext) -> int:
        if self.is_known:
            shape = getattr(self._like, "shape")  # noqa: B009
            return int(shape[0]) if shape else int(self.unsupported("iterating over it"))
        if self._tensor is None and self._rank() == 1:
            count = self._read(tx, "shape").realize().subscript(tx, Constant(0)).realize()
            rows = count.as_python_constant() if count.is_python_constant() else None
            if isinstance(rows, int):
                return rows
        if not self.tensor(tx).fake.dim():
            return int(self.unsupported("iterating over it"))
        # Fixes a symbolic size: the number of items is that of the loop.
        return int(self.tensor(tx).fake.shape[0])

    def _rank(self) -> int:
        rank = getattr(self._real, "ndim", 0)
        assert isinstance(rank, int)
        return rank

    def _number(self, index: object) -> object:
        """The number at an index of ints, one for each dimension; None for anything else."""
        parts = index if isinstance(index, tuple) else (index,)
        read = getattr(self._real, "__getitem__", None)
        if len(parts) != self._rank() or not all(type(part) is int for part in parts) or read is None:
            return None
        try:
            return read(index)
        except IndexError:
            return None

    # -- operators -----------------------------------------------------------------------------------
    def binary(self, tx: TraceContext, symbol: str, other: Tracker) -> Tracker | None:
        """`self <symbol> other`."""
        return self._call(tx, "operator", FUNCTIONS[symbol], other)

    def reflected(self, tx: TraceContext, symbol: str, other: Tracker) -> Tracker | None:
        """`other <symbol> self`."""
        return tx.registry.get_single(ARRAY_CALLS)(tx, "operator", FUNCTIONS[symbol], (other, self), {})

    def inplace(self, tx: TraceContext, symbol: str, other: Tracker) -> Tracker | None:
        """`self <symbol>= other`; a scalar has none."""
        # Python falls back to `+`, which makes a new scalar.
        return None if self.is_scalar else self._call(tx, "operator", INPLACE_FUNCTIONS[symbol], other)

    def unary(self, tx: TraceContext, symbol: str) -> Tracker:
        """`-self`, `~self`, `+self`."""
        return self._call(tx, "unary", symbol)

    def compare(self, tx: TraceContext, symbol: str, other: Tracker) -> Tracker | None:
        """`self <symbol> other`, element by element."""
        return self._call(tx, "operator", COMPARISONS[symbol], other)

    def truth(self, tx: TraceContext) -> bool | Tracker:
        """That of the tensor, where there is one element."""
        tensor = self.tensor(tx)
        return tensor if not tensor.fake.dim() else bool(self.unsupported("taking its truth value"))

    # -- after the graph -----------------------------------------------------------------------------
    def children(self) -> Iterator[Tracker]:
        """The tensor."""
        if self._tensor is not None and self.source is None:
            yield self._tensor

    def reconstruct(self, writer: Writer) -> str:
        """The tensor of the graph as an array, or as a scalar."""
        if self._tensor is None:
            # The constant is shared by all calls, and the program may write to what it gets.
            return f"{writer.constant(self._like, 'array')}.copy()"
        text = f"{writer.value(self._tensor)}.numpy()"
        if self.is_read_only:
            return f"{writer.constant(as_read_only, 'as_read_only')}({text})"
        # A 0-d array subscripted by an empty tuple gives the scalar.
        return f"{text}[()]" if self.is_scalar else text

    def describe(self) -> str:
        """`ndarray (a)`, for messages."""
        return f"{self.cls.__name__} ({self.source.text()})" if self.source else self.cls.__name__


@final
class ArrayMethod(Tracker):
    """`array.name`, a method in C."""

    def __init__(self, array: ArrayTracker, name: str) -> None:
        self.array = array
        self.name = name

    @property
    def python_type(self) -> type:
        """A builtin method."""
        return type([].append)

    def begin_call(self, tx: TraceContext, args: Arguments, kwargs: Keywords) -> Tracker | PendingCall:
        """A method of the tensor where a Python number comes out, else what numpy does."""
        if self.name in _NUMBERS:
            # numpy's scalars and 0-d arrays convert as the tensor does; others warn or raise, depending on the version.
            if getattr(self.array.like(tx), "ndim"):  # noqa: B009
                raise GraphBreak(NUMPY_CALL, f"ndarray.{self.name}() of an array with dimensions")
            return self.array.tensor(tx).special_attribute(tx, self.name).begin_call(tx, args, kwargs)
        if self.name in _OF_TENSORS and not args and not kwargs:
            return self.array.tensor(tx).attribute(tx, self.name).begin_call(tx, args, kwargs)
        return tx.registry.get_single(ARRAY_CALLS)(tx, "method", self.name, (self.array, *args), kwargs)

    def truth(self, tx: TraceContext) -> bool:
        """A method is true."""
        return True

    def children(self) -> Iterator[Tracker]:
        """The array."""
        yield self.array

    def reconstruct(self, writer: Writer) -> str:
        """The bound method, read from the array."""
        return f"{writer.value(self.array)}.{self.name}"


def as_scalar_array(tx: TraceContext, operand: Tracker) -> Tracker:
    """A scalar of numpy beside arrays as a tensor of its type, which decides about that of the result, as that of a number of Python does
    not. Anything else as it is."""
    operand = operand.realize()
    if isinstance(operand, Constant) and numpy is not None and isinstance(operand.value, numpy.generic):
        return ArrayTracker(type(operand.value), None, operand.value) if dtype_of(operand.value) else operand
    if not isinstance(operand, ChangingScalar) or dtype_of(operand.value) is None:
        return operand
    kind = dtype_of(operand.value)
    number = as_number_tensor(tx, operand.number)
    if not isinstance(number, TensorTracker):
        wide = torch.float64 if isinstance(operand.item, float) else torch.int64
        number = record(tx, torch.scalar_tensor, (number,), {"dtype": Constant(wide)})
    tensor = record(tx, "to", (number, Constant(kind)))
    assert isinstance(tensor, TensorTracker)
    return ArrayTracker(operand.python_type, tensor, operand.value)


def _install() -> None:
    if numpy is None:
        return

    @ROWS.wrap(numpy.ndarray)
    def wrap_array(tx: TraceContext, value: object, source: Source) -> Tracker:
        """An existing array, guarded by type; its numbers are guarded when they are read, its memory when it is used."""
        tx.guard(source, TypeIs(type(value)))
        return ArrayTracker(type(value), None, None, value, source)


_install()
