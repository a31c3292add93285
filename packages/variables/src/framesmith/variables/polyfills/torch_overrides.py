"""Polyfills of what C code of torch does with the operands that have `__torch_function__`."""

from collections.abc import Callable, Sequence
from typing import Protocol

from torch._C import (
    _get_function_stack_at,
    _len_torch_function_stack,
    _pop_torch_function_stack,
    _push_on_torch_function_stack,
)

from framesmith.variables.polyfills.declined_calls import decline


class Overriding(Protocol):
    """The one method of a mode that is called."""

    def __torch_function__(
        self, function: object, types: tuple[type, ...], args: tuple[object, ...], *rest: object
    ) -> object: ...


def ask_in_turn(
    methods: Sequence[Callable[..., object]],
    function: object,
    types: tuple[type, ...],
    args: tuple[object, ...],
    rest: tuple[dict[str, object], ...],
    declines: tuple[type[TypeError], ...],
    call: Callable[..., object],
    given: tuple[object, ...],
    names: tuple[str, ...],
    has_mode: bool,
) -> object:
    """The first result that is not NotImplemented. `call` is what the program called, with `given`, of which the last have `names`.

    `rest` holds the keywords, and nothing where the call has none. `declines`: for the method of an operator, which gives
    NotImplemented where all decline, TypeError counts as that; else it is empty, and there is a TypeError where all decline.
    `has_mode`: the first of `methods` asks the innermost mode.
    """
    try:
        for method in methods:
            result = method(function, types, args, *rest)
            if result is not NotImplemented:
                return result
    # An empty tuple catches nothing.
    except declines:
        return NotImplemented
    if declines:
        return NotImplemented
    modes = [_get_function_stack_at(_len_torch_function_stack() - 1)] if has_mode else []
    raise TypeError(decline(call, given, names, *map(repr, modes)))


def ask_mode(function: object, types: tuple[type, ...], args: tuple[object, ...], *rest: object) -> object:
    """The answer of the innermost mode, which is not entered while it is asked."""
    mode: Overriding = _pop_torch_function_stack()
    try:
        return mode.__torch_function__(function, types, args, *rest)
    finally:
        _push_on_torch_function_stack(mode)
