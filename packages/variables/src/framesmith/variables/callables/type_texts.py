"""`repr`, `str` and `format` of trackers, for the functions of these names, f-strings and messages.

Containers are written from the texts of their members, so that the `__repr__` of a member is traced. A text that
contains an address, or is known at run time only, breaks the graph. Texts of numbers that are not read:
`callables.deferred_text`.
"""

from collections.abc import Callable, Iterable
from types import BuiltinFunctionType, FunctionType, MappingProxyType
from typing import Final

from framesmith.guards.class_lookup import class_name, static_lookup
from framesmith.variables.builtin_types.dict_views import ProxyTracker, ViewTracker
from framesmith.variables.builtin_types.sequences import reaches_itself
from framesmith.variables.core.base import TraceContext, Tracker
from framesmith.variables.core.builtin_methods import Builtin
from framesmith.variables.core.builtin_type import builtin_type
from framesmith.variables.core.constant import Constant
from framesmith.variables.core.folding import fold
from framesmith.variables.core.raising import raise_observed
from framesmith.variables.core.unspecialized import break_on_changing_value


def text_of(tx: TraceContext, tracker: Tracker) -> str:
    """The string value of a text that must be known; breaks the graph if it is not."""
    # a text in an instance of a subclass counts, as C code reads it
    tracker = tracker.realize().builtin_part_or_self(tx)
    if isinstance(tracker, Constant) and isinstance(tracker.value, str):
        return tracker.value
    return tracker.unsupported("use as a known text")


def repr_text(tx: TraceContext, value: Tracker) -> str:
    """`repr(value)` as a string, which must be known."""
    return text_of(tx, repr_of(tx, value))


def repr_of(tx: TraceContext, value: Tracker, /) -> Tracker:
    """`repr(value)`; breaks the graph for unread values, values that contain themselves, and texts with an address."""
    value = value.realize()
    if value.is_unread:
        break_on_changing_value(value.describe())
    if isinstance(value, Constant) and not _own_code(value, "__repr__"):
        return fold(tx, repr, [value])
    writer = _writer(tx, value)
    if writer is not None and not _own_code(value, "__repr__"):
        # CPython writes `[...]` for the inner one
        if reaches_itself(value) or (value.source is not None and _holds(tx, value, value)):
            value.unsupported("writing a text of it, as it holds itself")
        return Constant(writer(tx, value))
    # functions and methods in C whose text names no object
    if isinstance(value, Builtin) and isinstance(value.value, BuiltinFunctionType | type(str.join)):
        text = repr(value.value)
        return Constant(text) if " at 0x" not in text else value.unsupported("writing a text with an address")
    return _call_for_text(tx, value, "__repr__")


def str_of(tx: TraceContext, value: Tracker, /) -> Tracker:
    """`str(value)`; breaks the graph for unread values."""
    value = value.realize()
    if value.is_unread:
        break_on_changing_value(value.describe())
    # `str` of a class without `__str__` calls its `__repr__`
    if isinstance(value, Constant) and not _own_code(value, "__str__") and not _own_code(value, "__repr__"):
        return fold(tx, str, [value])
    if static_lookup(value.python_type, "__str__") is object.__str__:
        return repr_of(tx, value)
    return _call_for_text(tx, value, "__str__")


def _call_for_text(tx: TraceContext, value: Tracker, name: str, *args: Tracker) -> Tracker:
    """Call a method that writes a text; breaks the graph where it gives something else, which is a TypeError."""
    result = value.special_attribute(tx, name).call(tx, args, {}).realize()
    if not issubclass(result.python_type, str):
        value.unsupported(f"writing a text of it: {name} gives no text")
    return result


_FORMATS: Final = (int.__format__, float.__format__, complex.__format__, str.__format__)


def format_value(tx: TraceContext, value: Tracker, spec: Tracker | None = None, /) -> Tracker:
    """`format(value, spec)`, as in an f-string; breaks the graph for unread values."""
    value = value.realize()
    spec = Constant("") if spec is None else spec.realize()
    if value.is_unread:
        break_on_changing_value(value.describe())
    own = any(_own_code(value, name) for name in ("__format__", "__str__", "__repr__"))
    if isinstance(value, Constant) and isinstance(spec, Constant) and not own:
        return fold(tx, format, [value, spec])
    method = static_lookup(value.python_type, "__format__")
    if method in _FORMATS and not text_of(tx, spec):
        return str_of(tx, value)  # C looks for a `__str__` of its own when there is nothing to format
    if method is object.__format__:
        if text_of(tx, spec):
            message = f"unsupported format string passed to {class_name(value.python_type)}.__format__"
            raise_observed(tx, TypeError, message)
        return str_of(tx, value)
    return _call_for_text(tx, value, "__format__", spec)


CONVERSIONS: Final[dict[str, Callable[[TraceContext, Tracker], Tracker]]] = {
    "": lambda tx, value: value,
    "s": str_of,
    "r": repr_of,
    "a": lambda tx, value: fold(tx, ascii_of, [repr_of(tx, value)]),
}


def ascii_of(text: str) -> str:
    """The string that `ascii` makes of a repr."""
    return text.encode("ascii", "backslashreplace").decode("ascii")


def _own_code(value: Tracker, name: str) -> bool:
    """Whether a text method of the type is Python code outside the module `enum`."""
    method = static_lookup(value.python_type, name)
    return isinstance(method, FunctionType) and method.__module__ != "enum"


def _holds(tx: TraceContext, container: Tracker, target: Tracker) -> bool:
    pending, seen = [*container.children()], set[int]()
    while pending:
        child = pending.pop().realize()
        if child is target:
            return True
        if id(child) not in seen and _writer(tx, child) is not None:
            seen.add(id(child))
            pending.extend(child.children())
    return False


def _writer(tx: TraceContext, value: Tracker) -> Callable[[TraceContext, Tracker], str] | None:
    """The function that writes the text of a container, if it is modelled."""
    row = builtin_type(tx, value.python_type)
    if row is not None and row.text is not None and isinstance(value, row.trackers):
        text = row.text
        return lambda tx, value: text(tx, value, _join_texts)
    return _WRITERS.get(type(value))


def _join_texts(tx: TraceContext, items: Iterable[Tracker]) -> str:
    return ", ".join([repr_text(tx, item) for item in items])


def _view(tx: TraceContext, value: Tracker) -> str:
    assert isinstance(value, ViewTracker)
    return f"{class_name(value.python_type)}([{_join_texts(tx, value.trackers(tx))}])"


def _proxy(tx: TraceContext, value: Tracker) -> str:
    assert isinstance(value, ProxyTracker)
    return f"{MappingProxyType.__name__}({repr_text(tx, value.owner)})"


_WRITERS: Final[dict[type[Tracker], Callable[[TraceContext, Tracker], str]]] = {
    ViewTracker: _view,
    ProxyTracker: _proxy,
}
