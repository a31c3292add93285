"""Error messages of the Python that runs, found once by making it fail: on an object without special methods, in an
empty container."""

from collections.abc import Callable

from framesmith.variables.core.base import Tracker


class Incapable:
    """An object without any special method but those of `object`."""

    __slots__ = ()


class Refusing:
    """An object whose class says that it is no container."""

    __slots__ = ()
    __contains__ = None


def find_message(statement: str, kind: type = Incapable) -> str:
    """What CPython says when a statement fails for an object named `value`; `{}` stands for the name of its class."""
    try:
        exec(statement, {"value": kind()})
    except TypeError as error:
        return str(error).replace("{", "{{").replace("}", "}}").replace(kind.__name__, "{}")
    raise AssertionError(f"{kind.__name__} can do {statement}")


class _Shown:
    """Stands for the value that is searched for."""

    def __repr__(self) -> str:
        return "{}"


def find_absence_message(search: Callable[[object], object]) -> str:
    """What CPython says when a search finds nothing; `{}` stands for the value, which it shows until Python 3.13."""
    try:
        search(_Shown())
    except ValueError as error:
        return str(error)
    raise AssertionError("an empty container holds something")


def fill_absence_message(value: Tracker, text: str) -> str:
    """The message of a failed search for a value; breaks the graph where it shows a value that is not known."""
    if "{}" not in text:
        return text
    if not value.is_python_constant():
        value.unsupported("showing it in a message")
    return text.replace("{}", repr(value.as_python_constant()))
