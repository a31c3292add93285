"""An exception of the trace as the last line of a traceback shows it. No code of the user runs for it.

ExceptionTracker(ValueError, [Constant("bad 4")])   ->   "ValueError: bad 4"
ExceptionTracker(Own, [Constant(1), a tensor])      ->   "Own(1, Tensor (x))"
"""

from types import WrapperDescriptorType

from framesmith.guards.class_lookup import class_name, static_lookup
from framesmith.guards.comparison import is_plain_constant
from framesmith.variables.builtin_types.tuples import TupleTracker
from framesmith.variables.core.base import Tracker
from framesmith.variables.objects.exceptions import ExceptionTracker
from framesmith.variables.objects.instance_writing import find_solid_base


def exception_line(exception: Tracker) -> str:
    """The class with the message, or with the arguments where a text of them is not known; empty for what is no exception."""
    exception = exception.realize()
    if not isinstance(exception, ExceptionTracker):
        return ""
    args = exception.fields.get("args")
    items = args.realize() if args is not None else None
    # of an existing exception the trace has not read them
    given = [item.realize() for item in items.items] if isinstance(items, TupleTracker) else None
    name = class_name(exception.cls)
    if given is None:
        return name
    known = [item.as_python_constant() for item in given if item.is_python_constant()]
    text = _message(exception.cls, known) if len(known) == len(given) else None
    if text is not None:
        return f"{name}: {text}" if text else name
    shown = [repr(_value(item)) if _is_plain(item) else item.describe() for item in given]
    return f"{name}({', '.join(shown)})"


def _value(item: Tracker) -> object:
    return item.as_python_constant()


def _is_plain(item: Tracker) -> bool:
    return item.is_python_constant() and is_plain_constant(_value(item))


def _message(cls: type, args: list[object]) -> str | None:
    """`str(exception)`, where that is C code on plain values; else None."""
    write = static_lookup(cls, "__str__")
    if not isinstance(write, WrapperDescriptorType) or not all(map(is_plain_constant, args)):
        return None
    base, _ = find_solid_base(cls)
    try:
        return str(write(base(*args)))
    # arguments that the class of the user took in another way
    except Exception:
        return None
