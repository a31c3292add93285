"""`torch.tensor`, `torch.as_tensor`, `torch.scalar_tensor` and `Tensor.new_tensor` of what is no tensor."""

from collections.abc import Callable
from typing import Final, TypeAlias

import torch

from framesmith.graph import GraphBreak
from framesmith.graph.breaks.break_kinds import TENSOR_INTERNALS, UNSUPPORTED_ARGUMENT
from framesmith.guards.words import with_article
from framesmith.variables.builtin_types.lists import ListTracker
from framesmith.variables.builtin_types.sequences import reaches_itself
from framesmith.variables.builtin_types.tuples import TupleTracker
from framesmith.variables.core import Constant, TraceContext, Tracker
from framesmith.variables.core.registry import Table
from framesmith.variables.core.rows import Rows
from framesmith.variables.core.table import callable_name
from framesmith.variables.graph_nodes.graph_values import CONVERSIONS
from framesmith.variables.symbolic_numbers.changing_scalars import SCALARS, as_number
from framesmith.variables.symbolic_numbers.symbolic import SymbolicNumber
from framesmith.variables.symbolic_numbers.wide_ints import without_wide_ints
from framesmith.variables.tensors.number_operands import as_number_tensor, fits
from framesmith.variables.tensors.tensors import TensorTracker, is_number
from framesmith.variables.torch_functions.graph_calls import graph_call
from framesmith.variables.torch_functions.tensors_of_items import from_items

ROWS: Final = Rows()
_PLAIN: Final = (torch.Tensor, torch.nn.Parameter)
Conversion: TypeAlias = Callable[[TraceContext, Tracker, dict[str, Tracker], bool], Tracker]
TENSOR_SOURCES: Final = Table[type[Tracker], Conversion]("trackers that become tensors by themselves")
"""How a value that these trackers represent becomes a tensor; the last argument: whether it is copied in any case."""


_TYPES: Final = {name: getattr(torch, name) for name in SCALARS}
"""The types of tensors that torch makes of scalars of numpy, each of which holds the equal Python number."""


def _with_type(
    tx: TraceContext,
    function: Callable[..., object],
    args: tuple[Tracker, ...],
    kwargs: dict[str, Tracker],
) -> tuple[tuple[Tracker, ...], dict[str, Tracker]]:
    """The arguments, with the Python number and its type for a scalar of numpy. `torch.scalar_tensor` looks at no type."""
    if not _is_scalar(tx, args) or kwargs.keys() - {"device"} or function is torch.scalar_tensor:
        return args, kwargs
    given = args[0].realize()
    number = as_number(given)
    if isinstance(number, Constant) and number is given:
        number = Constant(tx.registry[CONVERSIONS][given.python_type](number.value))
    return (number,), {"dtype": Constant(_TYPES[given.python_type.__name__]), **kwargs}


def _register(function: Callable[..., object]) -> None:
    @ROWS.call(function)
    def record(tx: TraceContext, *args: Tracker, **kwargs: Tracker) -> Tracker:
        """The call in the graph; a break for numpy's scalars in containers, whose type matters."""
        return _make(tx, function, args, kwargs)


def _make(
    tx: TraceContext, function: Callable[..., object], args: tuple[Tracker, ...], kwargs: dict[str, Tracker]
) -> Tracker:
    is_of_numpy, (args, kwargs) = _is_scalar(tx, args), _with_type(tx, function, args, kwargs)
    given = args[0].realize() if len(args) == 1 else None
    if is_of_numpy and isinstance(given, SymbolicNumber) and "dtype" in kwargs:
        # The number is within the range of its type, to which torch would convert it by reading it.
        whole = from_items(tx, args, {**kwargs, "dtype": Constant(torch.int64)})
        if whole is not None:
            return graph_call(tx, "to", (whole,), {"dtype": kwargs["dtype"]})
    # The one that raises for a number that is too large.
    if given is not None and (
        function is not torch.scalar_tensor or fits(tx, given, torch.get_default_dtype())
    ):
        given = as_number_tensor(tx, given)
    convert = tx.registry[TENSOR_SOURCES].get(type(given)) if given is not None else None
    if given is not None and convert is not None:
        return convert(tx, given, dict(kwargs), function is torch.tensor)
    if (
        given is not None
        and set(kwargs) <= {"device"}
        and is_number(tx, given)
        and not tx.graph.runs_as_captured
    ):
        return graph_call(tx, "to", (given,), {"dtype": Constant(torch.get_default_dtype()), **kwargs})
    if given is not None and reaches_itself(given):
        raise GraphBreak(UNSUPPORTED_ARGUMENT, f"{callable_name(function)} of a list that holds itself")
    if any(_holds_scalar(tx, argument) for argument in (*args, *kwargs.values())):
        raise GraphBreak(UNSUPPORTED_ARGUMENT, f"{callable_name(function)} of a numpy scalar")
    items = None if function is torch.scalar_tensor else from_items(tx, args, kwargs)
    if items is None:
        named = {name: without_wide_ints(tx, one) for name, one in kwargs.items()}
        return graph_call(tx, function, [without_wide_ints(tx, one) for one in args], named)
    return items


@ROWS.call(torch.Tensor.new_tensor)
def new_tensor(tx: TraceContext, *args: Tracker, **kwargs: Tracker) -> Tracker:
    """As `torch.tensor`, with the dtype and the device of the tensor where none is said."""
    this, data = (args[0].realize(), args[1].realize()) if len(args) == 2 else (None, None)
    if data is None or reaches_itself(data) or not isinstance(this, TensorTracker) or this.cls not in _PLAIN:
        return graph_call(tx, "new_tensor", args, kwargs)
    said = {name: value for name, value in kwargs.items() if value.python_type is not type(None)}
    own = {"dtype": Constant(this.fake.dtype), "device": Constant(this.fake.device)}
    dense = this.fake.layout is torch.strided
    if _holds_scalar(tx, data):
        raise GraphBreak(UNSUPPORTED_ARGUMENT, "Tensor.new_tensor of a numpy scalar")
    items = from_items(tx, (data,), own | said) if dense else None
    if items is None:
        return graph_call(tx, "new_tensor", [this, without_wide_ints(tx, data)], kwargs)
    return items


def _is_scalar(tx: TraceContext, args: tuple[Tracker, ...]) -> bool:
    cls = args[0].realize().python_type if len(args) == 1 else object
    return cls in tx.registry[CONVERSIONS] and cls.__name__ in _TYPES


def _holds_scalar(tx: TraceContext, tracker: Tracker) -> bool:
    tracker = tracker.realize()
    if tracker.python_type in tx.registry[CONVERSIONS]:
        return True
    return any(_holds_scalar(tx, child) for child in tracker.children())


for _function in (torch.tensor, torch.as_tensor, torch.scalar_tensor):
    _register(_function)


@ROWS.call(torch.asarray)
def asarray(tx: TraceContext, *args: Tracker, **kwargs: Tracker) -> Tracker:
    """`torch.asarray(data)` of numbers and lists of them, as by `torch.tensor`, and of arrays of numpy, as by `torch.as_tensor`. A tensor
    may come back as it is, or detached, and breaks the graph."""
    given = args[0].realize() if len(args) == 1 else None
    if given is None or kwargs.keys() - {"device", "dtype"}:
        raise GraphBreak(TENSOR_INTERNALS, "torch.asarray()")
    if type(given) in tx.registry[TENSOR_SOURCES]:
        return _make(tx, torch.as_tensor, args, kwargs)
    if _is_scalar(tx, args) or _holds_numbers(given):
        return _make(tx, torch.tensor, args, kwargs)
    raise GraphBreak(TENSOR_INTERNALS, f"torch.asarray() of {with_article(given.describe())}")


def _holds_numbers(value: Tracker) -> bool:
    """Whether it is a number of Python, or a list or tuple with nothing else at any depth."""
    value = value.realize()
    if isinstance(value, ListTracker | TupleTracker) and value.python_type in (list, tuple):
        return not reaches_itself(value) and all(map(_holds_numbers, value.items))
    is_number = isinstance(value, Constant) or value.is_run_time_number
    return is_number and value.python_type in (bool, int, float, complex)
