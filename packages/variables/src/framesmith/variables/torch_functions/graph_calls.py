"""Calls that become one graph node: the function of the rows for torch functions and tensor methods.

Which callables get such a row is decided in `function_rows` and `method_rows`.
"""

from collections.abc import Callable, Mapping, Sequence
from types import BuiltinFunctionType, FunctionType, MethodDescriptorType
from typing import Final

import torch
from torch import fx

from framesmith.graph import GraphBreak
from framesmith.graph.breaks.break_kinds import BACKEND_LIMIT, TENSOR_ITEM, UNSUPPORTED_ARGUMENT
from framesmith.graph.nodes.arguments import example, tensors_in
from framesmith.guards.class_lookup import static_lookup
from framesmith.guards.sources import Pinned
from framesmith.variables.callables.functions import FunctionTracker
from framesmith.variables.core import Constant, PendingCall, TraceContext, Tracker
from framesmith.variables.core.registry import Priority
from framesmith.variables.core.rows import Rows
from framesmith.variables.graph_nodes.results import check_asked_types, record_node, wrap_result
from framesmith.variables.objects.classes import ClassTracker
from framesmith.variables.symbolic_numbers.changing_scalars import as_number
from framesmith.variables.tensors.new_leaves import explain_no_leaf, make_leaf
from framesmith.variables.tensors.tensors import TensorTracker
from framesmith.variables.torch_functions.made_ints import record_with_ints
from framesmith.variables.torch_functions.number_places import with_number_tensors

Target = Callable[..., object] | str

_DTYPES: Final[dict[type, torch.dtype]] = {
    bool: torch.bool,
    int: torch.int64,
    float: torch.float64,
    complex: torch.complex128,
}
"""Classes that torch takes where it takes a dtype: `torch.zeros(2, dtype=int)`."""


def graph_call(
    tx: TraceContext, target: Target, args: Sequence[Tracker], kwargs: Mapping[str, Tracker]
) -> Tracker:
    """Record the call and wrap its result. Breaks the graph for a
    result with `requires_grad=True`, and if `out=` changes size."""
    # Anything else than a bool is refused by torch.
    if "requires_grad" in kwargs and kwargs["requires_grad"].as_python_constant() is True:
        return _make_leaf(tx, target, args, kwargs)
    check_asked_types(tx, target, (*args, *kwargs.values()))
    args, kwargs = [*map(as_number, args)], {name: as_number(value) for name, value in kwargs.items()}
    args, kwargs = with_number_tensors(tx, target, args, kwargs)
    outputs = _outputs(kwargs.get("out"))
    # Before the call, which changes the fake as eager changes the tensor.
    sizes = [output.fake.shape for output in outputs]
    marker = tx.graph.marker()
    if outputs and not tx.graph.runs_as_captured:
        _check_dtypes(tx, target, args, kwargs, outputs)
    node = _record(tx, target, args, kwargs)
    for output, size in zip(outputs, sizes, strict=True):
        if not _same_size(size, output.fake.shape):
            tx.graph.rollback(marker)
            # A backend that was given the tensor cannot give it another size.
            raise GraphBreak(BACKEND_LIMIT, f"{target}: out= is resized")
    return wrap_result(tx, node)


def _make_leaf(
    tx: TraceContext, target: Target, args: Sequence[Tracker], kwargs: Mapping[str, Tracker]
) -> Tracker:
    """A new tensor that requires a gradient: one that does not, and a leaf with its value."""
    marker = tx.graph.marker()
    # The node of a factory cannot make the leaf: it has to be there before anything is computed from it.
    data = graph_call(tx, target, args, {**kwargs, "requires_grad": Constant(False)})
    if not isinstance(data, TensorTracker) or explain_no_leaf(tx, data, True) is not None:
        tx.graph.rollback(marker)
        raise GraphBreak(BACKEND_LIMIT, f"{target} makes a tensor that requires a gradient")
    return make_leaf(tx, data, torch.Tensor, True)


def _record(
    tx: TraceContext, target: Target, args: Sequence[Tracker], kwargs: Mapping[str, Tracker]
) -> fx.Node:
    """Record the call. A node holds no class: a function of torch's C++ gets the dtype for which it stands."""
    try:
        # As it is first: only where a node cannot hold a class is it taken for a dtype.
        return record_node(tx, target, args, kwargs)
    except GraphBreak as reason:
        made = record_with_ints(tx, target, args, kwargs) if reason.kind is TENSOR_ITEM else None
        if made is not None:
            return made
        classes = any(isinstance(one.realize(), ClassTracker) for one in (*args, *kwargs.values()))
        if reason.kind is not UNSUPPORTED_ARGUMENT or not classes or not _parses_dtypes(target):
            raise
    keywords = {name: as_dtype(value) for name, value in kwargs.items()}
    return record_node(tx, target, [*map(as_dtype, args)], keywords)


def _parses_dtypes(target: Target) -> bool:
    """Whether torch parses the arguments in C++. Functions in Python, operators of
    `torch.ops` and what the user allows in the graph see the class itself."""
    function = static_lookup(torch.Tensor, target) if isinstance(target, str) else target
    return isinstance(function, BuiltinFunctionType | MethodDescriptorType)


def as_dtype(value: Tracker) -> Tracker:
    """The dtype for which a class such as `float` stands; any other value as it is."""
    found = value.realize()
    dtype = _DTYPES.get(found.value) if isinstance(found, ClassTracker) else None
    return value if dtype is None else Constant(dtype)


def _same_size(one: torch.Size, other: torch.Size) -> bool:
    # A symbolic size that is the same object needs no guard, which `==` would add.
    return len(one) == len(other) and all(a is b or a == b for a, b in zip(one, other, strict=True))


def _check_dtypes(
    tx: TraceContext,
    target: Target,
    args: Sequence[Tracker],
    kwargs: Mapping[str, Tracker],
    outputs: Sequence[TensorTracker],
) -> None:
    """Break the graph for `out=` of another dtype than the result has, which many operations refuse in eager: AOTAutograd converts the
    result."""
    marker = tx.graph.marker()
    plain = _record(tx, target, args, {name: value for name, value in kwargs.items() if name != "out"})
    dtypes = [one.dtype for one in tensors_in(example(plain))]
    tx.graph.rollback(marker)
    if dtypes != [output.fake.dtype for output in outputs]:
        raise GraphBreak(BACKEND_LIMIT, f"{target}: out= has another dtype than the result")


def _outputs(out: Tracker | None) -> list[TensorTracker]:
    if out is None:
        return []
    if isinstance(out, TensorTracker):
        return [out]
    return [
        child for child in (member.realize() for member in out.children()) if isinstance(child, TensorTracker)
    ]


def record_function(rows: Rows, function: Callable[..., object], target: Target | None = None) -> None:
    """Add the general row of a function, which records a call as a node; a row of its own counts before it.

    A Python function with an argument that a node cannot hold (a callable, an instance) is inlined instead.
    """
    recorded = function if target is None else target

    def record_call(tx: TraceContext, *args: Tracker, **kwargs: Tracker) -> Tracker | PendingCall:
        try:
            return graph_call(tx, recorded, args, kwargs)
        except GraphBreak as reason:
            # Nothing was recorded: arguments are looked at before that. C code cannot be inlined.
            if reason.kind is not UNSUPPORTED_ARGUMENT or not isinstance(function, FunctionType):
                raise
        return FunctionTracker(function, Pinned(function, function.__qualname__)).bind(tx, args, kwargs)

    rows.call(function, priority=Priority.GENERAL)(record_call)


def is_operator_type(cls: type) -> bool:
    """Whether it is the type of operators of torch's dispatcher, such as
    `torch.ops.aten.add`, `torch.ops.aten.add.Tensor` or a custom one."""
    return issubclass(cls, torch._ops.OpOverload | torch._ops.OpOverloadPacket)
