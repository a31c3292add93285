"""Calls and functions. The NULL that a call needs has another slot in 3.13; this module hides the difference.

    with-NULL convention 3.11, 3.12:  NULL callable arguments...
                         3.13:        callable NULL arguments...

Write `before_callable`, push the callable, `after_callable`, push the arguments, `call`. Where the callable is already
on the stack, `make_callable` instead of the first three.
"""

import inspect
from collections.abc import Sequence
from types import CodeType

from framesmith.bytecode.emitter import Emitter
from framesmith.bytecode.emitting.variables import load_attribute, load_cell, load_constant
from framesmith.bytecode.errors import (
    AssembleError,
    make_wrong_argument,
    require_code,
    require_count,
    require_names,
)
from framesmith.bytecode.opcodes import NULL_FIRST, NUMBERS, VERSION
from framesmith.bytecode.trusted_operands import find_wrong_names

_DEFAULTS, _KEYWORD_DEFAULTS, _CLOSURE = 1, 2, 8


def before_callable(emitter: Emitter) -> None:
    """Push the call's NULL where it comes first (before 3.13). Write this before the callable is pushed."""
    if NULL_FIRST:
        emitter.emit("PUSH_NULL")


def after_callable(emitter: Emitter) -> None:
    """Push the call's NULL where it comes second (3.13). Write this after the callable, before the arguments."""
    if not NULL_FIRST:
        emitter.emit("PUSH_NULL")


def make_callable(emitter: Emitter) -> None:
    """Make the object on top ready to be called with the arguments that follow."""
    emitter.emit("PUSH_NULL")
    if NULL_FIRST:
        emitter.emit("SWAP", 2)


def make_callable_below(emitter: Emitter, argc: int) -> None:
    """Make a callable ready to be called that has its `argc` arguments above it on the stack already."""
    require_count("make_callable_below()", argc)
    emitter.emit("PUSH_NULL")
    # The NULL sinks below the arguments, and below the callable where it comes first.
    for depth in range(argc + (2 if NULL_FIRST else 1), 1, -1):
        emitter.emit("SWAP", depth)


def load_global_callable(emitter: Emitter, name: str) -> None:
    """Push a global, ready to be called."""
    emitter.emit("LOAD_GLOBAL", (name, 1))


def load_method(emitter: Emitter, name: str) -> None:
    """`object ->` its method `name`, ready to be called."""
    if "LOAD_METHOD" in NUMBERS:
        emitter.emit("LOAD_METHOD", name)
    else:
        emitter.emit("LOAD_ATTR", (name, 1))


def call(emitter: Emitter, argc: int, names: tuple[str, ...] = ()) -> None:
    """Call with `argc` arguments, of which the last `len(names)` are keywords.

    Raises AssembleError for more names than arguments, or the same name twice.
    """
    require_count("call()", argc)
    require_names("call()", names)
    wrong = find_wrong_names(names, argc)
    if wrong is not None:
        raise AssembleError(f"call() got {wrong}: each names one of the last arguments, and no two the same")
    if names and "CALL_KW" in NUMBERS:
        load_constant(emitter, names)
        emitter.emit("CALL_KW", argc)
        return
    if names:
        emitter.emit("KW_NAMES", names)
    if "PRECALL" in NUMBERS:
        emitter.emit("PRECALL", argc)
    emitter.emit("CALL", argc)


def call_extended(emitter: Emitter, with_keywords: bool = False) -> None:
    """Call with a tuple of arguments on the stack, and a dict of keywords above it."""
    if VERSION < (3, 14):
        emitter.emit("CALL_FUNCTION_EX", 1 if with_keywords else 0)
        return
    # From 3.14 on the slot of the keywords is always there; NULL stands for none.
    if not with_keywords:
        emitter.emit("PUSH_NULL")
    emitter.emit("CALL_FUNCTION_EX")


def call_constant(emitter: Emitter, function: object, argc: int) -> None:
    """Call this very object with the `argc` topmost values."""
    require_count("call_constant()", argc)
    load_constant(emitter, function)
    for depth in range(argc + 1, 1, -1):
        emitter.emit("SWAP", depth)
    make_callable_below(emitter, argc)
    call(emitter, argc)


def load_super_attribute(emitter: Emitter, name: str) -> None:
    """`super, class, instance -> super(class, instance).name`."""
    if "LOAD_SUPER_ATTR" in NUMBERS:
        # 2: the arguments are explicit, so CPython does not look for them in the frame.
        emitter.emit("LOAD_SUPER_ATTR", (name, 2))
        return
    make_callable_below(emitter, 2)
    call(emitter, 2)
    load_attribute(emitter, name)


def make_function(
    emitter: Emitter, code: CodeType, *, defaults: bool = False, keyword_defaults: bool = False
) -> None:
    """Make a function whose closure is made of variables of this code, by name.

    With `defaults` a tuple, with `keyword_defaults` a dict (above it) is on the stack.
    """
    require_code("make_function()", code)
    flags = defaults * _DEFAULTS + keyword_defaults * _KEYWORD_DEFAULTS
    if code.co_freevars:
        load_closure(emitter, code.co_freevars)
        flags |= _CLOSURE
    load_constant(emitter, code)
    if "SET_FUNCTION_ATTRIBUTE" not in NUMBERS:
        emitter.emit("MAKE_FUNCTION", flags)
        return
    emitter.emit("MAKE_FUNCTION")
    # Each takes the value below the function: the closure was pushed last.
    for flag in (_CLOSURE, _KEYWORD_DEFAULTS, _DEFAULTS):
        if flags & flag:
            emitter.emit("SET_FUNCTION_ATTRIBUTE", flag)


def load_closure(emitter: Emitter, names: Sequence[str]) -> None:
    """Push the tuple of the cells of these variables: a function's `__closure__`."""
    if isinstance(names, str):
        raise make_wrong_argument("load_closure()", names, "no sequence of names", f"pass ({names!r},)")
    for name in names:
        load_cell(emitter, name)
    emitter.emit("BUILD_TUPLE", len(names))


def begin_function(emitter: Emitter) -> None:
    """Write the start of a function: make its cells, copy its closure, make the generator if it is one, RESUME."""
    parts = emitter.parts
    for name in parts.cellvars:
        emitter.emit("MAKE_CELL", name)
    if parts.freevars:
        emitter.emit("COPY_FREE_VARS", len(parts.freevars))
    if parts.flags & (inspect.CO_GENERATOR | inspect.CO_COROUTINE | inspect.CO_ASYNC_GENERATOR):
        emitter.emit("RETURN_GENERATOR")
        # The None of the first `send`.
        emitter.emit("POP_TOP")
    emitter.emit("RESUME", 0)


def return_value(emitter: Emitter) -> None:
    """Return the value on top of the stack."""
    emitter.emit("RETURN_VALUE")
