"""AttributeError and NameError as CPython raises them, with the message of the running version."""

from typing import Final, NoReturn

from framesmith.guards.class_lookup import class_name, flags_of, module_of, qualified_name
from framesmith.variables.core.base import TraceContext, Tracker
from framesmith.variables.core.constant import Constant
from framesmith.variables.core.observed import ObservedException, is_observed_instance
from framesmith.variables.core.raising import new_exception
from framesmith.variables.core.type_names import type_name

NULL: Final = Constant(None)
"""NULL in a field of an exception, which is read as None, but not shown by `repr` from 3.15 on."""


class _Probe:
    """An object without `__dict__`, from which the error messages of the running Python are read."""

    __slots__ = ()
    entry = None


class _DictProbe:
    """An object with an empty `__dict__`."""


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


def _probe(name: str) -> tuple[str, bool]:
    """The text of the error of storing, and whether the error names the attribute in its fields."""
    try:
        setattr(_Probe(), name, None)
    except AttributeError as error:
        text = str(error).replace(_Probe.__name__, "{kind}").replace(name, "{name}")
        return text, error.name is not None
    raise AssertionError(f"_Probe takes an attribute {name!r}")


def _deletion_has_fields(value: object) -> bool:
    try:
        delattr(value, "absent")
    except AttributeError as error:
        return error.name is not None
    raise AssertionError("an attribute that is not there can be deleted")


# The text of reading is the same in all supported versions; those of storing are asked for.
_READING: Final = "'{kind}' object has no attribute '{name}'"
_STORING: Final = _probe("absent")
_READ_ONLY: Final = _probe("entry")
# CPython deletes in two ways: from values inside the instance, which its class says by a flag (3.13), and from a dictionary.
_INLINE_VALUES: Final = 1 << 2
_DELETION_HAS_FIELDS: Final = {
    flags_of(type(value)) & _INLINE_VALUES: _deletion_has_fields(value)
    for value in (_DictProbe(), Exception())
}
_SLOTS_NAME_MODULES: Final = _names_modules()


def missing_attribute(
    tx: TraceContext,
    receiver: Tracker,
    name: str,
    *,
    storing: bool = False,
    read_only: bool = False,
    deleting: bool = False,
) -> NoReturn:
    """Raise the AttributeError of `receiver.name`, of storing into it, or of deleting it from the instance dictionary."""
    template, has_fields = (_READING, True)
    if deleting:
        has_fields = _DELETION_HAS_FIELDS[flags_of(receiver.python_type) & _INLINE_VALUES]
        # an instance may have given up its values for a dictionary, which nothing tells
        if receiver.source is not None and has_fields != _DELETION_HAS_FIELDS[0]:
            receiver.unsupported(f"deleting {name!r}, which it does not have")
    elif storing:
        template, has_fields = _READ_ONLY if read_only else _STORING
    error = new_exception(tx, AttributeError, template.format(kind=type_name(receiver), name=name))
    if has_fields:
        _name_attribute(error, receiver, name)
    raise ObservedException(error)


def missing_name(tx: TraceContext, name: str, text: str | None = None) -> NoReturn:
    """Raise the NameError of a variable, which it names in a field as well (`_PyEval_FormatExcCheckArg`)."""
    error = new_exception(tx, NameError, f"name '{name}' is not defined" if text is None else text)
    set_native_field(error, "name", Constant(name))
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
    _name_attribute(error, receiver, name)
    raise ObservedException(error)


def complete_error(error: ObservedException, receiver: Tracker, name: str) -> None:
    """Name the attribute that was read in an AttributeError that names none (`set_attribute_error_context`)."""
    exception = error.exception
    if not is_observed_instance(error, AttributeError) or exception.source is not None:
        return
    fields = getattr(exception, "fields", {})
    if fields.get("name", NULL) is NULL and fields.get("obj", NULL) is NULL:
        _name_attribute(exception, receiver, name)


def _name_attribute(error: Tracker, receiver: Tracker, name: str) -> None:
    set_native_field(error, "name", Constant(name))
    set_native_field(error, "obj", receiver)


def set_native_field(error: Tracker, field: str, value: Tracker) -> None:
    """Set a C-level field of a new exception, such as `name` of an AttributeError."""
    # The module of exceptions imports this one (through `instances`), so its class cannot be named here.
    fields = getattr(error, "fields", None)
    if isinstance(fields, dict):
        fields[field] = value
