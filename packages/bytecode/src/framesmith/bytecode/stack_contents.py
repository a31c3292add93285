"""What the slots of the stack hold before each operation: values, NULLs, exceptions that are put aside.

    for x in xs: ...      before FOR_ITER: (VALUE,), from 3.15 on (VALUE, NULL)

An abstract interpretation of a reading. `nulls` does the same with native instructions, to find mistakes; how many slots there
are is in `meaning.stack_depths`, what a continuation does with them in `resume`.
"""

import inspect
from enum import Enum
from types import CodeType
from typing import Final, NamedTuple, final

from framesmith.bytecode.errors import require_code
from framesmith.bytecode.meaning import Reading, read
from framesmith.bytecode.opcodes import NULL_FIRST
from framesmith.bytecode.operation import NO_FALL_THROUGH, Handler, Kind, Operation
from framesmith.bytecode.operation_effects import effect, slots_taken


@final
class StackItem(Enum):
    """What an item of `ResumeLayout.stack` is; see the docstring of the module `resume`."""

    VALUE = "value"
    NULL = "null"
    EXCEPTION = "exception"
    HANDLED = "handled"


@final
class Content(Enum):
    """What one slot holds.

    OPTIONAL and EITHER are NULL or a value: NULL is right for the first (beside a bound method), a value for the second (a
    variable that may be bound). HANDLED is the exception handled before, OFFSET what RERAISE needs.
    """

    VALUE = "value"
    NULL = "null"
    OPTIONAL = "optional"
    EITHER = "either"
    HANDLED = "handled"
    OFFSET = "offset"


_ITEMS: Final = {
    Content.VALUE: StackItem.VALUE,
    Content.NULL: StackItem.NULL,
    Content.OPTIONAL: StackItem.NULL,
    Content.EITHER: StackItem.VALUE,
    Content.HANDLED: StackItem.HANDLED,
    Content.OFFSET: StackItem.VALUE,
}
_MAYBE_NULL: Final = frozenset({Content.NULL, Content.OPTIONAL, Content.EITHER})
_METHODS: Final = frozenset({Kind.LOAD_METHOD, Kind.LOAD_SPECIAL, Kind.LOAD_SUPER_ATTRIBUTE})
_PAIR: Final = (Content.OPTIONAL, Content.VALUE) if NULL_FIRST else (Content.VALUE, Content.OPTIONAL)
_NEVER_RAISES: Final = frozenset(
    {
        Kind.PUSH_EXCEPTION,
        Kind.POP_EXCEPTION,
        Kind.SWAP,
        Kind.COPY,
        Kind.LOAD_CONST,
        Kind.PUSH_NULL,
        Kind.RETURN,
    }
)
_NO_RESULT: Final = frozenset(
    {
        Kind.LIST_APPEND,
        Kind.SET_ADD,
        Kind.MAP_ADD,
        Kind.LIST_EXTEND,
        Kind.SET_UPDATE,
        Kind.DICT_UPDATE,
        Kind.DICT_MERGE,
    }
)
"""They put what is on top into a container below, and push nothing."""


@final
class _State(NamedTuple):
    """The stack, lowest slot first, and the locals that may be bound."""

    stack: tuple[Content, ...]
    bound: frozenset[str]


def stack_items(code: CodeType) -> tuple[tuple[StackItem, ...] | None, ...]:
    """For each operation of `read(code)` the items of the stack before it, lowest first; None for what is never reached.

    Each is a `ResumeLayout.stack` for `resume_function` at that operation: VALUE and HANDLED take an argument, NULL takes none. Two
    slots that hold a method and its `self`, as LOAD_METHOD leaves them, are given as VALUE and NULL: the value to pass is the bound method.
    Of a loop in 3.15 the value is an iterator. A local that an inlined comprehension puts aside (3.12) is VALUE if it may be bound there.
    """
    require_code("stack_items()", code)
    return tuple(
        None if one is None else tuple(_ITEMS[slot] for slot in one)
        for one in stack_contents(code, read(code))
    )


def stack_contents(code: CodeType, reading: Reading) -> list[tuple[Content, ...] | None]:
    """The same with what resuming has to tell apart. `reading`: that of `code`."""
    operations, handlers = reading.operations, reading.handlers
    found: list[_State | None] = [None] * len(operations)
    todo = [(0, _State((), frozenset(_arguments(code))))]
    while todo:
        index, state = todo.pop()
        while index < len(operations):
            known = found[index]
            if known is not None:
                state = _join(known, state)
                if state == known:
                    break
            found[index] = state
            operation, handler = operations[index], handlers[index]
            if handler is not None and _may_raise(operation, handler, state):
                pushed = (Content.OFFSET, Content.VALUE) if handler.push_lasti else (Content.VALUE,)
                todo.append((handler.target, _State((*state.stack[: handler.depth], *pushed), state.bound)))
            if operation.target is not None:
                todo.append((operation.target, _after(operation, state, True)))
            if operation.kind in NO_FALL_THROUGH:
                break
            state = _after(operation, state, False)
            index += 1
    return [None if one is None else one.stack for one in found]


def _may_raise(operation: Operation, handler: Handler, state: _State) -> bool:
    """Compiled regions take in operations that cannot, where the stack is not what the handler expects, or less deep."""
    return operation.kind not in _NEVER_RAISES and len(state.stack) >= handler.depth


def _arguments(code: CodeType) -> tuple[str, ...]:
    stars = bool(code.co_flags & inspect.CO_VARARGS) + bool(code.co_flags & inspect.CO_VARKEYWORDS)
    return code.co_varnames[: code.co_argcount + code.co_kwonlyargcount + stars]


def _join(one: _State, other: _State) -> _State:
    stack = tuple(_join_slots(*pair) for pair in zip(one.stack, other.stack, strict=True))
    return _State(stack, one.bound | other.bound)


def _join_slots(one: Content, other: Content) -> Content:
    if one is other:
        return one
    # Whatever a slot was, it may only become what is less certain.
    if {one, other} == {Content.NULL, Content.OPTIONAL}:
        return Content.OPTIONAL
    return Content.EITHER if {one, other} & _MAYBE_NULL else Content.VALUE


def _after(operation: Operation, state: _State, jump: bool) -> _State:
    bound, name = state.bound, operation.argument
    if operation.kind is Kind.LOAD_LOCAL_AND_CLEAR:
        saved = Content.EITHER if name in bound else Content.OPTIONAL
        return _State((*state.stack, saved), bound - {str(name)})
    if operation.kind is Kind.DELETE_LOCAL or (
        # What was put aside while it was not bound is not bound again.
        operation.kind is Kind.STORE_LOCAL and state.stack[-1] in (Content.NULL, Content.OPTIONAL)
    ):
        bound -= {str(name)}
    elif operation.kind in (Kind.STORE_LOCAL, Kind.MAKE_CELL):
        bound |= {str(name)}
    return _State(_stack_after(operation, state.stack, jump), bound)


def _stack_after(operation: Operation, stack: tuple[Content, ...], jump: bool) -> tuple[Content, ...]:
    kind, argument = operation.kind, operation.argument
    if kind is Kind.PUSH_NULL:
        return (*stack, Content.NULL)
    if kind is Kind.PUSH_EXCEPTION:
        return (*stack[:-1], Content.HANDLED, Content.VALUE)
    if kind is Kind.COPY and isinstance(argument, int):
        copied = stack[-argument]
        # One slot alone stands for the exception that is handled; the other is a value.
        return (*stack, Content.VALUE if copied is Content.HANDLED else copied)
    if kind is Kind.SWAP and isinstance(argument, int):
        slots = list(stack)
        slots[-1], slots[-argument] = slots[-argument], slots[-1]
        return tuple(slots)
    taken, change = slots_taken(operation), effect(operation, jump)
    if kind in _METHODS and taken + change == len(_PAIR):
        return (*stack[: len(stack) - taken], *_PAIR)
    size = len(stack) + change
    if size >= len(stack):
        return (*stack, *([Content.VALUE] * change))
    if taken + change == 0 or kind in _NO_RESULT:
        return stack[:size]
    # What is left on top is the result.
    return (*stack[: size - 1], Content.VALUE)
