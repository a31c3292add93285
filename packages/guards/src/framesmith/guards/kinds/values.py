"""Claims about the value of constants: equality that is exact by type, truth.

What equality means here: `comparison`.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import final

from framesmith.guards.class_lookup import class_name
from framesmith.guards.comparison import Comparable, hash_key, is_plain_constant, same_constant
from framesmith.guards.kinds.base import Claim, show_value
from framesmith.guards.names import Names, literal
from framesmith.guards.sources.base import Source


@final
@dataclass(frozen=True, slots=True, eq=False)
class EqualTo(Claim):
    """The value is the same constant: equal, and of the same type all the way down (`1` is not `True`, `0.0` not
    `-0.0`, a NaN is any NaN of its sign). What is no plain constant (an enum member, a dtype) is compared by identity."""

    value: object

    def hash_fields(self) -> tuple[object, ...]:
        return (hash_key(self.value),)

    @property
    def is_about_identity(self) -> bool:
        """Whether the value is compared by identity."""
        return not is_plain_constant(self.value) and not issubclass(
            type(self.value), Comparable | tuple | list | frozenset
        )

    def check(self, value: object) -> bool:
        return same_constant(value, self.value)

    def render(self, value_expression: str, names: Names) -> str:
        row = _RENDERERS.get(type(self.value))
        if row is not None:
            return row(self.value, value_expression, names)
        constant = names.constant(self.value, type(self.value).__name__)
        if self.is_about_identity:
            return f"{value_expression} is {constant}"
        return f"{names.constant(same_constant, 'same')}({value_expression}, {constant})"

    def explain(self, value: object, source: Source) -> str:
        if type(value) is not type(self.value):
            types = f" ({type(self.value).__name__} to {type(value).__name__})"
        else:
            types = ""
        return f"{source.text()}: value changed from {show_value(self.value)} to {show_value(value)}{types}"

    def text(self, source: Source) -> str:
        return f"{source.text()} == {show_value(self.value)}"


@final
@dataclass(frozen=True, slots=True, eq=False)
class NotEqualTo(Claim):
    """The string or number differs (Python's `!=`) from this one: the guard of a branch on `n != "a"`.
    The type of the value has to be guarded as well."""

    value: str | int | float | bytes

    def check(self, value: object) -> bool:
        return value != self.value

    def render(self, value_expression: str, names: Names) -> str:
        return f"{value_expression} != {names.constant(self.value, 'value')}"

    def explain(self, value: object, source: Source) -> str:
        return f"{source.text()}: equals {show_value(self.value)} now"

    def text(self, source: Source) -> str:
        return f"{source.text()} != {show_value(self.value)}"


@final
@dataclass(frozen=True, slots=True, eq=False)
class Truthy(Claim):
    """`bool(value)` is this. The type has to be guarded as well: only builtin types answer without user code."""

    expected: bool

    def check(self, value: object) -> bool:
        return bool(value) is self.expected

    def render(self, value_expression: str, names: Names) -> str:
        return f"not not {value_expression}" if self.expected else f"not {value_expression}"

    def explain(self, value: object, source: Source) -> str:
        return f"{source.text()}: bool() of it changed from {self.expected} to {bool(value)} ({show_value(value)})"

    def text(self, source: Source) -> str:
        return f"bool({source.text()}) is {self.expected}"


def _render_identity(constant: object, value: str, names: Names) -> str:
    return f"{value} is {literal(constant, names, 'constant')}"


def _render_type_and_value(constant: object, value: str, names: Names) -> str:
    """The identity test comes first: it need not read the value."""
    cls = type(constant)
    is_kind = f"{names.constant(type, 'type')}({value}) is {names.constant(cls, class_name(cls))}"
    held = names.constant(constant, class_name(cls))
    return f"({value} is {held} or {is_kind} and {value} == {held})"


def _render_float(constant: object, value: str, names: Names) -> str:
    assert isinstance(constant, float)
    held = names.constant(constant, "float")
    is_float = (
        f"{value} is {held} or {names.constant(type, 'type')}({value}) is {names.constant(float, 'float')}"
    )
    if constant == constant and constant != 0.0:
        return f"({is_float} and {value} == {held})"
    # The sign of a zero or NaN; what else is in the bits of a NaN is no part of the value.
    sign = f"{names.constant(math.copysign, 'copysign')}(1.0, {value}) == {math.copysign(1.0, constant)}"
    is_equal = f"{value} == 0.0" if constant == 0.0 else f"{value} != {value}"
    return f"({is_float} and {is_equal} and {sign})"


def _render_deeply(constant: object, value: str, names: Names) -> str:
    """The identity test comes first: constants of the code pass it, and no item is compared."""
    held = names.constant(constant, type(constant).__name__)
    return f"({value} is {held} or {names.constant(same_constant, 'same')}({value}, {held}))"


# One row per type of constant that has a cheaper text than a call.
_RENDERERS: dict[type, Callable[[object, str, Names], str]] = {
    type(None): _render_identity,
    bool: _render_identity,
    type(...): _render_identity,
    type(NotImplemented): _render_identity,
    int: _render_type_and_value,
    str: _render_type_and_value,
    bytes: _render_type_and_value,
    float: _render_float,
    tuple: _render_deeply,
    frozenset: _render_deeply,
    slice: _render_deeply,
}
