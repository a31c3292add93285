"""`operator.index`, and comparisons that need a known answer: they break the graph where the value is not known.

C code needs both, to subscript and to search in containers.
"""

from framesmith.graph import GraphBreak
from framesmith.graph.breaks.break_kinds import UNBACKED_GUARD
from framesmith.guards.class_lookup import defines
from framesmith.variables.core.base import TraceContext, Tracker
from framesmith.variables.core.constant import Constant
from framesmith.variables.core.raising import raise_observed
from framesmith.variables.core.type_names import type_name
from framesmith.variables.operations.compare import compare, equal
from framesmith.variables.operations.truth import known_truth, require_known


def index_of(tx: TraceContext, value: Tracker, message: str | None = None) -> int:
    """`operator.index(value)` as a known number; breaks the graph
    if it is not known. `message` replaces that of the TypeError."""
    value = value.realize()
    part = value.builtin_part_or_self(tx)
    # an int, or a subclass of int whose `__index__` C code does not call
    if isinstance(part, Constant) and isinstance(part.value, int):
        return int(part.value)
    if not defines(value.python_type, "__index__"):
        shown = f"'{type_name(value)}' object cannot be interpreted as an integer"
        raise_observed(tx, TypeError, message or shown)
    result = value.special_attribute(tx, "__index__").call(tx, [], {}).realize()
    if isinstance(result, Constant) and type(result.value) is int:  # a subclass of int is deprecated here
        return result.value
    if result.python_type is int and result.is_python_constant():
        known = result.as_python_constant()
        assert isinstance(known, int)
        return known
    if result.python_type is int and result.is_run_time_number:
        raise GraphBreak(UNBACKED_GUARD, f"an index is needed, and it is {result.describe()}")
    return value.unsupported("use as an index")


def known_equal(tx: TraceContext, left: Tracker, right: Tracker) -> bool:
    """Whether a container treats the two as equal: identity, then `==`; breaks the graph if not known."""
    return require_known(equal(tx, left, right))


def known_compare(tx: TraceContext, symbol: str, left: Tracker, right: Tracker) -> bool:
    """The truth of `left <symbol> right`; breaks the graph if not known."""
    return known_truth(tx, compare(tx, symbol, left, right))
