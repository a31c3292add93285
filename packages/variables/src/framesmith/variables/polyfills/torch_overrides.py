"""Polyfills of what C code of torch does with the operands that have `__torch_function__`."""

from collections.abc import Callable, Sequence

from framesmith.variables.polyfills.declined_calls import decline


def ask_in_turn(
    methods: Sequence[Callable[..., object]],
    function: object,
    types: tuple[type, ...],
    args: tuple[object, ...],
    rest: tuple[dict[str, object], ...],
    call: Callable[..., object],
    given: tuple[object, ...],
) -> object:
    """The first result that is not NotImplemented; TypeError if all decline. `call` is what the program called, with `given`.

    `rest` holds the keywords, and nothing where the call has none.
    """
    for method in methods:
        result = method(function, types, args, *rest)
        if result is not NotImplemented:
            return result
    raise TypeError(decline(call, given, rest))


def ask_for_operator(
    methods: Sequence[Callable[..., object]],
    function: object,
    types: tuple[type, ...],
    args: tuple[object, ...],
    rest: tuple[dict[str, object], ...],
    call: Callable[..., object],
    given: tuple[object, ...],
) -> object:
    """As `ask_in_turn`, for an operator: a TypeError of a method counts as NotImplemented."""
    try:
        return ask_in_turn(methods, function, types, args, rest, call, given)
    except TypeError:
        pass
    raise TypeError(decline(call, given, rest))
