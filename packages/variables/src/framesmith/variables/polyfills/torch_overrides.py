"""Polyfills of what C code of torch does with the operands that have `__torch_function__`."""

from collections.abc import Callable, Sequence

from framesmith.variables.polyfills.declined_calls import decline


def ask_in_turn(
    methods: Sequence[Callable[..., object]],
    function: object,
    types: tuple[type, ...],
    args: tuple[object, ...],
    rest: tuple[dict[str, object], ...],
) -> object:
    """The first result that is not NotImplemented, or NotImplemented if all decline.

    `rest` holds the keywords, and nothing where the call has none.
    """
    for method in methods:
        result = method(function, types, args, *rest)
        if result is not NotImplemented:
            return result
    return NotImplemented


def ask_for_call(
    methods: Sequence[Callable[..., object]],
    function: object,
    types: tuple[type, ...],
    args: tuple[object, ...],
    rest: tuple[dict[str, object], ...],
    call: Callable[..., object],
    given: tuple[object, ...],
    names: tuple[str, ...],
) -> object:
    """As `ask_in_turn`; TypeError if all decline. `call` is what the program called, with `given`, of which the last have
    `names`."""
    result = ask_in_turn(methods, function, types, args, rest)
    if result is NotImplemented:
        raise TypeError(decline(call, given, names))
    return result


def ask_for_operator(
    methods: Sequence[Callable[..., object]],
    function: object,
    types: tuple[type, ...],
    args: tuple[object, ...],
    rest: tuple[dict[str, object], ...],
) -> object:
    """As `ask_in_turn`, for the method of an operator: a TypeError counts as NotImplemented."""
    try:
        return ask_in_turn(methods, function, types, args, rest)
    except TypeError:
        return NotImplemented
