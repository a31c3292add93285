"""`hash(value)` as a number. The key of a tracker in a modelled dict or set is `Tracker.hash_key`."""

from framesmith.guards.class_lookup import defines
from framesmith.variables.core.base import TraceContext, Tracker
from framesmith.variables.core.constant import has_known_hash
from framesmith.variables.core.folding import fold


def hash_of(tx: TraceContext, value: Tracker) -> Tracker:
    """`hash(value)`, known for constants: the hash of a string is valid for this process, as the entry is. Breaks the
    graph for other values and for a NaN; TypeError for unhashable ones."""
    if value.is_python_constant() and defines(value.python_type, "__hash__"):
        if has_known_hash(value.as_python_constant()):
            return fold(tx, hash, [value])
    else:
        # for its TypeError only
        value.hash_key(tx)
    return value.unsupported("asking for its hash")
