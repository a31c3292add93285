"""Rows for functions of the module `builtins` that call one slot of their operand, or always break the graph.

Constructors are in `constructors`, reductions and sorting in `reductions`.
"""

import builtins
import operator
import sys
from collections.abc import Callable
from dataclasses import replace
from datetime import date, datetime
from typing import Final

from framesmith.graph import BreakKind, GraphBreak, register
from framesmith.graph.breaks.break_kinds import INTROSPECTION, PRINT_OR_LOG, SYSTEM_CALL
from framesmith.guards.class_lookup import class_name, defines, derives, overrides, static_lookup
from framesmith.variables.builtin_types.iterators import TUPLE_REVERSED, ReversedIterator, unpack
from framesmith.variables.builtin_types.tuples import TupleTracker, reverse_tuple
from framesmith.variables.callables.call_iterators import CallIterator, SubscriptReversed
from framesmith.variables.core.base import PendingCall, TraceContext, Tracker
from framesmith.variables.core.constant import Constant
from framesmith.variables.core.cpython_messages import find_error_text
from framesmith.variables.core.folding import fold, foldable_operands
from framesmith.variables.core.observed import ObservedException
from framesmith.variables.core.raising import raise_observed
from framesmith.variables.core.rows import Rows
from framesmith.variables.core.table import callable_name
from framesmith.variables.core.type_names import type_name
from framesmith.variables.operations.binary import binary
from framesmith.variables.operations.hashing import hash_of
from framesmith.variables.operations.index import index_of
from framesmith.variables.symbolic_numbers.symbolic import specialize

ROWS: Final = Rows()

NONE = Constant(None)

CLASS_STATEMENT: Final = register(
    BreakKind(
        "class-statement",
        "a class is defined",
        "The body of the class runs in a namespace of its own, and whatever its metaclass does follows.",
        "Define the class at the top of the file, or make it with type(name, bases, namespace), which is captured.",
    )
)

_NUMBERS: Final = (int, float, bool)

_NOTHING_TO_CALL: Final = find_error_text(iter, None, None)


@ROWS.call(len)
def call_len(tx: TraceContext, value: Tracker, /) -> Tracker:
    """`len(value)`."""
    if not defines(value.python_type, "__len__"):
        raise_observed(tx, TypeError, f"object of type '{type_name(value)}' has no len()")
    return value.length(tx)


@ROWS.call(iter)
def call_iter(tx: TraceContext, value: Tracker, sentinel: Tracker | None = None, /) -> Tracker:
    """`iter(iterable)`, `iter(function, sentinel)`."""
    # not given; `iter(f, None)` gives the tracker of None
    if sentinel is None:
        return value.iterate(tx)
    if not defines(value.python_type, "__call__"):
        raise_observed(tx, TypeError, _NOTHING_TO_CALL)
    return CallIterator(value, sentinel)


@ROWS.call(next)
def call_next(
    tx: TraceContext, iterator: Tracker, default: Tracker | None = None, /
) -> Tracker | PendingCall:
    """`next(iterator[, default])`."""
    if not defines(iterator.python_type, "__next__"):
        raise_observed(tx, TypeError, f"'{type_name(iterator)}' object is not an iterator")
    try:
        found = iterator.begin_advance(tx)
    except ObservedException as error:
        # raised by a function that C code calls: it is passed on as it is, value included
        if default is None or not error.ends_iteration:
            raise
        return default
    if isinstance(found, PendingCall):
        # the pending frame runs after this row has returned, so the default goes with it
        return replace(found, otherwise=default)
    if found is not None:
        return found
    return raise_observed(tx, StopIteration) if default is None else default


@ROWS.call(reversed)
def call_reversed(tx: TraceContext, sequence: Tracker, /) -> Tracker:
    """`reversed(sequence)`: by `__reversed__`, else by length and subscripts."""
    cls = sequence.python_type
    # tuples have no `__reversed__`: the type `reversed` reads them by index
    if isinstance(sequence, TupleTracker) and not defines(cls, "__reversed__"):
        return reverse_tuple(sequence)
    if defines(cls, "__reversed__"):
        # None forbids it, with a TypeError of its own
        if static_lookup(cls, "__reversed__") is None:
            return sequence.unsupported("its __reversed__, which is None")
        return sequence.special_attribute(tx, "__reversed__").call(tx, [], {})
    if not defines(cls, "__getitem__") or not defines(cls, "__len__"):
        raise_observed(tx, TypeError, f"'{type_name(sequence)}' object is not reversible")
    # a text: its characters are read at once, since it cannot change
    if isinstance(sequence, Constant):
        characters = sequence.iterate(tx)
        return ReversedIterator(sequence, unpack(tx, characters), TUPLE_REVERSED)
    return SubscriptReversed(sequence, index_of(tx, sequence.length(tx)) - 1)


@ROWS.call(abs, operator.abs)
def call_abs(tx: TraceContext, value: Tracker, /) -> Tracker:
    """`abs(value)`."""
    if not defines(value.python_type, "__abs__"):
        raise_observed(tx, TypeError, f"bad operand type for abs(): '{type_name(value)}'")
    return value.special_attribute(tx, "__abs__").call(tx, [], {})


@ROWS.call(round)
def call_round(tx: TraceContext, number: Tracker, ndigits: Tracker | None = None) -> Tracker:
    """`round(number[, ndigits])`."""
    if not defines(number.python_type, "__round__"):
        raise_observed(
            tx, TypeError, f"type {class_name(number.python_type)} doesn't define __round__ method"
        )
    digits = [] if ndigits is None or (isinstance(ndigits, Constant) and ndigits.value is None) else [ndigits]
    return number.special_attribute(tx, "__round__").call(tx, digits, {})


@ROWS.call(divmod)
def call_divmod(tx: TraceContext, left: Tracker, right: Tracker, /) -> Tracker:
    """`divmod(a, b)`: by `__divmod__` or `__rdivmod__`; of numbers the pair `a // b, a % b`."""
    left, right = left.realize(), right.realize()
    # two constants: `divmod` of C words its own errors, as for a zero
    if foldable_operands(left, right):
        return fold(tx, divmod, (left, right))
    if left.python_type in _NUMBERS and right.python_type in _NUMBERS:
        try:
            return TupleTracker([binary(tx, "//", left, right), binary(tx, "%", left, right)])
        except ObservedException:
            # Only a zero raises, which is guarded by now: `divmod` words its error.
            return fold(tx, divmod, (specialize(tx, left), specialize(tx, right)))
    sides = [(left, "__divmod__", right)]
    if left.python_type is not right.python_type:
        sides.append((right, "__rdivmod__", left))
        # an instance of a subclass that overrides the reflected method comes first, as for `//`
        if derives(right.python_type, left.python_type) and overrides(
            right.python_type, left.python_type, "__rdivmod__"
        ):
            sides.reverse()
    for one, name, other in sides:
        result = _ask_divmod(tx, one, name, other)
        if not (isinstance(result, Constant) and result.value is NotImplemented):
            return result
    shown = f"'{type_name(left)}' and '{type_name(right)}'"
    return raise_observed(tx, TypeError, f"unsupported operand type(s) for divmod(): {shown}")


def _ask_divmod(tx: TraceContext, one: Tracker, name: str, other: Tracker) -> Tracker:
    """What the method of one operand gives; NotImplemented where its class has none."""
    if not defines(one.python_type, name):
        return Constant(NotImplemented)
    if one.python_type not in _NUMBERS:
        return one.special_attribute(tx, name).call(tx, [other], {}).realize()
    # a number takes others, also the number in an instance of a subclass
    part = other.builtin_part_or_self(tx)
    if part is not other and foldable_operands(one, part):
        return fold(tx, getattr(one.python_type, name), (one, part))
    return other.unsupported("divmod() with it") if part is not other else Constant(NotImplemented)


@ROWS.call(pow)
def call_pow(tx: TraceContext, base: Tracker, exp: Tracker, mod: Tracker = NONE) -> Tracker:
    """`pow(base, exp[, mod])`; with a modulus only for constants."""
    if isinstance(mod, Constant) and mod.value is None:
        return binary(tx, "**", base, exp)
    operands = (base, exp, mod)
    if not all(isinstance(operand, Constant) for operand in operands):
        return base.unsupported("pow() with a modulus")
    return fold(tx, pow, operands)


@ROWS.call(hash)
def call_hash(tx: TraceContext, value: Tracker, /) -> Tracker:
    """`hash(value)`: known for constants. The hash of a string is valid for this process, as the entry is."""
    return hash_of(tx, value)


@ROWS.call(print)
def call_print(tx: TraceContext, *values: Tracker, **options: Tracker) -> Tracker:
    """`print(...)`: breaks the graph, since output is written between two graphs."""
    raise GraphBreak(PRINT_OR_LOG, "print()")


@ROWS.call(builtins.__build_class__)
def call_build_class(
    tx: TraceContext, body: Tracker, name: Tracker, *args: Tracker, **kwargs: Tracker
) -> Tracker:
    """`class Name(...): ...`: breaks the graph, since the body runs in a namespace of its own."""
    raise GraphBreak(
        CLASS_STATEMENT, f"class {name.value}" if isinstance(name, Constant) else name.describe()
    )


def _add_breaks(kind: BreakKind, *functions: Callable[..., object]) -> None:
    """Add rows that break the graph, for functions that need the real interpreter or the operating system."""
    for function in functions:
        _add_break(kind, function)


def _add_break(kind: BreakKind, function: Callable[..., object]) -> None:
    @ROWS.call(function)
    def refuse(tx: TraceContext, *args: Tracker, **kwargs: Tracker) -> Tracker:
        raise GraphBreak(kind, f"{callable_name(function)}()")


_add_breaks(INTROSPECTION, exec, eval, compile, breakpoint, locals, globals, dir)
_add_breaks(INTROSPECTION, sys._getframe, sys._current_frames, sys.settrace, sys.setprofile)
_add_breaks(SYSTEM_CALL, input, open, datetime.now, datetime.utcnow, datetime.today, date.today)
