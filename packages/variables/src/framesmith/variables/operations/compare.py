"""Rich comparison, and equality as containers use it."""

import operator
from collections.abc import Callable
from typing import Final

import torch

from framesmith.guards.class_lookup import derives
from framesmith.variables.core.base import TraceContext, Tracker
from framesmith.variables.core.constant import Constant
from framesmith.variables.core.folding import fold, fold_with_builtin_part, foldable_operands
from framesmith.variables.core.known_value import KnownValue
from framesmith.variables.core.lazy import Lazy
from framesmith.variables.core.raising import raise_observed
from framesmith.variables.core.type_names import type_name
from framesmith.variables.operations.declining import check_declined, check_run_time_number
from framesmith.variables.operations.truth import truth_of

FUNCTIONS: Final[dict[str, Callable[..., object]]] = {
    "<": operator.lt,
    "<=": operator.le,
    "==": operator.eq,
    "!=": operator.ne,
    ">": operator.gt,
    ">=": operator.ge,
}
METHODS: Final[dict[str, str]] = {
    "<": "__lt__",
    "<=": "__le__",
    "==": "__eq__",
    "!=": "__ne__",
    ">": "__gt__",
    ">=": "__ge__",
}
MIRROR: Final[dict[str, str]] = {"<": ">", "<=": ">=", "==": "==", "!=": "!=", ">": "<", ">=": "<="}


_COMPARED_BY_ITEMS: Final = frozenset({tuple, list, dict, set, frozenset, torch.Size})


def compare(tx: TraceContext, symbol: str, left: Tracker, right: Tracker) -> Tracker:
    """`left <symbol> right`, in CPython's order of calls, with identity as the fallback of `==` and `!=`."""
    left, right = left.realize(), right.realize()
    if foldable_operands(left, right):
        return fold(tx, FUNCTIONS[symbol], (left, right))
    # here CPython does not ask whether the subclass overrides the method, unlike for operators
    subclass_first = left.python_type is not right.python_type and derives(
        right.python_type, left.python_type
    )
    asked = [(left, symbol, right), (right, MIRROR[symbol], left)]
    for one, question, other in reversed(asked) if subclass_first else asked:
        result = one.compare(tx, question, other)
        if result is None and isinstance(one, Constant):
            result = fold_with_builtin_part(tx, METHODS[question], one, other)
        if result is not None:
            return result
        check_run_time_number(one, other, METHODS[MIRROR[question]])
        check_declined(tx, one, METHODS[question], other)
    check_run_time_number(left, right)
    check_run_time_number(right, left)
    if symbol in ("==", "!="):
        return Constant(is_one_object(tx, left, right) == (symbol == "=="))
    return raise_observed(
        tx,
        TypeError,
        f"'{symbol}' not supported between instances of '{type_name(left)}' and '{type_name(right)}'",
    )


def is_one_object(tx: TraceContext, left: Tracker, right: Tracker) -> bool:
    """`left is right`, noted for calls that are repeated (`variables.blocks`)."""
    # one tracker is one object: nothing is read and guarded
    same = left is right or left.realize().is_same(tx, right.realize())
    if not isinstance(left, Constant) and not isinstance(right, Constant):
        tx.changes.told_apart.append((_place(left), _place(right)))
    return same


def _place(tracker: Tracker) -> int:
    return id(tracker.realize() if isinstance(tracker, Lazy) and tracker.is_realized else tracker)


def equal(tx: TraceContext, left: Tracker, right: Tracker) -> bool | Tracker:
    """Whether a container treats the two as equal: identity first, then the truth of `==`."""
    left, right = left.realize(), right.realize()
    if left is right:
        return is_one_object(tx, left, right)
    if isinstance(left, Constant) and isinstance(right, Constant):
        # the NaN is left out: it equals itself by identity alone
        if left.value is right.value and left.value == left.value:
            return True  # so is any other object that is equal
        if left.value != left.value and left.is_same(tx, right):
            return True
    elif _asks_identity(left, right) and is_one_object(tx, left, right):
        return True
    answer = truth_of(tx, compare(tx, "==", left, right))
    if answer is False and left.python_type is right.python_type is float:
        _check_numbers(tx, left, right)
    return answer


def _asks_identity(left: Tracker, right: Tracker) -> bool:
    """Whether the identity of the two matters: not for two containers, whose items are compared one by one, nor for values
    that equal themselves."""
    if (
        left.is_run_time_number
        or right.is_run_time_number
        or (_equals_itself(left) and _equals_itself(right))
    ):
        return False
    return left.python_type not in _COMPARED_BY_ITEMS or right.python_type not in _COMPARED_BY_ITEMS


def _equals_itself(operand: Tracker) -> bool:
    return isinstance(operand, KnownValue) and operand.equals_itself


def _check_numbers(tx: TraceContext, left: Tracker, right: Tracker) -> None:
    """Break the graph for two unequal floats that differ from call
    to call, if both are NaN: they may still be one object."""
    if not (left.is_run_time_number or right.is_run_time_number):
        return
    for one in (left, right):
        if truth_of(tx, compare(tx, "==", one, one)) is True:
            return
    left.unsupported("a comparison in a container (it may be the very NaN it is compared with)")
