"""Folding: run a pure callable while tracing when all operands are known, and turn the result into trackers.

Which callables are pure is said in `callables.pure_rows` and `core.pure`.
"""

import enum
import functools
import operator
import warnings
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from types import WrapperDescriptorType
from typing import Final

from framesmith.graph import GraphBreak
from framesmith.graph.breaks.break_kinds import NATIVE_CALL, UNSUPPORTED_VALUE
from framesmith.guards.class_lookup import static_lookup
from framesmith.guards.comparison import is_plain_constant
from framesmith.guards.kinds import EqualTo, HasInstanceAttribute, TypeIs
from framesmith.guards.sources import InstanceItem, Pinned
from framesmith.guards.words import a_type
from framesmith.variables.core.base import TraceContext, Tracker
from framesmith.variables.core.constant import Constant, has_copies, is_constant_type
from framesmith.variables.core.enum_tables import guard_table
from framesmith.variables.core.observed import ObservedException
from framesmith.variables.core.raising import new_exception
from framesmith.variables.core.registry import Table

Builder = Callable[[TraceContext, object], Tracker]
BUILDERS: Final = Table[type, Builder]("trackers of new values")
"""How a new value of exactly this type (list, tuple, dict ...) becomes a tracker."""
Warned = tuple[Callable[[], AbstractContextManager[object]], type[Exception]]
WARNING_TYPES: Final = Table[type, Warned]("types whose operations may warn")
"""Operations on values of exactly these types may warn, and have to warn in each call: within the context an operation
raises the error instead of the warning, and the graph breaks."""
_TEXTS: Final = (str, repr, format)


def from_python(tx: TraceContext, value: object) -> Tracker:
    """The tracker of a value created in the trace. Breaks the graph for types without a builder."""
    cls = type(value)
    if is_constant_type(tx.registry, cls):
        return Constant(value)
    builders = tx.registry[BUILDERS]
    # a class whose metaclass is the user's has no row under that; it is a class all the same
    builder = builders.get(cls) or (builders.get(type) if isinstance(value, type) else None)
    if builder is None:
        raise GraphBreak(UNSUPPORTED_VALUE, f"{a_type(cls)} came out of a folded call")
    return builder(tx, value)


def foldable_operands(*operands: Tracker) -> bool:
    """Whether all operands are `Constant`s: immutable, so that running an operation has no effect."""
    return all(isinstance(operand, Constant) for operand in operands)


def fold(
    tx: TraceContext,
    function: Callable[..., object],
    args: Sequence[Tracker],
    kwargs: Mapping[str, Tracker] | None = None,
) -> Tracker:
    """`function(*args, **kwargs)`, run now on the known values; an exception of it is raised in the user's program."""
    operands = (*args, *(kwargs or {}).values())
    for operand in operands:
        if isinstance(operand, Constant) and isinstance(operand.value, enum.Enum):
            # before the call, which may break the graph or raise: what it reads is guarded in any case
            _guard_member(tx, operand.value, function)
    positional = [argument.as_python_constant() for argument in args]
    keywords = {name: value.as_python_constant() for name, value in (kwargs or {}).items()}
    try:
        result = _run(tx, function, positional, keywords)
    # is an Exception too, but none of the user's program
    except GraphBreak:
        raise
    except Exception as error:
        raised = new_exception(tx, type(error), *[from_python(tx, argument) for argument in error.args])
        for name, held in vars(error).items():  # `re.error` keeps what it found
            raised.set_attribute(tx, name, from_python(tx, held))
        raise ObservedException(raised) from None
    # `max`, `str.strip` and others may give an operand back, which is the very object then
    if has_copies(result):
        for operand in operands:
            if isinstance(operand, Constant) and operand.value is result:
                return operand
    return from_python(tx, result)


def fold_method(tx: TraceContext, name: str, left: Constant, right: Tracker) -> Tracker | None:
    """What the C method of the type of `left` gives for a known `right`; None for NotImplemented, or without one."""
    method = static_lookup(left.python_type, name)
    # a member of an enumeration may have one in Python
    if not isinstance(method, WrapperDescriptorType):
        return None
    result = fold(tx, method, (left, right))
    return None if isinstance(result, Constant) and result.value is NotImplemented else result


def fold_with_builtin_part(tx: TraceContext, name: str, left: Constant, right: Tracker) -> Tracker | None:
    """The same for an instance of a subclass of a builtin type, of which a C method reads the builtin part."""
    part = None if right.builtin_part is None else right.builtin_part_or_self(tx)
    return fold_method(tx, name, left, part) if isinstance(part, Constant) else None


def wrap_pinned_member(member: enum.Enum) -> Pinned:
    """An enum member as the source of its attributes."""
    return Pinned(member, f"{type(member).__name__}.{vars(member).get('_name_')}")


def _guard_member(tx: TraceContext, member: enum.Enum, function: Callable[..., object]) -> None:
    """Guard `_value_` of a member, which can be replaced or deleted, for
    operations of flags and texts. Equality and hash do not use it."""
    if not (isinstance(member, enum.Flag) or function in _TEXTS):
        return
    source = wrap_pinned_member(member)
    present = "_value_" in vars(member)
    tx.guard(source, TypeIs(type(member)), "the class of a member decides how attributes are looked up")
    tx.guard(source, HasInstanceAttribute("_value_", present))
    if present and is_plain_constant(vars(member)["_value_"]):
        tx.guard(InstanceItem(source, "_value_"), EqualTo(vars(member)["_value_"]))
    if isinstance(member, enum.Flag):
        _guard_flags(tx, type(member))


def _guard_flags(tx: TraceContext, cls: type[enum.Flag]) -> None:
    """A combination of flags takes its members from the tables of the class."""
    guard_table(tx, cls, "_member_map_")
    guard_table(tx, cls, "_value2member_map_", (vars(one).get("_value_") for one in cls.__members__.values()))


def _warns(function: Callable[[], object]) -> bool:
    with warnings.catch_warnings(record=True) as found:
        # else the filters of the user, or an earlier warning from here, decide whether one is seen
        warnings.simplefilter("always")
        function()
    return bool(found)


_INVERSIONS: Final = (operator.invert, bool.__invert__)
_IS_INVERSION_DEPRECATED: Final = _warns(functools.partial(operator.invert, True))  # since Python 3.12


def _run(
    tx: TraceContext,
    function: Callable[..., object],
    positional: Sequence[object],
    keywords: Mapping[str, object],
) -> object:
    warning = tx.registry[WARNING_TYPES]
    given = (*positional, *keywords.values())
    warned = next((warning[kind] for kind in map(type, given) if kind in warning), None)
    if warned is None:
        if _IS_INVERSION_DEPRECATED and function in _INVERSIONS and type(given[0]) is bool:
            raise GraphBreak(NATIVE_CALL, f"~{given[0]}, which warns")
        return function(*positional, **keywords)
    strict, kind = warned
    try:
        with strict():
            return function(*positional, **keywords)
    except kind as error:
        shown = ", ".join(f"{type(value).__name__} {value!r}" for value in given)
        raise GraphBreak(NATIVE_CALL, f"an operation that warns or raises, on {shown}") from error
