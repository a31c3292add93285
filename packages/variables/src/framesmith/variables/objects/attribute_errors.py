"""AttributeError as CPython raises it, with the message of the running version."""

from typing import Final, NoReturn

from framesmith.guards.class_lookup import class_name, module_of, qualified_name
from framesmith.variables.core.base import TraceContext, Tracker
from framesmith.variables.core.constant import Constant
from framesmith.variables.core.observed import ObservedException
from framesmith.variables.core.raising import new_exception
from framesmith.variables.core.type_names import type_name


class _Probe:
    """An object without `__dict__`, from which the error messages of the running Python are read."""

    __slots__ = ()
    entry = None


class _SlotProbe:
    """An object with an unset slot."""

    __slots__ = ("absent",)


def _names_modules() -> bool:
    """Whether reading an unset slot names the class with its module (since CPython 3.13)."""
    try:
        getattr(_SlotProbe(), "absent")  # noqa: B009  # read for its error
    except AttributeError as error:
        # The text of 3.13 begins with the full name of the class, so the name of this module is in it.
        return __name__ in str(error)
    raise AssertionError("an unset slot has a value")


def _probe(name: str) -> str:
    try:
        setattr(_Probe(), name, None)
    except AttributeError as error:
        return str(error).replace(_Probe.__name__, "{kind}").replace(name, "{name}")
    raise AssertionError(f"_Probe takes an attribute {name!r}")


# The text of reading is the same in all supported versions; those of storing are asked for.
_READING: Final = "'{kind}' object has no attribute '{name}'"
_STORING: Final = _probe("absent")
_READ_ONLY: Final = _probe("entry")
_SLOTS_NAME_MODULES: Final = _names_modules()


def missing_attribute(
    tx: TraceContext, receiver: Tracker, name: str, *, storing: bool = False, read_only: bool = False
) -> NoReturn:
    """Raise the AttributeError of `receiver.name`, or of storing into it."""
    template = _READING if not storing else _READ_ONLY if read_only else _STORING
    error = new_exception(tx, AttributeError, template.format(kind=type_name(receiver), name=name))
    set_native_field(error, "name", Constant(name))
    set_native_field(error, "obj", receiver)
    raise ObservedException(error)


def missing_slot(tx: TraceContext, receiver: Tracker, name: str) -> NoReturn:
    """Raise the AttributeError of reading an unset slot of `receiver`."""
    cls = receiver.python_type
    # Up to 3.12 `PyMember_GetOne` writes `tp_name`, which is the bare name for a class in Python.
    shown = class_name(cls)
    if _SLOTS_NAME_MODULES:
        module = module_of(cls)
        shown = (
            qualified_name(cls) if module in ("builtins", "__main__") else f"{module}.{qualified_name(cls)}"
        )
    error = new_exception(tx, AttributeError, _READING.format(kind=shown, name=name))
    set_native_field(error, "name", Constant(name))
    set_native_field(error, "obj", receiver)
    raise ObservedException(error)


def set_native_field(error: Tracker, field: str, value: Tracker) -> None:
    """Set a C-level field of a new exception, such as `name` of an AttributeError."""
    # The module of exceptions imports this one (through `instances`), so its class cannot be named here.
    fields = getattr(error, "fields", None)
    if isinstance(fields, dict):
        fields[field] = value
