"""Implicit chaining, done to real exceptions: `_PyErr_SetObject` in Python/errors.c.

The fields are read and written through the descriptors of `BaseException`: no user code runs.
"""

import sys
from types import TracebackType
from typing import NoReturn, cast

_CONTEXT = BaseException.__dict__["__context__"]
_TRACEBACK = BaseException.__dict__["__traceback__"]


def context_of(error: BaseException) -> BaseException | None:
    """`error.__context__`."""
    return cast(BaseException | None, _CONTEXT.__get__(error))


def chain_to_caller(error: BaseException) -> None:
    """Make the exception that the caller is handling the context, as
    for a `raise` outside of any handler. A cycle of contexts is cut."""
    handled = sys.exception()
    if handled is None or handled is error:
        return
    link, seen = handled, {id(handled)}
    while (context := context_of(link)) is not None and id(context) not in seen:
        if context is error:
            _CONTEXT.__set__(link, None)
            break
        link = context
        seen.add(id(link))
    _CONTEXT.__set__(error, handled)


def raise_unchained(error: BaseException) -> NoReturn:
    """Raise an exception that was raised before: its context is kept, and this frame is not added to its traceback."""
    # `raise` sets the context to what the caller handles now, and adds this frame: both are put back.
    kept = error.__traceback__, context_of(error)
    try:
        raise error
    except BaseException:
        restore_exception(error, kept)
        raise
    finally:
        # Else this frame, which the traceback refers to, would hold the exception: a ring.
        del error, kept


def restore_exception(error: BaseException, kept: tuple[TracebackType | None, BaseException | None]) -> None:
    """Undo what raising an exception again did to it; `kept` are its traceback and context from before."""
    _TRACEBACK.__set__(error, kept[0])
    _CONTEXT.__set__(error, kept[1])
