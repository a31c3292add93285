"""How a source or a claim names what it needs when it is rendered as Python text.

The protocol, and the plain implementation without temporaries. The one that shares paths is in `writer`.
"""

import builtins
import keyword
import re
from collections.abc import Hashable, Mapping
from typing import Protocol, final

PREFIX = "__fs_"
# Longer numbers are placeholders: CPython limits the digits that its parser reads.
_LARGEST_LITERAL = 1 << 62


class Path(Hashable, Protocol):
    """What can be named: a source."""

    @property
    def base(self) -> "Path | None": ...

    def is_direct(self) -> bool: ...

    def expression(self, names: "Names") -> str: ...


class Names(Protocol):
    """What an `expression` or a `render` may ask for."""

    def source(self, source: Path) -> str:
        """A primary expression for the value of the source: its text, or the temporary that holds it."""

    def constant(self, value: object, hint: str) -> str:
        """The name of a placeholder bound to this very object."""

    def local(self, name: str) -> str:
        """How the function that evaluates the text spells this local variable of the user's function."""

    def global_name(self, name: str) -> str:
        """An expression that reads the name as LOAD_GLOBAL does, whatever the local names are."""


@final
class Constants:
    """Placeholders for objects, one per object, in which `kind` is a letter. Invariant: equal names mean the same object."""

    def __init__(self, prefix: str = PREFIX, kind: str = "c") -> None:
        if not prefix.startswith(PREFIX) or not prefix.isidentifier():
            raise ValueError(f"the prefix {prefix!r} has to be an identifier that starts with {PREFIX!r}")
        self._prefix = f"{prefix}{kind}"
        self._names: dict[int, str] = {}
        self.values: dict[str, object] = {}

    def __call__(self, value: object, hint: str) -> str:
        """The name bound to this very object."""
        known = self._names.get(id(value))
        if known is not None:
            return known
        name = f"{self._prefix}{len(self.values)}_{_NOT_IN_NAMES.sub('_', hint)[:24]}"
        self._names[id(value)] = name
        self.values[name] = value
        return name


_NOT_IN_NAMES = re.compile(r"[^A-Za-z0-9_]")


@final
class PlainNames:
    """Names without temporaries: every path is written out. For texts, tests and single expressions."""

    def __init__(self) -> None:
        self._constants = Constants()

    @property
    def constants(self) -> dict[str, object]:
        return self._constants.values

    def source(self, source: Path) -> str:
        return source.expression(self)

    def constant(self, value: object, hint: str) -> str:
        return self._constants(value, hint)

    def local(self, name: str) -> str:
        return name

    def global_name(self, name: str) -> str:
        return f"{self.constant(read_global, 'global')}({self.constant(globals, 'globals')}(), {name!a})"


def read_global(module_globals: Mapping[str, object], name: str) -> object:
    """What LOAD_GLOBAL does, for a function whose local names may hide the global."""
    if name in module_globals:
        return module_globals[name]
    found = module_globals.get("__builtins__", builtins)
    # CPython puts the module into `__main__` and its dictionary into all other modules.
    names = found if isinstance(found, dict) else vars(found)
    if name not in names:
        raise NameError(f"name {name!r} is not defined", name=name)
    value: object = names[name]
    return value


def literal(value: object, names: Names, hint: str = "key") -> str:
    """The value as Python text: spelled out where that is exact and short, a placeholder otherwise."""
    cls = type(value)
    if cls is str and len(str(value)) <= 80:
        return ascii(value)
    if isinstance(value, int) and cls is int and -_LARGEST_LITERAL < value < _LARGEST_LITERAL:
        return str(value)
    if value is None or value is True or value is False:
        return str(value)
    return names.constant(value, hint)


def is_attribute_name(name: str) -> bool:
    """Whether `.name` in source text reads exactly this attribute (identifiers are normalized, so ASCII only)."""
    return name.isascii() and name.isidentifier() and not keyword.iskeyword(name)
