"""Texts of TypeErrors in the words of the Python that runs: each is asked for once, with an object that can do nothing."""


class Incapable:
    """An object without any special method but those of `object`."""

    __slots__ = ()


class Refusing:
    """An object whose class says that it is no container."""

    __slots__ = ()
    __contains__ = None


def asked(statement: str, kind: type = Incapable) -> str:
    """What CPython says when a statement fails for an object named `value`; `{}` stands for the name of its class."""
    try:
        exec(statement, {"value": kind()})
    except TypeError as error:
        return str(error).replace("{", "{{").replace("}", "}}").replace(kind.__name__, "{}")
    raise AssertionError(f"{kind.__name__} can do {statement}")
