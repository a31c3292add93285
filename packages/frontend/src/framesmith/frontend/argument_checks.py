"""Checks that all public functions share (a flag, a str, a callable, dimensions), and the form of their errors.

An error shows the value, its type, what is expected, and a near miss. The options of `compile` are checked in
`compile_arguments`.
"""

import inspect
from collections.abc import Callable, Collection, Iterable, Mapping
from typing import Final, cast

from framesmith.frontend.errors import InvalidArgument
from framesmith.frontend.near_misses import near_miss
from framesmith.graph.backends.backend import list_backends
from framesmith.guards.kinds.base import describe_value

A_CALLABLE = "a function, method, class, callable object or torch.nn.Module"


def make_argument_error(
    call: str, value: object, expected: str, *, name: str | None = None, hint: str = ""
) -> InvalidArgument:
    """The error for one argument of `call`; `name` is that of the parameter where it does not go without saying."""
    prefix = "" if name is None else f"{name}="
    return InvalidArgument(f"{call} got {prefix}{describe_value(value)}{hint}; pass {expected}")


def check_callable(call: str, value: object, expected: str = A_CALLABLE) -> None:
    """Raises InvalidArgument for what cannot be called."""
    if not callable(value):
        raise make_not_callable_error(call, value, expected)


def make_not_callable_error(call: str, value: object, expected: str = A_CALLABLE) -> InvalidArgument:
    """The error for what cannot be called. The name of a backend is probably meant as one."""
    hint = ", which cannot be called"
    if isinstance(value, str) and call.startswith("compile"):
        known = list_backends()
        close = value if value in known else near_miss(value, known)
        if close == value:
            hint = f", which is the name of a backend (did you mean compile(function, backend={value!r})?)"
        elif close:
            hint += f"{close} as in compile(function, backend=...)"
    return make_argument_error(call, value, expected, hint=hint)


def require_flag(call: str, name: str, value: object) -> bool:
    """The value, if it is True or False. Raises InvalidArgument."""
    if type(value) is not bool:
        raise make_argument_error(call, value, "True or False", name=name)
    return value


def check_text(call: str, name: str, value: object, *, optional: bool = False) -> None:
    """Raises InvalidArgument for what is not a str."""
    if not isinstance(value, str) and not (optional and value is None):
        raise make_argument_error(call, value, "a str, or None" if optional else "a str", name=name)


COMPILE_OPTIONS: Final = ("fullgraph", "dynamic", "backend", "mode", "options", "disable")
"""The arguments of `compile` beside the function."""


def refuse_options(
    call: str, model: Callable[..., object], given: Mapping[str, object], options: Collection[str], hint: str
) -> None:
    """Raises InvalidArgument for options of another function, given where keywords are passed on to `model`, which has no
    parameter of that name. `hint`: what to do instead."""
    try:
        parameters = inspect.signature(getattr(model, "forward", model)).parameters
    except (TypeError, ValueError):  # C code without a signature
        return
    if any(one.kind is one.VAR_KEYWORD for one in parameters.values()):
        return
    for name, value in given.items():
        if name in options and name not in parameters:
            said = f"{call} got {name}={describe_value(value)}; keywords are passed on to {name_of(model)}, which does not take it"
            raise InvalidArgument(f"{said}; {hint}")


def require_dimensions(call: str, index: object, rank: int) -> set[int]:
    """The dimensions that an int or several ints name, counted from 0.

    Raises InvalidArgument for anything else, IndexError for a dimension that a tensor of this rank does not have.
    """
    expected = "a dimension (an int), or several (a list, tuple, range or set of ints)"
    if type(index) is int:
        given: Iterable[object] = (index,)
    elif isinstance(index, list | tuple | set | frozenset | range):
        given = cast(Iterable[object], index)
    else:
        raise make_argument_error(call, index, expected, name="index")
    found = set()
    for dim in given:
        if type(dim) is not int:
            raise make_argument_error(call, dim, expected, name="index")
        if not -rank <= dim < rank:
            raise IndexError(
                f"{call} got dimension {dim}, which is out of range for a tensor of rank {rank}; "
                f"pass one from {-rank} to {rank - 1}"
                if rank
                else f"{call} got dimension {dim} for a tensor without dimensions; pass a tensor that has one"
            )
        found.add(dim % rank)
    return found


def name_of(function: Callable[..., object]) -> str:
    """The name of a callable for messages."""
    return str(getattr(function, "__qualname__", None) or type(function).__qualname__)
