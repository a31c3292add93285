"""What another thread changes while a function is traced, or an object that ends then: a trace that met it is made again.

Containers are read at once where that is cheap; what is asked of one several times can still be gone the next time.
"""

from collections.abc import Callable, Sequence
from typing import Final

from framesmith.frontend.build_entry import BuiltEntry, EntryBuilder
from framesmith.frontend.errors import BackendFailed, FramesmithError
from framesmith.frontend.generated.entry import Entry
from framesmith.graph.breaks.interruptions import is_of_signal_handler
from framesmith.guards import MISSES, Scope

# A container that changes all the time may be met again and again.
_TRACES: Final = 3


def build_despite_races(builder: EntryBuilder, values: Sequence[object]) -> BuiltEntry:
    """The entry that the builder makes. What looks like a changed container is a bug of ours if it happens in each of three traces."""
    for _ in range(_TRACES - 1):
        try:
            return builder.build(values)
        except (FramesmithError, BackendFailed):
            raise
        except (LookupError, RuntimeError, StopIteration) as error:
            if is_of_signal_handler(error):
                raise
    return builder.build(values)


def read_inputs(entry: Entry, scope: Scope, native: Callable[[], Entry]) -> tuple[Entry, list[list[object]]]:
    """An entry that was just made and, in a list to be emptied, the values that it begins with; those of the native entry where
    one of them is gone already."""
    try:
        return entry, [scope.values_of(entry.loads)]
    except MISSES:
        entry = native()
        return entry, [scope.values_of(entry.loads)]
