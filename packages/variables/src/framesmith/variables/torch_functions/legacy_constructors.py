"""Tensors as older programs make them: `torch.Tensor(2, 3)`, `torch.FloatTensor([1.0])`, `Variable(x)`.

And the classes of `x.type(torch.FloatTensor)`, which stand for a dtype and a device.
"""

from typing import Final

import torch
from torch.autograd import Variable

from framesmith.graph import GraphBreak
from framesmith.graph.breaks.break_kinds import BACKEND_LIMIT, NATIVE_CALL
from framesmith.variables.builtin_types.lists import ListTracker
from framesmith.variables.builtin_types.tuples import TupleTracker
from framesmith.variables.core import Constant, PendingCall, TraceContext, Tracker
from framesmith.variables.core.rows import Rows
from framesmith.variables.core.table import row_of
from framesmith.variables.tensors.new_leaves import explain_no_leaf, make_leaf
from framesmith.variables.tensors.tensors import TensorTracker
from framesmith.variables.torch_functions.graph_calls import graph_call

ROWS: Final = Rows()

_CPU: Final = torch.device("cpu")  # once: a mode of the caller sees it being made

_TENSOR_TYPES: Final = tuple(
    cls
    for cls in vars(torch).values()
    if isinstance(cls, type(torch.FloatTensor)) and cls.__module__ == "torch"
)
"""`torch.FloatTensor` and the others of the CPU."""


_NAMES: Final = tuple((cls, f"torch.{cls.__name__}") for cls in (torch.Tensor, *_TENSOR_TYPES))


def name_of_class(tracker: Tracker) -> str | None:
    """The name by which `Tensor.type` reads a class of tensors (torch does that in C), or None for another value.
    `torch.Tensor` stands for the default dtype on the device of the default type."""
    cls = getattr(tracker, "value", None)
    # Compared by identity: `in` would call `__eq__` of the metaclass of any value that a tracker holds.
    return next((name for one, name in _NAMES if cls is one), None)


def _constructor_row(cls: type, dtype: torch.dtype | None) -> None:
    def construct(tx: TraceContext, *args: Tracker, **kwargs: Tracker) -> Tracker | PendingCall:
        if kwargs:
            raise GraphBreak(NATIVE_CALL, f"{cls.__name__}() with keywords")
        return _construct(tx, cls, dtype or torch.get_default_dtype(), tuple(one.realize() for one in args))

    ROWS.call(cls)(construct)


def _construct(
    tx: TraceContext, cls: type, dtype: torch.dtype, args: tuple[Tracker, ...]
) -> Tracker | PendingCall:
    """Sizes give memory that is not set, a sequence is copied, a tensor is shared."""
    # Said in full: the row of `torch.tensor` would infer the dtype from the items.
    placed: dict[str, Tracker] = {"dtype": Constant(dtype), "device": Constant(_CPU)}
    given = args[0] if len(args) == 1 else None
    if not args:
        # `torch.Tensor()` is empty, of the size (0,).
        return graph_call(tx, torch.empty, (Constant(0),), placed)
    if all(argument.python_type is int for argument in args) or (
        given is not None and given.python_type is torch.Size
    ):
        return graph_call(tx, torch.empty, args, placed)
    if isinstance(given, ListTracker | TupleTracker) and given.python_type in (list, tuple):
        row = row_of(tx.registry, torch.tensor)
        assert row is not None
        return row.begin(tx, (given,), placed)
    if isinstance(given, TensorTracker) and cls is torch.Tensor and given.cls is torch.Tensor:
        # A new tensor object over the same memory, with the history of the given one.
        return graph_call(tx, torch.ops.aten.alias.default, (given,), {})
    raise GraphBreak(NATIVE_CALL, f"{cls.__name__}({', '.join(one.describe() for one in args)})")


_constructor_row(torch.Tensor, None)
for _kind in _TENSOR_TYPES:
    _constructor_row(_kind, _kind.dtype)


@ROWS.call(Variable)
def make_variable(
    tx: TraceContext, data: Tracker | None = None, requires_grad: Tracker | None = None, **kwargs: Tracker
) -> Tracker:
    """`Variable(x)`: the tensor without its history, as `detach()` gives it. One that requires a gradient is a new leaf,
    which breaks the graph."""
    data = None if data is None else data.realize()
    if not isinstance(data, TensorTracker) or kwargs:
        raise GraphBreak(
            NATIVE_CALL, "torch.autograd.Variable() of what is no tensor, or with other keywords"
        )
    if requires_grad is not None and not _is_false(requires_grad.realize()):
        if requires_grad.as_python_constant() is True and explain_no_leaf(tx, data, True) is None:
            return make_leaf(tx, data, torch.Tensor, True)
        raise GraphBreak(BACKEND_LIMIT, "torch.autograd.Variable() makes a tensor that requires a gradient")
    return graph_call(tx, "detach", (data,), {})


def _is_false(value: Tracker) -> bool:
    return isinstance(value, Constant) and value.value is False
