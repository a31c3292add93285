"""Methods of tensors: those that read metadata, those that break the graph, and one node for all others.

What such a call does is in `torch_functions.graph_calls`.
"""

from collections.abc import Callable
from types import FunctionType, MethodDescriptorType
from typing import Final

import torch

from framesmith.graph import BreakKind, GraphBreak, example
from framesmith.graph.backends.captured_only import HISTORY_ASKED
from framesmith.graph.breaks.break_kinds import (
    BACKEND_LIMIT,
    NATIVE_CALL,
    TENSOR_INTERNALS,
    UNSUPPORTED_ARGUMENT,
)
from framesmith.graph.nodes.arguments import tensors_in
from framesmith.guards.class_lookup import static_lookup
from framesmith.variables.builtin_types.tuples import TupleTracker
from framesmith.variables.callables.slot_rows import slot_set_subscript, slot_subscript
from framesmith.variables.core import Constant, TraceContext, Tracker
from framesmith.variables.core.registry import Priority
from framesmith.variables.core.rows import Rows
from framesmith.variables.objects.classes import ClassTracker
from framesmith.variables.tensors.tensor_attributes import can_change_requires_grad
from framesmith.variables.tensors.tensors import TensorTracker
from framesmith.variables.torch_functions.graph_calls import graph_call, record_function
from framesmith.variables.torch_functions.legacy_constructors import name_of_class

ROWS: Final = Rows()

# The fake tensor computes these. All of their operands are numbers, names or memory formats.
METADATA: Final = (
    "size", "stride", "dim", "ndimension", "numel", "nelement", "element_size", "storage_offset", "is_contiguous",
    "is_floating_point", "is_complex", "is_signed", "is_conj", "is_neg", "dim_order", "__len__",
)  # fmt: skip

# These cannot be a node, or a node would not do the same.
BREAKS: Final[dict[BreakKind, tuple[str, ...]]] = {
    TENSOR_INTERNALS: (
        "numpy", "__array__", "__array_wrap__", "__dlpack__", "__dlpack_device__",
        "const_data_ptr", "storage", "untyped_storage", "_typed_storage", "storage_type", "is_set_to",
        "is_shared", "_use_count", "_is_view", "__reduce__", "__reduce_ex__", "_reduce_ex_internal", "__setstate__",
        "__getstate__", "__sizeof__", "__dir__", "__repr__", "__format__", "_view_func",
        "_view_func_unsafe", "_rev_view_func_unsafe", "_fix_weakref", "is_pinned", "is_coalesced",
    ),
    BACKEND_LIMIT: (
        "set_", "resize_", "resize_as_", "resize", "resize_as", "resize_as_sparse_", "sparse_resize_",
        "sparse_resize_and_clear_", "share_memory_", "module_load", "as_subclass", "record_stream", "apply_",
        "map_", "map2_", "_make_subclass",
    ),
    NATIVE_CALL: ("register_post_accumulate_grad_hook", "reinforce"),
}  # fmt: skip


# Kernels and fakes of torch choose other strides where there are no elements: `outer` of sizes 0 and 1 gives (1, 0) and (1, 1).
_BY_STRIDES: Final = ("stride", "dim_order")


def _is_empty(fake: torch.Tensor) -> bool:
    """Whether a dimension is known to have size 0; a symbolic one is at least 2."""
    return any(type(size) is int and size == 0 for size in fake.shape)


def _register_metadata(name: str) -> None:
    def look(tx: TraceContext, self: Tracker, *args: Tracker, **kwargs: Tracker) -> Tracker:
        tensor = require_tensor(self, name)
        values = [argument.as_python_constant() for argument in args]
        keywords = {key: value.as_python_constant() for key, value in kwargs.items()}
        if name in _BY_STRIDES and tensor.value is None and _is_empty(tensor.fake):
            raise GraphBreak(TENSOR_INTERNALS, f"Tensor.{name}() of a computed tensor without elements")
        return tensor.metadata(tx, name, *values, **keywords)

    # LISTED: before the general row that makes a node of each method, behind a row of its own.
    ROWS.call(static_lookup(torch.Tensor, name), priority=Priority.LISTED)(look)


def _register_break(name: str, kind: BreakKind) -> None:
    def refuse(tx: TraceContext, *args: Tracker, **kwargs: Tracker) -> Tracker:
        if args and not isinstance(args[0], TensorTracker):  # a method of `object`, which tensors have too
            raise GraphBreak(NATIVE_CALL, f"object.{name}({args[0].describe()})")
        raise GraphBreak(kind, f"Tensor.{name}()")

    ROWS.call(static_lookup(torch.Tensor, name), priority=Priority.LISTED)(refuse)


def require_tensor(self: Tracker, name: str) -> TensorTracker:
    """The tensor whose method is called; breaks the graph for anything else."""
    return self if isinstance(self, TensorTracker) else self.unsupported(f"Tensor.{name}")


@ROWS.call(torch.Tensor.requires_grad_)
def requires_grad_(tx: TraceContext, self: Tracker, requires_grad: Tracker | None = None) -> Tracker:
    """`requires_grad_()` if it changes nothing, or on a new tensor, or on an existing leaf where the backend runs the graph as captured.
    Else breaks the graph, as another backend could not change it on an input."""
    tensor = require_tensor(self, "requires_grad_")
    if requires_grad is not None and not requires_grad.is_python_constant():
        return requires_grad.unsupported("Tensor.requires_grad_")
    given = True if requires_grad is None else requires_grad.as_python_constant()
    if type(given) is not bool:
        return graph_call(tx, "requires_grad_", (tensor, Constant(given)), {})  # which raises
    wanted: bool = given
    if tensor.fake.requires_grad != wanted:
        if can_change_requires_grad(tx, tensor, wanted):
            return graph_call(tx, "requires_grad_", (tensor, Constant(wanted)), {})
        raise GraphBreak(
            BACKEND_LIMIT, f"requires_grad_({wanted}) on a tensor that has requires_grad={not wanted}"
        )
    return self


@ROWS.call(torch.Tensor.random_)
def random_(tx: TraceContext, self: Tracker, *bounds: Tracker, **kwargs: Tracker) -> Tracker:
    """`x.random_(to)`; with two bounds it breaks the graph for a backend that traces again: fx cannot write the name of the operator,
    `aten.random_.from`, which holds a word of Python."""
    if (len(bounds) > 1 or "from" in kwargs) and not tx.graph.runs_as_captured:
        raise GraphBreak(BACKEND_LIMIT, "Tensor.random_() with two bounds")
    return graph_call(tx, "random_", (self, *bounds), kwargs)


@ROWS.call(torch.Tensor.detach_, torch.detach_)
def detach_(tx: TraceContext, self: Tracker) -> Tracker:
    """`detach_()` on a tensor that the graph has made. Breaks the graph for an existing one, whose history lies outside, for views,
    which raise, and in nested graphs, which may run at another time; where operations are replaced, also if an operation
    may have saved the tensor: eager's backward pass raises then."""
    tensor = require_tensor(self, "detach_")
    is_new = tensor.value is None and tensor.cls is torch.Tensor and not tensor.fake._is_view()
    if not is_new or tx.graph.length() is None:
        raise GraphBreak(BACKEND_LIMIT, "Tensor.detach_()")
    users = map(example, tensor.graph_node(tx).users)
    if any(one.requires_grad for one in tensors_in([*users])) and not tx.graph.runs_as_captured:
        if tensor.fake._version:  # AOTAutograd gives a view for what was written to through a view
            tensor.graph_node(tx).meta[HISTORY_ASKED] = True
        raise GraphBreak(BACKEND_LIMIT, "Tensor.detach_() on what an operation may have saved")
    return graph_call(tx, "detach_", (tensor,), {})


@ROWS.call(torch.Tensor.get_device)
def get_device(tx: TraceContext, self: Tracker) -> Tracker:
    """`get_device()`: the index of the device, -1 for those without one (the CPU, `meta`)."""
    device = require_tensor(self, "get_device").fake.device
    return Constant(-1 if device.type in ("cpu", "meta") else device.index)


@ROWS.call(torch.Tensor.is_inference)
def is_inference(tx: TraceContext, self: Tracker) -> Tracker:
    """`is_inference()`: the guard of an input holds the answer; that of a computed tensor is the answer of its fake."""
    tensor = require_tensor(self, "is_inference")
    return Constant((tensor.fake if tensor.value is None else tensor.value).is_inference())


@ROWS.call(torch.Tensor.type)
def type_(
    tx: TraceContext, self: Tracker, dtype: Tracker | None = None, *args: Tracker, **kwargs: Tracker
) -> Tracker:
    """`type()`: the name of the tensor's type; `type(dtype)`: a conversion."""
    if dtype is None and not args and not kwargs:
        return require_tensor(self, "type").metadata(tx, "type")
    if dtype is None:
        return graph_call(tx, "type", (self, *args), kwargs)
    wanted = dtype.realize()
    name = name_of_class(wanted)
    if name is not None:
        wanted = Constant(name)
    if isinstance(wanted, ClassTracker):  # unlike elsewhere `int` is no dtype here
        return wanted.unsupported("standing as the argument of Tensor.type")
    return graph_call(tx, "type", (self, wanted, *args), kwargs)


@ROWS.call(torch.Tensor.new)
def new(tx: TraceContext, self: Tracker, *args: Tracker, **kwargs: Tracker) -> Tracker:
    """`x.new(size)` allocates where `x.new((2, 3))` copies two numbers. A
    node holds a size as a tuple, so its numbers become single arguments."""
    given = [argument.realize() for argument in args]
    if not any(argument.python_type is torch.Size for argument in (*given, *kwargs.values())):
        return graph_call(tx, "new", (self, *given), kwargs)
    size = given[0] if len(given) == 1 and not kwargs else None
    if not isinstance(size, TupleTracker) or not size.items:
        raise GraphBreak(UNSUPPORTED_ARGUMENT, "Tensor.new() of a torch.Size")
    return graph_call(tx, "new", (self, *size.items), {})


@ROWS.call(torch.Tensor.__hash__)
def hash_(tx: TraceContext, self: Tracker) -> Tracker:
    """`hash(x)` breaks the graph: it is made of the address."""
    raise GraphBreak(TENSOR_INTERNALS, "hash() of a tensor")


@ROWS.call(torch.Tensor.__iter__)
def iter_(tx: TraceContext, self: Tracker) -> Tracker:
    """`iter(x)`."""
    return self.iterate(tx)


@ROWS.call(torch.Tensor.__contains__)
def contains(tx: TraceContext, self: Tracker, element: Tracker) -> Tracker:
    """`element in x`."""
    return self.contains(tx, element)


@ROWS.call(torch.Tensor.__reversed__)
def reversed_(tx: TraceContext, self: Tracker) -> Tracker:
    """`x.flip(0)`; a 0-d tensor itself."""
    if require_tensor(self, "__reversed__").fake.dim() == 0:
        return self
    return graph_call(tx, "flip", (self, Constant(0)), {})


@ROWS.call(torch.Tensor.is_same_size)
def is_same_size(tx: TraceContext, self: Tracker, other: Tracker) -> Tracker:
    """Whether the sizes are equal, decided by the sizes of this call."""
    left, right = (
        require_tensor(self, "is_same_size").fake.shape,
        require_tensor(other, "is_same_size").fake.shape,
    )
    return Constant(len(left) == len(right) and all(bool(a == b) for a, b in zip(left, right, strict=True)))


# The slots of the tracker, which know about keys with symbolic numbers.
ROWS.call(torch._C.TensorBase.__getitem__)(slot_subscript)
ROWS.call(torch._C.TensorBase.__setitem__)(slot_set_subscript)


def _install() -> None:
    for name in METADATA:
        _register_metadata(name)
    for kind, names in BREAKS.items():
        for name in names:
            stored = static_lookup(torch.Tensor, name)
            # Some names are not there in each version of torch.
            if isinstance(stored, MethodDescriptorType | FunctionType):
                _register_break(name, kind)
    named: dict[Callable[..., object], str] = {}
    for name in dir(torch.Tensor):
        stored = static_lookup(torch.Tensor, name)
        if isinstance(stored, MethodDescriptorType | FunctionType):
            named.setdefault(stored, name)  # some have several names: `__abs__` and `abs`
    for stored, name in named.items():
        record_function(ROWS, stored, name)


_install()
