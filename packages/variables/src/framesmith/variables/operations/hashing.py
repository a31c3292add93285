"""`hash(value)` as a number. What a dict or set stores a tracker under is `Tracker.hash_key`."""

from framesmith.variables.core.base import TraceContext, Tracker
from framesmith.variables.core.builtin_methods import defines
from framesmith.variables.core.constant import has_known_hash
from framesmith.variables.core.folding import fold


def hash_of(tx: TraceContext, value: Tracker) -> Tracker:
    """Known for constants: the hash of a string holds for this process, as the entry does. Breaks where a NaN has a part."""
    if value.is_python_constant() and defines(value.python_type, "__hash__"):
        if has_known_hash(value.as_python_constant()):
            return fold(tx, hash, [value])
    else:
        value.hash_key(tx)
    return value.unsupported("asking for its hash")
