"""Binding of the arguments of a call to the parameters of a Python function."""

import inspect
from collections.abc import Mapping, Sequence
from types import CodeType

from framesmith.graph import GraphBreak
from framesmith.graph.breaks.break_kinds import ASYNC_FRAME, OPERATION_RAISES
from framesmith.variables.builtin_types.dicts import make_dict_tracker
from framesmith.variables.builtin_types.tuples import TupleTracker
from framesmith.variables.core.base import (
    Tracker,
)
from framesmith.variables.core.constant import Constant

_VARARGS = inspect.CO_VARARGS
_VARKEYWORDS = inspect.CO_VARKEYWORDS
_ASYNCHRONOUS = inspect.CO_COROUTINE | inspect.CO_ASYNC_GENERATOR | inspect.CO_ITERABLE_COROUTINE


def make_mismatch_break(name: str, problem: str) -> GraphBreak:
    """The graph break for a call that does not fit the signature:
    the call runs natively and raises its own TypeError."""
    return GraphBreak(OPERATION_RAISES, f"{name}(): {problem}")


def bind_arguments(
    code: CodeType,
    args: Sequence[Tracker],
    kwargs: Mapping[str, Tracker],
    defaults: Mapping[str, Tracker],
) -> dict[str, Tracker]:
    """Fast locals of a new frame. `defaults` maps parameter names to their default values.

    The rule is "Calls" of the Python language reference. A call that does not fit breaks the graph, so
    that eager raises its own message. A call that makes a coroutine breaks it too.
    """
    if code.co_flags & _ASYNCHRONOUS:
        raise GraphBreak(ASYNC_FRAME, f"{code.co_qualname}()")
    count, keyword_only = code.co_argcount, code.co_kwonlyargcount
    names = code.co_varnames
    # surplus positional arguments are dropped by `zip` and taken up below
    bound: dict[str, Tracker] = dict(zip(names[:count], args, strict=False))
    extra = tuple(args[count:])
    surplus: dict[str, Tracker] = {}
    # positional-only names are no keywords: `f(a=1)` of `def f(a, /, **k)` puts `a` into `k`
    named = names[code.co_posonlyargcount : count + keyword_only]
    for name, value in kwargs.items():
        if name in named:
            if name in bound:
                raise make_mismatch_break(code.co_name, f"got multiple values for argument {name!r}")
            bound[name] = value
        elif code.co_flags & _VARKEYWORDS:
            surplus[name] = value
        else:
            raise make_mismatch_break(code.co_name, f"got an unexpected keyword argument {name!r}")
    for name in names[: count + keyword_only]:
        if name not in bound:
            if name not in defaults:
                raise make_mismatch_break(code.co_name, f"missing argument {name!r}")
            bound[name] = defaults[name]
    # `co_varnames` has all parameters first, then `*args`, then `**kwargs`
    position = count + keyword_only
    if code.co_flags & _VARARGS:
        bound[names[position]] = TupleTracker(extra)
        position += 1
    elif extra:
        raise make_mismatch_break(
            code.co_name, f"takes {count} positional arguments but {len(args)} were given"
        )
    if code.co_flags & _VARKEYWORDS:
        bound[names[position]] = make_dict_tracker(
            [(Constant(name), value) for name, value in surplus.items()]
        )
    return bound
