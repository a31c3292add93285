"""Which kind of graph break a callable in C is, by what it belongs to, and how the program names it."""

from collections.abc import Mapping, Sequence
from types import BuiltinFunctionType, MethodDescriptorType, WrapperDescriptorType
from typing import Final

from framesmith.graph.breaks.break_kinds import NATIVE_CALL, PRINT_OR_LOG, RANDOM_STATE, SYSTEM_CALL
from framesmith.graph.breaks.breaks import BreakKind
from framesmith.guards.class_lookup import class_name, resolution_order
from framesmith.guards.sources.functions import MethodSelf
from framesmith.guards.sources.steps import Attribute
from framesmith.variables.core.base import Tracker

_SYSTEM: Final = (
    *(
        "_io",
        "io",
        "time",
        "posix",
        "nt",
        "_socket",
        "socket",
        "select",
        "_posixsubprocess",
        "_winapi",
        "fcntl",
    ),
    *("mmap", "_thread", "_queue", "_multiprocessing", "signal", "gc"),
)
_KINDS: Final[Mapping[str, BreakKind]] = {
    **dict.fromkeys(_SYSTEM, SYSTEM_CALL),
    **dict.fromkeys(("random", "_random", "numpy.random"), RANDOM_STATE),
}
_METHODS: Final = MethodDescriptorType | WrapperDescriptorType
_IN_C: Final = "cython_function_or_method"  # it names its module, though its type does not
_LOGS: Final = "logging."


def kind_of_native(function: object, args: Sequence[Tracker]) -> BreakKind:
    """The kind of a call of C code: by the modules of the function, of the type whose method it is, and of the callable
    object that it calls."""
    receiver = args[0] if args and isinstance(function, _METHODS) else None
    # a lock of logging is taken since the program logs, or asks for a logger
    if receiver is not None and receiver.source is not None and receiver.source.text().startswith(_LOGS):
        return PRINT_OR_LOG
    owners = [getattr(function, "__objclass__", function)]
    if isinstance(function, BuiltinFunctionType) and isinstance(function.__self__, type):
        owners += [*resolution_order(function.__self__)[:-1]]
    found = (_kind_of_module(getattr(owner, "__module__", None)) for owner in owners)
    own = next((kind for kind in found if kind is not None), None)
    return own or kind_of_compiled(getattr(receiver, "value", None)) or NATIVE_CALL


def kind_of_compiled(value: object) -> BreakKind | None:
    """The kind of a function that Cython has compiled; None for one without a kind of its own, and for any other value."""
    return _kind_of_module(getattr(value, "__module__", None)) if class_name(type(value)) == _IN_C else None


def _kind_of_module(module: object) -> BreakKind | None:
    if type(module) is not str:
        return None
    return _KINDS.get(module) or _KINDS.get(".".join(module.split(".")[:2]))


def name_through(function: object, args: Sequence[Tracker]) -> tuple[str, int] | None:
    """How the program names a callable that is found through an object, and how many operands are that object:
    `random.random`, where the function is `_random.Random.random` and its receiver was found as `random.random.__self__`."""
    source = args[0].source if args and isinstance(function, _METHODS) else None
    base = source.base if source is not None else None
    if source is None:
        return None
    through = source.name if isinstance(source, Attribute) else None
    if base is not None and (isinstance(source, MethodSelf) or through == "__self__"):
        return base.text(), 1
    if getattr(function, "__name__", None) != "__call__":
        return None
    # a bound method in C of another kind is called with its receiver
    is_bound = source.text().endswith(".__func__")
    return source.text().removesuffix(".__func__"), 2 if is_bound else 1
