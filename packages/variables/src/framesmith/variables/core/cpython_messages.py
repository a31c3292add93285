"""Error messages of the Python that runs, found once by making it fail.

It fails on an object without special methods, in an empty container, and the like.
The classes `...Sample` are what it is made to fail on; no program sees an instance of them. Which message belongs to which operation
is said where it is raised.
"""

from collections.abc import Callable

from framesmith.variables.core.base import Tracker


class PlainSample:
    """A sample without any special method but those of `object`."""

    __slots__ = ()


class NonContainerSample:
    """A sample whose class says that it is no container."""

    __slots__ = ()
    __contains__ = None


def find_message(statement: str, cls: type = PlainSample) -> str:
    """What CPython says when a statement fails for an object named `value`; `{}` stands for the name of its class."""
    try:
        exec(statement, {"value": cls()})
    except TypeError as error:
        # the result is a template for `format`, in which braces of the text itself are doubled
        return str(error).replace("{", "{{").replace("}", "}}").replace(cls.__name__, "{}")
    raise AssertionError(f"{cls.__name__} can do {statement}")


class MisleadingSample:
    """A sample whose special methods give what they must not give."""

    __slots__ = ()

    def _mislead(self) -> PlainSample:
        return PlainSample()

    __iter__ = __bool__ = _mislead


def find_wrong_result_text(call: Callable[..., object]) -> str:
    """What CPython says where a special method of the argument gives the wrong type; `{receiver}` and `{result}`
    stand for the names of the two classes, `{full_receiver}` and `{full_result}` for those with their modules."""
    text = str(find_error(call, MisleadingSample()))
    # the name with its module is replaced first, as it contains the short one
    for kind, mark in ((MisleadingSample, "receiver"), (PlainSample, "result")):
        text = text.replace(f"{kind.__module__}.{kind.__qualname__}", f"{{full_{mark}}}")
        text = text.replace(kind.__name__, f"{{{mark}}}")
    return text


def find_error(call: Callable[..., object], *args: object, **kwargs: object) -> Exception:
    """The error that CPython raises for a call."""
    try:
        call(*args, **kwargs)
    except (AttributeError, TypeError, ValueError) as error:
        return error
    raise AssertionError(f"{call} accepts {args} and {kwargs}")


def find_error_text(call: Callable[..., object], *args: object, **kwargs: object) -> str:
    """What CPython says when a call fails; `{}` stands for the name of the class `PlainSample`."""
    return str(find_error(call, *args, **kwargs)).replace(PlainSample.__name__, "{}")


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
