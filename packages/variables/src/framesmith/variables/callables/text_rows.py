"""Rows for text: `str`, `repr`, `ascii`, `format`, `str.join`, `str.format`, `bytes`, `os.fspath`."""

import os
from collections.abc import Callable
from functools import partial
from typing import Final

from framesmith.guards.class_lookup import class_name, defines
from framesmith.variables.builtin_types.iterators import unpack_sequence
from framesmith.variables.callables.type_texts import CONVERSIONS, format_value, repr_of, str_of
from framesmith.variables.core.base import TraceContext, Tracker
from framesmith.variables.core.constant import Constant
from framesmith.variables.core.folding import fold
from framesmith.variables.core.raising import raise_observed
from framesmith.variables.core.rows import Rows
from framesmith.variables.operations.declining import is_modelled

ROWS: Final = Rows()

ROWS.call(repr)(repr_of)
ROWS.call(format)(format_value)
ROWS.call(ascii)(CONVERSIONS["a"])

JOINS: Final[dict[type, Callable[..., object]]] = {str: str.join, bytes: bytes.join}


@ROWS.call(str)
def call_str(
    tx: TraceContext,
    object: Tracker | None = None,  # the name of the real parameter
    encoding: Tracker | None = None,
    errors: Tracker | None = None,
) -> Tracker:
    """`str(object)`, `str(bytes, encoding, errors)`."""
    if object is None:
        return Constant("")
    given = {name: value for name, value in (("encoding", encoding), ("errors", errors)) if value is not None}
    if not given:
        return str_of(tx, object)
    if not all(value.is_python_constant() for value in (object, *given.values())):
        return object.unsupported("decoding")
    return fold(tx, str, [object], given)


@ROWS.call(str.join)
def str_join(tx: TraceContext, self: Tracker, iterable: Tracker, /) -> Tracker:
    """`self.join(iterable)`."""
    return _join(tx, self, iterable, str)


@ROWS.call(bytes.join)
def bytes_join(tx: TraceContext, self: Tracker, iterable: Tracker, /) -> Tracker:
    """`self.join(iterable)`."""
    return _join(tx, self, iterable, bytes)


def _join(tx: TraceContext, self: Tracker, iterable: Tracker, cls: type) -> Tracker:
    refuse = partial(raise_observed, tx, TypeError, "can only join an iterable")
    # `str.join` makes a list of an iterable first, so that errors of items come after all were taken
    items = [item.realize().builtin_part_or_self(tx) for item in unpack_sequence(tx, iterable, refuse)]
    for index, item in enumerate(items):
        if not issubclass(item.python_type, cls):
            expected = "str instance" if cls is str else "a bytes-like object"
            shown = class_name(item.python_type)
            raise_observed(tx, TypeError, f"sequence item {index}: expected {expected}, {shown} found")
        if not isinstance(item, Constant):
            return item.unsupported("joining it")
    values = [item.as_python_constant() for item in items]
    return fold(tx, lambda separator: JOINS[cls](separator, values), [self])


@ROWS.call(bytes)
def call_bytes(tx: TraceContext, *args: Tracker, **kwargs: Tracker) -> Tracker:
    """`bytes(...)` of known values; others break the graph."""
    operands = (*args, *kwargs.values())
    for operand in operands:
        if not operand.is_python_constant():
            return operand.unsupported("making bytes of it")
    return fold(tx, bytes, args, kwargs)


@ROWS.call(os.fspath)
def call_fspath(tx: TraceContext, path: Tracker) -> Tracker:
    """`os.fspath(path)`: text as it is, else what `__fspath__` gives (`PyOS_FSPath`, Modules/posixmodule.c)."""
    path = path.realize()
    if issubclass(path.python_type, str | bytes):
        return path
    shown = class_name(path.python_type)
    if not defines(path.python_type, "__fspath__"):
        if not is_modelled(tx, path.python_type):
            return path.unsupported("use as a path")
        return raise_observed(tx, TypeError, f"expected str, bytes or os.PathLike object, not {shown}")
    result = path.special_attribute(tx, "__fspath__").call(tx, [], {}).realize()
    if not issubclass(result.python_type, str | bytes):
        given = class_name(result.python_type)
        text = f"expected {shown}.__fspath__() to return str or bytes, not {given}"
        return raise_observed(tx, TypeError, text)
    return result
