"""What existing containers hold, read without a trace: with `gc`, so that no code of the user runs.

What one that the trace changed still holds is in `variables.core.remains`. `containers` are the builtin types that hold items
(the keys of `CONTAINERS` in the registry).
"""

import gc
from collections.abc import Iterable

from framesmith.guards.class_lookup import is_one_of


def parts_of(value: object, containers: Iterable[type]) -> list[object]:
    """What an existing value holds, and what builtin containers in there hold."""
    held = gc.get_referents(value)
    return held + [part for one in held if is_one_of(type(one), containers) for part in gc.get_referents(one)]


def parts_as_they_end(value: object, containers: Iterable[type]) -> list[object]:
    """The same, as a list that lets go of them in the order in which the value does: a list of its last item first, a dictionary of its
    first one, which is the order in which `gc` finds them."""
    held = list[object]()
    for part in reversed(gc.get_referents(value)):
        if is_one_of(type(part), containers):
            held.append(gc.get_referents(part)[::-1])
        held.append(part)
    return held
