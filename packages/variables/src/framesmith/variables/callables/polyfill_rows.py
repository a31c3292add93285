"""C functions, and a few others, for which a Python function is traced. Those functions are in `polyfills`."""

import bisect as c_bisect
import collections as c_collections
import dataclasses as py_dataclasses
import heapq as c_heapq
from collections.abc import Callable
from typing import Final

from framesmith.variables.callables.polyfill_functions import polyfill_function
from framesmith.variables.core.base import PendingCall, TraceContext, Tracker
from framesmith.variables.core.rows import Rows
from framesmith.variables.polyfills import bisect, collections, dataclasses, heapq

ROWS: Final = Rows()


def polyfill(original: Callable[..., object], function: Callable[..., object]) -> None:
    """Trace `function` wherever the program calls `original`."""
    tracker = polyfill_function(function)

    @ROWS.call(original)
    def call(tx: TraceContext, *args: Tracker, **kwargs: Tracker) -> Tracker | PendingCall:
        return tracker.bind(tx, args, kwargs)


for _name in ("heappush", "heappop", "heapreplace", "heappushpop", "heapify"):
    polyfill(getattr(c_heapq, _name), getattr(heapq, _name))
for _name in ("bisect_left", "bisect_right", "insort_left", "insort_right"):
    polyfill(getattr(c_bisect, _name), getattr(bisect, _name))
polyfill(getattr(c_collections, "_count_elements"), collections.count_elements)  # noqa: B009  # private in typeshed
polyfill(py_dataclasses.fields, dataclasses.fields)
