"""Rows for the constructors of builtin types: `list`, `tuple`, `bool`, `int`, `float`, `str` ...

Those of containers with rows of their own (sets, dicts, deques) stand beside them.
"""

from typing import Final

import torch

from framesmith.guards.class_lookup import class_name, defines
from framesmith.variables.builtin_types.iterators import TUPLE_ASKS, unpack
from framesmith.variables.builtin_types.lists import ListTracker
from framesmith.variables.builtin_types.tuples import TupleTracker
from framesmith.variables.callables.reductions import begin_call_with_items, runs_python
from framesmith.variables.core.base import PendingCall, TraceContext, Tracker
from framesmith.variables.core.constant import Constant
from framesmith.variables.core.folding import fold
from framesmith.variables.core.raising import raise_observed
from framesmith.variables.core.rows import Rows
from framesmith.variables.operations.compare import compare
from framesmith.variables.operations.declining import is_modelled
from framesmith.variables.operations.truth import truth_of

ROWS: Final = Rows()


@ROWS.call(list)
def call_list(tx: TraceContext, iterable: Tracker | None = None, /) -> Tracker | PendingCall:
    """`list([iterable])`."""
    # the frames of its code are entered by a polyfill, so that the graph may break in them
    if iterable is not None and runs_python(iterable):
        return begin_call_with_items(tx, iterable, list, asks=True)
    return ListTracker([] if iterable is None else unpack(tx, iterable, asks=True))


@ROWS.call(tuple)
def call_tuple(tx: TraceContext, iterable: Tracker | None = None, /) -> Tracker | PendingCall:
    """`tuple([iterable])`: an exact tuple is returned itself."""
    if iterable is not None and runs_python(iterable):
        return begin_call_with_items(tx, iterable, tuple, asks=TUPLE_ASKS)
    # also an unread one, whose items stay unread
    if iterable is not None and iterable.python_type is tuple:
        return iterable
    return TupleTracker([] if iterable is None else unpack(tx, iterable, asks=TUPLE_ASKS))


@ROWS.call(torch.Size)
def call_size(tx: TraceContext, iterable: Tracker | None = None, /) -> Tracker:
    """`torch.Size([iterable])`; breaks the graph when an item is no integer."""
    sizes = [] if iterable is None else [size.realize() for size in unpack(tx, iterable)]
    for size in sizes:
        if not issubclass(size.python_type, int):
            size.unsupported("a size that is no integer")
    return TupleTracker(sizes, None, torch.Size)


@ROWS.call(bool)
def call_bool(tx: TraceContext, value: Tracker | None = None, /) -> Tracker:
    """`bool(value)`; for a tensor its method `__bool__` is called, which may break the graph."""
    if value is None:
        return Constant(False)
    answer = truth_of(tx, value)
    if isinstance(answer, bool):
        return Constant(answer)
    # a symbolic bool is its own truth
    if answer.python_type is bool:
        return answer
    # so that the answer stays symbolic, where a branch would guard it
    if answer.is_run_time_number:
        return compare(tx, "!=", answer, Constant(0))
    return value.special_attribute(tx, "__bool__").call(tx, [], {})


@ROWS.call(int)
def call_int(tx: TraceContext, value: Tracker | None = None, /, base: Tracker | None = None) -> Tracker:
    """`int(value)`, `int(text, base)`."""
    if value is None:
        return Constant(0)
    if isinstance(value, Constant) and (base is None or base.is_python_constant()):
        return fold(tx, int, [value] if base is None else [value, base])
    if base is not None:
        return value.unsupported("int() with a base")
    return _convert_number(
        tx,
        value,
        int,
        ("__int__", "__index__"),
        "int() argument must be a string, a bytes-like object or a real number, not",
    )


@ROWS.call(float)
def call_float(tx: TraceContext, value: Tracker | None = None, /) -> Tracker:
    """`float(value)`; of a symbolic number a symbolic number."""
    if value is None:
        return Constant(0.0)
    if isinstance(value, Constant):  # a symbolic number stays one
        return fold(tx, float, [value])
    return _convert_number(
        tx,
        value,
        float,
        ("__float__", "__index__"),
        "float() argument must be a string or a real number, not",
    )


@ROWS.call(complex)
def call_complex(tx: TraceContext, *args: Tracker, **kwargs: Tracker) -> Tracker:
    """`complex(real, imag)`; errors tell arguments by position from keywords."""
    given = (*args, *kwargs.values())
    if all(part.is_python_constant() for part in given):
        return fold(tx, complex, args, kwargs)
    if len(given) != 1 or "imag" in kwargs or not defines(given[0].python_type, "__complex__"):
        return given[0].unsupported("conversion to complex")
    return _require_exact(given[0], given[0].special_attribute(tx, "__complex__").call(tx, [], {}), complex)


def _require_exact(value: Tracker, result: Tracker, cls: type) -> Tracker:
    """The result of a conversion method; breaks the graph where it
    is not exactly of the type, which warns or is a TypeError."""
    result = result.realize()
    return result if result.python_type is cls else value.unsupported(f"its conversion to {cls.__name__}")


def _convert_number(
    tx: TraceContext, value: Tracker, cls: type, names: tuple[str, ...], message: str
) -> Tracker:
    """Call the first of these conversion methods that the type has;
    breaks for text and buffers, and for `__trunc__`; TypeError for others."""
    # their content is parsed; an instance of a subclass may hold one that is not known
    if issubclass(value.python_type, str | bytes):
        return value.unsupported("reading a number out of it")
    for name in names:
        if defines(value.python_type, name):
            result = value.special_attribute(tx, name).call(tx, [], {})
            # `float` of an object with `__index__` alone is that of the int
            if name == "__index__" and cls is float:
                return fold(tx, float, [_require_exact(value, result, int)])
            return _require_exact(value, result, cls)
    # one that is not modelled may give its bytes; the use of `__trunc__` is deprecated
    if not is_modelled(tx, value.python_type) or (cls is int and defines(value.python_type, "__trunc__")):
        return value.unsupported("reading a number out of it")
    return raise_observed(tx, TypeError, f"{message} '{class_name(value.python_type)}'")
