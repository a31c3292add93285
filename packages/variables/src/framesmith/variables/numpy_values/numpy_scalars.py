"""numpy's scalars, which are constants, and numpy functions of known numbers, which run while tracing.

This is for `x / np.sqrt(d)` and `int(np.prod(x.shape))`. Arrays are not modelled: a function that returns one breaks
the graph. numpy is there when torch has imported it; no package of framesmith imports it.
"""

import sys
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from typing import Final, NoReturn

import torch

from framesmith.graph import GraphBreak
from framesmith.graph.breaks.break_kinds import UNSUPPORTED_ARGUMENT
from framesmith.guards import Source
from framesmith.guards.kinds import EqualTo, TypeIs
from framesmith.guards.sources import CallResult
from framesmith.variables.builtin_types.constants import CONSTANT_ATTRIBUTES
from framesmith.variables.core import Constant, TraceContext, Tracker, is_constant_type
from framesmith.variables.core.constant import COMPARED_TYPES
from framesmith.variables.core.folding import WARNING_TYPES, Warned, from_python
from framesmith.variables.core.rows import Rows
from framesmith.variables.core.table import callable_name
from framesmith.variables.graph_nodes.graph_values import CONVERSIONS, UNLIKE_ITEMS
from framesmith.variables.numpy_values.array_nodes import NUMPY_CALL
from framesmith.variables.numpy_values.numpy_arrays import ARRAY_CALLS
from framesmith.variables.symbolic_numbers.changing_scalars import SCALARS, ChangingScalar, compute_scalar

ROWS: Final = Rows()

_numpy = sys.modules.get("numpy")
_SCALARS = (
    "bool_", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "float16", "float32", "float64",
)  # fmt: skip
_FUNCTIONS = (
    "all", "amax", "amin", "any", "argmax", "argmin", "around", "clip", "isclose", "max", "mean", "median", "min",
    "prod", "round", "std", "sum", "var",
)  # fmt: skip


def _register_row(function: Callable[..., object]) -> None:
    """Add a row that runs calls of this function with known numbers while tracing; others break the graph."""
    errors = getattr(_numpy, "errstate", None)
    assert errors is not None
    computes = type(function).__name__ == "ufunc" or getattr(function, "__name__", "") in SCALARS

    def strict() -> AbstractContextManager[object]:
        found: AbstractContextManager[object] = errors(all="raise")
        return found

    @ROWS.call(function)
    def folded(tx: TraceContext, *args: Tracker, **kwargs: Tracker) -> Tracker:
        operands = (*args, *kwargs.values())
        refusal = GraphBreak(
            NUMPY_CALL,
            f"{callable_name(function)}({', '.join([operand.describe() for operand in operands])})",
        )
        if not all(operand.is_python_constant() for operand in operands):
            return _on_arrays(tx, function, args, kwargs)
        given = [one.realize() for one in args]
        computed = compute_scalar(tx, function, given, strict) if computes and not kwargs else None
        if computed is not None:
            return computed
        positional = [operand.as_python_constant() for operand in args]
        keywords = {name: operand.as_python_constant() for name, operand in kwargs.items()}
        try:
            with errors(all="raise"):  # what warns has to do so in each call
                result = function(*positional, **keywords)
        except Exception as error:
            raise refusal from error
        members = result if isinstance(result, tuple) else (result,)
        if not all(is_constant_type(tx.registry, type(member)) for member in members):
            return _on_arrays(tx, function, args, kwargs)
        return from_python(tx, result)


def _on_arrays(
    tx: TraceContext,
    function: Callable[..., object],
    args: tuple[Tracker, ...],
    kwargs: Mapping[str, Tracker],
) -> Tracker:
    """The call where arrays go in or come out; breaks the graph for a class."""
    if isinstance(function, type):
        shown = ", ".join([operand.describe() for operand in (*args, *kwargs.values())])
        raise GraphBreak(NUMPY_CALL, f"{callable_name(function)}({shown})")
    return tx.registry.get_single(ARRAY_CALLS)(tx, "function", function.__name__, args, kwargs)


def _register_scalar(cls: type) -> None:
    """Model the values of a scalar type as constants, which become the equal Python number in a graph, except where torch takes them
    for something else: a bool of numpy for a float, or an error. Measured for each type and kind of argument."""
    item: Callable[[object], object] = getattr(cls, "item")  # noqa: B009  # unknown to typing
    errors = getattr(_numpy, "errstate", None)
    assert errors is not None
    ROWS.constant_types(cls)
    strict: Warned = (lambda: errors(all="raise"), FloatingPointError)
    ROWS.add(WARNING_TYPES, cls, strict)
    one = cls(1)
    ROWS.add(CONVERSIONS, cls, _refuse_bool if isinstance(item(one), bool) else item)
    # torch takes the numbers that it stores as Python's, or by `__index__`.
    is_number = isinstance(one, float) or hasattr(cls, "__index__")
    if not is_number or torch.tensor([one]).dtype is not torch.tensor([item(one)]).dtype:
        ROWS.add(UNLIKE_ITEMS, cls, None)

    @ROWS.wrap(cls)
    def wrap(tx: TraceContext, value: object, source: Source) -> Tracker:
        """An existing scalar, guarded by type and number; one that was seen to change by its type alone."""
        tx.guard(source, TypeIs(cls))
        if cls.__name__ in SCALARS and tx.wrap.policy.is_dynamic_number(CallResult(source, item)):
            return ChangingScalar(tx, value, source, item, CallResult(source, item))
        # `EqualTo` compares what is no plain constant by identity, hence the Python number.
        tx.guard(CallResult(source, item), EqualTo(item(value)))
        return Constant(value, source)


def _refuse_bool(value: object) -> NoReturn:
    """`x.long() * np.bool_(True)` is a float tensor, `x[np.bool_(True)]` an IndexError."""
    raise GraphBreak(UNSUPPORTED_ARGUMENT, f"a {type(value).__name__} of numpy")


def _dtypes(names: Sequence[str]) -> None:
    """Model numpy's dtypes, and what `finfo` and `iinfo` say of them, as constants."""
    assert _numpy is not None
    # Each dtype is of a class of its own since numpy 1.20.
    for kind in dict.fromkeys(type(_numpy.dtype(name)) for name in names):
        ROWS.constant_types(kind)
        ROWS.pure_types(kind)
        ROWS.add(COMPARED_TYPES, kind, None)
    for function in (_numpy.dtype, _numpy.finfo, _numpy.iinfo):
        _register_row(function)
    for kind in (_numpy.finfo, _numpy.iinfo):
        ROWS.constant_types(kind)
        ROWS.add(CONSTANT_ATTRIBUTES, kind, _read_info)


def _read_info(tx: TraceContext, constant: Constant, name: str) -> Tracker:
    found = getattr(constant.value, name, None)
    return (
        from_python(tx, found) if found is not None else constant.unsupported(f"reading attribute {name!r}")
    )


def _write_file(tx: TraceContext, scalar: Tracker, *args: Tracker, **kwargs: Tracker) -> Tracker:
    """Break the graph for the methods of a scalar that write a file: the others are pure."""
    raise GraphBreak(NUMPY_CALL, f"writing {scalar.describe()} to a file")


def _install() -> None:
    if _numpy is None:
        return
    _dtypes(_SCALARS)
    ufunc = _numpy.ufunc
    # By id, since a function may be exported under several names.
    ufuncs = {id(value): value for value in vars(_numpy).values() if isinstance(value, ufunc)}
    functions = {id(function): function for function in [getattr(_numpy, name) for name in _FUNCTIONS]}
    kinds = {getattr(_numpy, name) for name in _SCALARS}
    for function in (*ufuncs.values(), *functions.values(), *kinds):
        _register_row(function)
    for kind in kinds:
        _register_scalar(kind)
    ROWS.call(_numpy.generic.tofile, _numpy.generic.dump)(_write_file)
    ROWS.pure_types(_numpy.generic, _numpy.number, _numpy.integer, _numpy.floating, *kinds)


_install()
