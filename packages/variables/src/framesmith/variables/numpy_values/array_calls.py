"""What is done with arrays of numpy: functions, methods and operators as nodes, or at once where all numbers are known.

    np.exp(a) * 2      ->  two nodes on the tensor over the memory of `a` (`array_nodes`)
    np.arange(3) + 1   ->  an array that is known while tracing

What numpy gives for examples says whether the result is an array or a scalar, its dtype and sizes, and whether it shares
memory; a node that does otherwise breaks the graph.
"""

import operator
import warnings
from collections.abc import Callable, Iterator, Sequence
from typing import Final

import torch
from torch import fx

from framesmith.graph import GraphBreak
from framesmith.graph.breaks.break_kinds import BACKEND_LIMIT
from framesmith.graph.environment.default_devices import are_tensors_on_cpu
from framesmith.graph.fakes.execution import storage_of
from framesmith.guards import Guard, Reason
from framesmith.guards.kinds import AmbientValue
from framesmith.guards.words import a_type, with_article
from framesmith.variables.builtin_types.lists import ListTracker
from framesmith.variables.builtin_types.namespaces import namespace_of
from framesmith.variables.builtin_types.slices import SliceTracker
from framesmith.variables.builtin_types.tuples import TupleTracker
from framesmith.variables.core import Arguments, Constant, Keywords, TraceContext, Tracker, is_constant_type
from framesmith.variables.core.rows import Rows
from framesmith.variables.graph_nodes.results import call_node, wrap_result
from framesmith.variables.numpy_values import array_nodes
from framesmith.variables.numpy_values.array_nodes import NUMPY_CALL, known_size_of, memory_root, numpy
from framesmith.variables.numpy_values.numpy_arrays import ARRAY_CALLS, ArrayTracker, as_scalar_array
from framesmith.variables.objects.classes import ClassTracker
from framesmith.variables.operations.binary import FUNCTIONS, INPLACE_FUNCTIONS
from framesmith.variables.operations.compare import FUNCTIONS as COMPARISONS
from framesmith.variables.symbolic_numbers.symbolic import SymbolicNumber
from framesmith.variables.symbolic_numbers.wide_ints import without_wide_ints
from framesmith.variables.tensors.tensors import TensorTracker
from framesmith.variables.wrapping.wrap import Wrapper

ROWS: Final = Rows()

# Operators that numpy refuses, or warns of, for some integers (0, negative exponents), which examples do not show.
_INTEGER: Final = ("//", "%", "**", "<<", ">>")
_UNARY: Final[dict[object, Callable[..., object]]] = {
    "-": operator.neg,
    "+": operator.pos,
    "~": operator.invert,
}
_WRITERS: Final = frozenset({*INPLACE_FUNCTIONS.values(), operator.setitem})
_COPYING: Final = (operator.setitem, "copyto")
_WRITING: Final = frozenset({"fill", "sort", "put", "partition", "copyto", "fill_diagonal", "put_along_axis"})
_REFUSED: Final = frozenset(
    {
        # what torch orders otherwise
        "searchsorted", "unique",
        # nan for negative numbers in torch, or 0 for nan
        "cbrt", "heaviside",
        # whose zeros have another sign in torch, or that it rounds otherwise in place
        "mod", "remainder", "divmod", operator.mod, operator.imod, operator.ifloordiv,
    }
)  # fmt: skip
# Keywords that `torch._numpy` takes, and does nothing about.
_UNHEEDED: Final = ("where", "signature", "extobj", "hermitian")
# What may use the memory of its argument for the computation, which torch does not.
_OVERWRITING: Final = ("median", "percentile", "quantile", "nan_to_num")
_DIVIDES: Final = frozenset(
    {
        "floor_divide", "mod", "remainder", "fmod", "divmod", "power", "reciprocal", "gcd", "lcm", "left_shift", "right_shift",
        # `torch._numpy` leaves integers as they are, whatever the number of decimals
        "round", "around",
        *(function for symbol, function in FUNCTIONS.items() if symbol in _INTEGER),
        *(function for symbol, function in INPLACE_FUNCTIONS.items() if symbol in _INTEGER),
    }
)  # fmt: skip
_POWERS: Final = ("power", "float_power", operator.pow, operator.ipow)
_MOST_KNOWN: Final = 1 << 12
_OPERATORS: Final = frozenset({*FUNCTIONS.values(), *COMPARISONS.values()})

_ONLY_WARNS: Final = Guard.relation(
    AmbientValue(array_nodes.only_warns, (), True), Reason("the graph computes with numpy's arrays")
)


def run(tx: TraceContext, form: str, what: object, args: Arguments, kwargs: Keywords) -> Tracker:
    """An operator (a function of `operator`), a unary operator by its symbol, or a function, a method or an attribute by its name."""
    if _is_elementwise(form, what):
        args = [as_scalar_array(tx, argument) for argument in args]
    args = [without_wide_ints(tx, argument) for argument in args]
    kwargs = {name: without_wide_ints(tx, value) for name, value in kwargs.items()}
    in_numpy, writes = _in_numpy(form, what), what in _WRITERS or what in _WRITING or "out" in kwargs
    arrays = list(_arrays([*args, *kwargs.values()]))
    is_known = all(array.is_known for array in arrays) and _all_known([*args, *kwargs.values()])
    is_refused = what in _REFUSED or not kwargs.keys().isdisjoint(_UNHEEDED)
    if is_refused and not is_known:
        raise GraphBreak(NUMPY_CALL, _name_of(what))
    likes = [_like(tx, argument) for argument in args], {key: _like(tx, one) for key, one in kwargs.items()}
    # Before the node: where numpy raises or warns, nothing was recorded.
    expected: object = None
    if not writes:
        # `out` may also be given by position.
        expected, writes = array_nodes.ask_without_writing(in_numpy, *likes, strict=is_known)
    # A write goes to a tensor of the graph, so that all who hold the array see it.
    if is_known and not writes:
        known = _as_known(tx, expected, arrays)
        if known is not None:
            return known
    if is_refused or (writes and what in _OVERWRITING):
        raise GraphBreak(NUMPY_CALL, _name_of(what))
    _check_range(tx, arrays, [*args, *kwargs.values()])
    if writes and not tx.graph.runs_as_captured and any(array.is_over_input for array in arrays):
        raise GraphBreak(BACKEND_LIMIT, "a write to the memory of an existing array")
    if writes:
        for array in arrays:
            array.tensor(tx)  # from the numbers before the write
        expected = array_nodes.ask_numpy(in_numpy, *likes)
        args = [_uncounted(tx, one) for one in args]
        kwargs = {name: _uncounted(tx, value) for name, value in kwargs.items()}
    kind = str(getattr(getattr(expected, "dtype", None), "kind", "-"))
    if what in _DIVIDES and kind in "iub":
        raise GraphBreak(NUMPY_CALL, f"{_name_of(what)} of integers, which numpy may refuse or warn of")
    if (what in _POWERS and kind == "c") or (what == "angle" and kind in "fc" and not _is_complex(likes[0])):
        raise GraphBreak(NUMPY_CALL, f"{_name_of(what)}, which torch computes otherwise")
    # numpy gave the argument itself (`np.asarray(a)`): the result is that very array.
    same = next((array for array in arrays if array.like(tx) is expected), None)
    if same is not None and not writes:
        return same
    if what in _COPYING:
        args = [*args[:1], *(_apart_from(tx, args[0], one) for one in args[1:])]
    given = {name: _argument(tx, value) for name, value in kwargs.items()}
    _check_settings(tx)
    node = call_node(tx, _node_target(form, what), tuple(_argument(tx, one) for one in args), given)
    if expected is None:
        return Constant(None)
    return same or _result(tx, wrap_result(tx, node), expected, arrays, _name_of(what))


def _is_elementwise(form: str, what: object) -> bool:
    """Whether the types of its operands decide together about that of the result."""
    if form == "operator":
        return what in _OPERATORS
    return form == "function" and (
        what in ("clip", "where") or type(array_nodes.of_numpy(str(what))).__name__ == "ufunc"
    )


def _check_settings(tx: TraceContext) -> None:
    """Break the graph where `torch._numpy` would do otherwise than numpy, on another device or about errors of numbers."""
    if not are_tensors_on_cpu():
        raise GraphBreak(NUMPY_CALL, "an operation of numpy where tensors are made on another device")
    if not array_nodes.only_warns():
        raise GraphBreak(
            NUMPY_CALL,
            "an operation of numpy where errors of numbers raise (numpy.errstate, warnings.filters)",
        )
    if not _are_filters_kept(tx):
        raise GraphBreak(NUMPY_CALL, "an operation of numpy after a change of warnings.filters")
    tx.guards.add(_ONLY_WARNS)


def _are_filters_kept(tx: TraceContext) -> bool:
    """Whether the trace has left alone what becomes of a warning."""
    assert isinstance(tx.wrap, Wrapper)
    return namespace_of(tx, vars(warnings)).is_restored() and not tx.wrap.has_changed(warnings.filters)


def _apart_from(tx: TraceContext, target: Tracker, value: Tracker) -> Tracker:
    """What is copied into an array: a copy where it shares memory with the array, of which torch refuses to copy."""
    if not isinstance(target, ArrayTracker) or not isinstance(value, ArrayTracker) or value.is_scalar:
        return value
    tensor = value.tensor(tx)
    if storage_of(tensor.fake) != storage_of(target.tensor(tx).fake):
        return value
    copied = wrap_result(tx, call_node(tx, torch.clone, (tensor.graph_node(tx),)))
    assert isinstance(copied, TensorTracker)
    return ArrayTracker(value.cls, copied, value.like(tx))


def _uncounted(tx: TraceContext, value: Tracker) -> Tracker:
    """An array over the same memory: what numpy writes is counted by no tensor, nor is what is written to `data`."""
    if not isinstance(value, ArrayTracker) or value.is_scalar:
        return value
    data = wrap_result(tx, call_node(tx, getattr, (value.tensor(tx).graph_node(tx), "data")))
    assert isinstance(data, TensorTracker)
    return ArrayTracker(value.cls, data, value.like(tx))


def _check_range(tx: TraceContext, arrays: Sequence[ArrayTracker], trackers: Arguments) -> None:
    """Break the graph for an integer that the type of an array does not hold: torch wraps it around."""
    assert numpy is not None
    kinds = {getattr(array.like(tx), "dtype") for array in arrays}  # noqa: B009  # numpy has no types here
    bounds = [numpy.iinfo(kind) for kind in kinds if kind.kind in "iu" and kind.itemsize < 8]
    for tracker in trackers if bounds else ():
        value = tracker.as_python_constant() if isinstance(tracker, Constant) else None
        is_unknown = isinstance(tracker, SymbolicNumber)
        if is_unknown or (
            isinstance(value, int | numpy.integer) and not all(one.min <= value <= one.max for one in bounds)
        ):
            raise GraphBreak(NUMPY_CALL, f"{tracker.describe()} with an array whose type may not hold it")


def _is_complex(likes: Sequence[object]) -> bool:
    assert numpy is not None
    return bool(likes) and bool(numpy.iscomplexobj(likes[0]))


def _in_numpy(form: str, what: object) -> Callable[..., object]:
    if form == "function":
        return array_nodes.of_numpy(str(what))
    if form == "method":
        return lambda array, *args, **kwargs: getattr(array, str(what))(*args, **kwargs)
    if form == "attribute":
        return operator.attrgetter(str(what))
    found = _UNARY[what] if form == "unary" else what
    assert callable(found)
    return found


def _node_target(form: str, what: object) -> Callable[..., object]:
    if form == "function":
        return array_nodes.function_node(str(what))
    if form == "method":
        return array_nodes.method_node(str(what))
    if form == "attribute":
        return array_nodes.attribute_node(str(what))
    return array_nodes.operator_node(_in_numpy(form, what))


# -- arguments ---------------------------------------------------------------------------------------
def _arrays(trackers: Arguments) -> Iterator[ArrayTracker]:
    """The arrays among the arguments, also inside of lists and tuples."""
    for tracker in trackers:
        tracker = tracker.realize()
        if isinstance(tracker, ArrayTracker):
            yield tracker
        elif isinstance(tracker, ListTracker | TupleTracker):
            yield from _arrays(tracker.items)


def _all_known(trackers: Arguments) -> bool:
    """Whether all numbers are known while tracing. A symbolic one is not: `_like` reads its number without a guard."""
    for tracker in trackers:
        tracker = tracker.realize()
        if isinstance(tracker, ListTracker | TupleTracker):
            if not _all_known(tracker.items):
                return False
        elif isinstance(tracker, SliceTracker):
            if not _all_known(tracker.members()):
                return False
        elif isinstance(tracker, SymbolicNumber) or not (
            isinstance(tracker, ArrayTracker) or tracker.is_python_constant()
        ):
            return False
    return True


def _like(tx: TraceContext, tracker: Tracker) -> object:
    """What stands in for an argument where numpy is asked."""
    tracker = tracker.realize()
    if isinstance(tracker, ArrayTracker):
        return tracker.like(tx)
    if isinstance(tracker, SymbolicNumber):
        return tracker.number
    if isinstance(tracker, ListTracker | TupleTracker):
        items = [_like(tx, item) for item in tracker.items]
        return items if isinstance(tracker, ListTracker) else tuple(items)
    if isinstance(tracker, SliceTracker):
        return slice(*(_like(tx, part) for part in tracker.members()))
    if isinstance(tracker, ClassTracker) or tracker.is_python_constant():
        return tracker.as_python_constant()
    raise GraphBreak(NUMPY_CALL, f"numpy on {with_article(tracker.describe())}")


def _argument(tx: TraceContext, tracker: Tracker) -> object:
    """The argument of a node."""
    tracker = tracker.realize()
    if isinstance(tracker, ArrayTracker):
        return tracker.tensor(tx).graph_node(tx)
    if isinstance(tracker, SymbolicNumber):
        return tracker.graph_node(tx)
    if isinstance(tracker, ListTracker | TupleTracker):
        items = [_argument(tx, item) for item in tracker.items]
        return items if isinstance(tracker, ListTracker) else tuple(items)
    if isinstance(tracker, SliceTracker):
        return slice(*(_argument(tx, part) for part in tracker.members()))
    value = tracker.as_python_constant()
    assert numpy is not None
    if isinstance(value, numpy.dtype) or (
        isinstance(value, type) and issubclass(value, numpy.generic | int | float | complex)
    ):
        # `torch._numpy` has dtypes of its own, but takes their names.
        return str(numpy.dtype(value).name)
    return value.item() if isinstance(value, numpy.generic) else value


def _name_of(what: object) -> str:
    return f"numpy's {getattr(what, '__name__', what)}()"


# -- results -----------------------------------------------------------------------------------------
def _as_known(tx: TraceContext, found: object, arrays: Sequence[ArrayTracker]) -> Tracker | None:
    """numpy's own result on known numbers; None where it shares memory, is large or no number."""
    assert numpy is not None
    if is_constant_type(tx.registry, type(found)):
        return Constant(found)
    if (
        not isinstance(found, numpy.ndarray)
        or type(found) is not numpy.ndarray
        or found.size > _MOST_KNOWN
        or found.dtype.kind not in "fiubc"
        # what is written is a new array of the numbers, in rows
        or not found.flags.c_contiguous
        or not found.flags.writeable
    ):
        return None
    # A view of a known array: writes to one have to show in the other, so both become tensors.
    if any(memory_root(array.like(tx)) is memory_root(found) for array in arrays):
        return None
    return ArrayTracker(numpy.ndarray, None, found)


def _result(
    tx: TraceContext, found: Tracker, expected: object, arrays: list[ArrayTracker], name: str
) -> Tracker:
    """The result of a node as numpy gives it. `name`: what was called."""
    assert numpy is not None
    same = next((array for array in arrays if array.like(tx) is expected), None)
    if same is not None:
        return same
    if type(expected) in (tuple, list) and isinstance(found, ListTracker | TupleTracker):
        assert isinstance(expected, tuple | list)
        if len(found.items) != len(expected):
            raise GraphBreak(NUMPY_CALL, f"{name}, which gives another number of arrays")
        # By the object that numpy gives: it may be there twice.
        made: dict[int, Tracker] = {}
        for one, wanted in zip(found.items, expected, strict=True):
            if id(wanted) not in made:
                made[id(wanted)] = _result(tx, one.realize(), wanted, arrays, name)
        items = [made[id(wanted)] for wanted in expected]
        return ListTracker(items) if type(expected) is list else TupleTracker(items)
    if not isinstance(found, TensorTracker) or not isinstance(expected, numpy.ndarray | numpy.generic):
        raise GraphBreak(NUMPY_CALL, f"{name}, which gives {a_type(type(expected))}")
    # None for a dtype without a counterpart, which no tensor has.
    kept = array_nodes.dtype_of(expected)
    if found.fake.dtype is not kept or [known_size_of(size) for size in found.fake.shape] != list(
        expected.shape
    ):
        raise GraphBreak(NUMPY_CALL, f"{name}, for which torch gives another dtype or other sizes")
    found, is_over_input = _own_memory(tx, found, expected, arrays, name)
    if isinstance(expected, numpy.generic):
        return ArrayTracker(type(expected), found, expected)
    if type(expected) is not numpy.ndarray:
        raise GraphBreak(NUMPY_CALL, f"{name}, which gives a subclass of arrays")
    return ArrayTracker(numpy.ndarray, found, expected, is_over_input=is_over_input)


def _own_memory(
    tx: TraceContext, found: TensorTracker, expected: object, arrays: list[ArrayTracker], name: str
) -> tuple[TensorTracker, bool]:
    """The tensor, sharing memory with an argument if and only if numpy's result does; and whether it is that of an
    existing array."""
    assert numpy is not None
    root, storage = memory_root(expected), storage_of(found.fake)
    # A scalar of numpy is immutable and never shares memory.
    is_view = isinstance(expected, numpy.ndarray)
    in_numpy = [array for array in arrays if is_view and memory_root(array.like(tx)) is root]
    in_torch = [array for array in arrays if storage_of(array.tensor(tx).fake) == storage]
    if in_numpy and not in_torch:
        raise GraphBreak(NUMPY_CALL, f"{name}, which gives a view where torch copies")
    if in_torch and not in_numpy:
        # numpy copied: a later write to either must not show in the other.
        node = call_node(tx, torch.clone, (found.graph_node(tx),))
    elif is_view and not _same_layout(found, expected):
        node = _laid_out(tx, found, expected, name, is_new=not in_numpy)
    else:
        return found, any(array.is_over_input for array in in_numpy)
    own = wrap_result(tx, node)
    assert isinstance(own, TensorTracker)
    return own, any(array.is_over_input for array in in_numpy)


def _same_layout(found: TensorTracker, expected: object) -> bool:
    """Whether a new tensor has the strides of numpy's result."""
    assert numpy is not None and isinstance(expected, numpy.ndarray)
    steps = [known_size_of(step) * expected.itemsize for step in found.fake.stride()]
    return steps == list(expected.strides)


def _laid_out(
    tx: TraceContext, found: TensorTracker, expected: object, name: str, *, is_new: bool
) -> fx.Node:
    """The node of a tensor with numpy's strides. GraphBreak where they are no usual ones."""
    assert numpy is not None and isinstance(expected, numpy.ndarray)
    # Only a new tensor may be laid out anew: a copy of a view would lose writes.
    if is_new and expected.size > 1 and expected.flags.c_contiguous:
        return call_node(tx, "contiguous", (found.graph_node(tx),))
    if expected.size > 1 or not all(isinstance(size, int) for size in found.fake.shape):
        raise GraphBreak(NUMPY_CALL, f"{name}, which lays its result out otherwise than torch")
    # With one element, or none, any strides lead to the same memory.
    steps = [step // expected.itemsize for step in expected.strides]
    return call_node(tx, "as_strided", (found.graph_node(tx), list(expected.shape), steps))


ROWS.add(ARRAY_CALLS, None, run)
