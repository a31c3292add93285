"""C functions, and a few others, for which a Python function is traced. Those functions are in `polyfills`."""

import bisect as c_bisect
import collections as c_collections
import dataclasses as py_dataclasses
import heapq as c_heapq
import logging as py_logging
from collections.abc import Callable
from typing import Final

import torch.masked
from torch.distributions import constraints as torch_constraints
from torch.optim.optimizer import _get_value, _stack_if_compiling

from framesmith.variables.callables.polyfill_functions import polyfill_function
from framesmith.variables.core.base import PendingCall, TraceContext, Tracker
from framesmith.variables.core.cpython_messages import PlainSample, find_error_text
from framesmith.variables.core.raising import raise_observed
from framesmith.variables.core.rows import Rows
from framesmith.variables.core.type_names import type_name
from framesmith.variables.polyfills import (
    bisect,
    collections,
    constraints,
    dataclasses,
    heapq,
    logging,
    masked,
    optimizers,
)

ROWS: Final = Rows()


def register_polyfill(
    original: Callable[..., object], function: Callable[..., object], rows: Rows = ROWS
) -> None:
    """Trace `function` wherever the program calls `original`."""
    tracker = polyfill_function(function)

    @rows.call(original)
    def call(tx: TraceContext, *args: Tracker, **kwargs: Tracker) -> Tracker | PendingCall:
        return tracker.bind(tx, args, kwargs)


def register_list_polyfill(
    original: Callable[..., object], function: Callable[..., object], *more: object
) -> None:
    """The same for a function that takes lists only; `more` are its arguments but the first."""
    tracker, refusal = polyfill_function(function), find_error_text(original, PlainSample(), *more)

    @ROWS.call(original)
    def call(tx: TraceContext, *args: Tracker, **kwargs: Tracker) -> Tracker | PendingCall:
        # other numbers of arguments are left to the polyfill's signature, which breaks the graph
        if len(args) == len(more) + 1 and not issubclass(args[0].python_type, list):
            raise_observed(tx, TypeError, refusal.format(type_name(args[0])))
        return tracker.bind(tx, args, kwargs)


# keyed by what the module gives: the C function, where Python has one
for _name in ("heappush", "heapreplace", "heappushpop"):
    register_list_polyfill(getattr(c_heapq, _name), getattr(heapq, _name), 0)
for _name in ("heappop", "heapify"):
    register_list_polyfill(getattr(c_heapq, _name), getattr(heapq, _name))
for _name in ("bisect_left", "bisect_right", "insort_left", "insort_right"):
    register_polyfill(getattr(c_bisect, _name), getattr(bisect, _name))
register_polyfill(getattr(c_collections, "_count_elements"), collections.count_elements)  # noqa: B009  # private in typeshed
register_polyfill(py_dataclasses.fields, dataclasses.fields)
register_polyfill(py_logging.getLogger, logging.get_logger)
register_polyfill(torch.masked._ops._combine_input_and_mask, masked.combine_input_and_mask)
register_polyfill(_get_value, optimizers.get_value)
register_polyfill(_stack_if_compiling, optimizers.stack_if_compiling)
register_polyfill(torch_constraints._Symmetric.check, constraints.check_symmetric)
register_polyfill(torch_constraints._PositiveSemidefinite.check, constraints.check_positive_semidefinite)
register_polyfill(torch_constraints._PositiveDefinite.check, constraints.check_positive_definite)
