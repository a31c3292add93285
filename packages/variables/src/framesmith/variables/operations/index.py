"""Where C code needs a known number or truth: `operator.index`, and truth that decides what the trace does next."""

from framesmith.graph import GraphBreak
from framesmith.graph.break_kinds import DATA_DEPENDENT_BRANCH
from framesmith.guards.class_lookup import defines
from framesmith.variables.core.base import TraceContext, Tracker
from framesmith.variables.core.constant import Constant
from framesmith.variables.core.raising import raise_observed
from framesmith.variables.core.type_names import type_name
from framesmith.variables.operations.compare import compare, equal
from framesmith.variables.operations.truth import truth_of


def index_of(tx: TraceContext, value: Tracker, message: str | None = None) -> int:
    """`operator.index(value)` as a known number; breaks the graph
    if it is not known. `message` replaces that of the TypeError."""
    value = value.realize().storage()
    if isinstance(value, Constant) and isinstance(value.value, int):
        return int(value.value)
    if not defines(value.python_type, "__index__"):
        shown = f"'{type_name(value)}' object cannot be interpreted as an integer"
        raise_observed(TypeError, message or shown)
    result = value.attribute(tx, "__index__").call(tx, [], {}).realize()
    if isinstance(result, Constant) and isinstance(result.value, int):
        return int(result.value)
    return value.unsupported("use as an index")


def known_truth(tx: TraceContext, value: Tracker) -> bool:
    """`bool(value)`, which has to be known; breaks the graph if it is known at run time only."""
    return require_known_truth(truth_of(tx, value), value)


def known_equal(tx: TraceContext, left: Tracker, right: Tracker) -> bool:
    """Whether a container treats the two as equal: identity, then `==`; breaks the graph if not known."""
    return require_known_truth(equal(tx, left, right), left)


def known_compare(tx: TraceContext, symbol: str, left: Tracker, right: Tracker) -> bool:
    """The truth of `left <symbol> right`; breaks the graph if not known."""
    return known_truth(tx, compare(tx, symbol, left, right))


def require_known_truth(answer: bool | Tracker, about: Tracker) -> bool:
    """The answer if it is known; a graph break if it is the run-time value of a tensor or number."""
    if isinstance(answer, bool):
        return answer
    raise GraphBreak(DATA_DEPENDENT_BRANCH, f"an answer about {about.describe()} is needed to go on")
