"""The rows of exceptions: `__new__` and `__init__` of the builtin classes, texts, `with_traceback`, `add_note`.

The tracker is in `objects.exceptions`, the chain of causes in `objects.exception_chains`.
"""

import builtins
from types import TracebackType, WrapperDescriptorType
from typing import Final

from framesmith.guards.class_lookup import (
    class_name,
    static_lookup,
)
from framesmith.variables.builtin_types.iterators import unpack
from framesmith.variables.builtin_types.lists import ListTracker
from framesmith.variables.core.base import TraceContext, Tracker, run_pending
from framesmith.variables.core.constant import Constant
from framesmith.variables.core.cpython_messages import find_message
from framesmith.variables.core.raising import raise_observed
from framesmith.variables.core.rows import Rows
from framesmith.variables.core.table import row_of
from framesmith.variables.core.type_names import type_name
from framesmith.variables.objects.construction import check_class
from framesmith.variables.objects.exceptions import ExceptionTracker, keyword_fields

ROWS: Final = Rows()

_NOT_A_NOTE: Final = find_message("ValueError().add_note(value)")

NONE: Final = Constant(None)
# `OSError.__new__` may give another class (FileNotFoundError), the others check and store their arguments in C.
_UNMODELLED: Final = (OSError, UnicodeError, SyntaxError, BaseExceptionGroup)
# Those that raise TypeError without arguments, and whose fields are NULL before `__init__`.
_NEVER_EMPTY: Final = (UnicodeEncodeError, UnicodeDecodeError, UnicodeTranslateError, BaseExceptionGroup)


def _is_modelled(kind: type, args: tuple[Tracker, ...]) -> bool:
    return not issubclass(kind, _UNMODELLED if args else _NEVER_EMPTY)


def _builtin_new(tx: TraceContext, cls: Tracker, /, *args: Tracker, **kwargs: Tracker) -> Tracker:
    """`BaseException.__new__(cls, *args)`; breaks for OSError and others whose use of arguments is not modelled."""
    kind = check_class(tx, cls, BaseException)
    if not issubclass(kind, BaseException) or not _is_modelled(kind, args):
        return cls.unsupported("making an instance")
    return ExceptionTracker(kind, args)


def _register_init(function: object, owner: type) -> None:
    @ROWS.call(function)
    def init(tx: TraceContext, self: Tracker, /, *args: Tracker, **kwargs: Tracker) -> Tracker:
        """`BaseException.__init__(self, *args)` and the keyword fields of derived classes."""
        if not isinstance(self, ExceptionTracker) or not _is_modelled(self.cls, args):
            return self.unsupported("its __init__")
        if not issubclass(self.cls, owner) or not kwargs.keys() <= set(keyword_fields(owner)):
            return self.unsupported("an __init__ with these arguments")
        self.initialize(tx, owner, args, kwargs)
        return NONE


# Some types have a slot of their own that holds the same C function.
@ROWS.call(*{BaseException.__str__, AttributeError.__str__, NameError.__str__})
def exception_str(tx: TraceContext, self: Tracker, /) -> Tracker:
    """`BaseException.__str__`: empty, the text of the one argument, or of the tuple of arguments."""
    if not isinstance(self, ExceptionTracker):
        return self.unsupported("str()")
    args = self.field(tx, "args")
    items = unpack(tx, args)
    return Constant("") if not items else show(tx, str, items[0] if len(items) == 1 else args)


@ROWS.call(KeyError.__str__)
def key_error_str(tx: TraceContext, self: Tracker, /) -> Tracker:
    """`KeyError.__str__`: the repr of the one argument."""
    if not isinstance(self, ExceptionTracker):
        return self.unsupported("str()")
    args = self.field(tx, "args")
    items = unpack(tx, args)
    if len(items) == 1:
        return show(tx, repr, items[0])
    return show(tx, str, args) if items else Constant("")


@ROWS.call(BaseException.__repr__)
def exception_repr(tx: TraceContext, self: Tracker, /) -> Tracker:
    """`BaseException.__repr__`: `Name(args)`."""
    if not isinstance(self, ExceptionTracker):
        return self.unsupported("repr()")
    args = self.field(tx, "args")
    items = unpack(tx, args)
    shown = show(tx, repr, items[0] if len(items) == 1 else args)
    text = str(shown.as_python_constant())
    return Constant(f"{class_name(self.cls)}({text})" if len(items) == 1 else f"{class_name(self.cls)}{text}")


def show(tx: TraceContext, function: object, operand: Tracker) -> Tracker:
    """`str(operand)` or `repr(operand)`, by the row of the function."""
    row = row_of(tx.registry, function)
    if row is None:
        return operand.unsupported("showing it")
    return run_pending(tx, row.begin(tx, (operand,), {})).realize()


@ROWS.call(BaseException.with_traceback)
def with_traceback(tx: TraceContext, self: Tracker, traceback: Tracker, /) -> Tracker:
    """`self.with_traceback(tb)`."""
    if not isinstance(self, ExceptionTracker):
        return self.unsupported("with_traceback()")
    traceback = traceback.realize()
    if not issubclass(traceback.python_type, TracebackType | None):
        return self.unsupported("with_traceback()")
    self.set_field(tx, "__traceback__", traceback)
    return self


@ROWS.call(BaseException.add_note)
def add_note(tx: TraceContext, self: Tracker, note: Tracker, /) -> Tracker:
    """`self.add_note(note)`: appended to the list `__notes__`."""
    if not isinstance(self, ExceptionTracker):
        return self.unsupported("add_note()")
    if not issubclass(note.python_type, str):
        raise_observed(tx, TypeError, _NOT_A_NOTE.format(type_name(note)))
    notes = self.own.load(tx, self, "__notes__")
    if notes is None:
        self.store_own(tx, "__notes__", ListTracker([note]))
    else:
        row = row_of(tx.registry, list.append)
        assert row is not None
        row.begin(tx, (notes, note), {})
    return NONE


def _register_builtin_classes() -> None:
    news, inits = dict[object, None](), dict[object, type]()
    for cls in vars(builtins).values():
        if isinstance(cls, type) and issubclass(cls, BaseException):
            # Many classes share one C function: a dict keeps each once, in a fixed order.
            news.setdefault(cls.__new__)
            found = static_lookup(cls, "__init__")
            assert isinstance(found, WrapperDescriptorType)
            inits[found] = found.__objclass__
    ROWS.call(*news)(_builtin_new)
    for function, owner in inits.items():
        _register_init(function, owner)


_register_builtin_classes()
