"""What every claim is: a statement about one value, or a relation over several.

The concrete ones are in the neighbouring files, one family a file.
"""

from abc import abstractmethod
from collections.abc import Iterable, Sequence
from enum import Enum
from types import ModuleType
from typing import ClassVar, Final, cast

import torch

from framesmith.guards.class_lookup import MISSING, is_heap_type, is_one_of, module_dict, owner_of, type_dict
from framesmith.guards.comparison import Comparable
from framesmith.guards.names import Names
from framesmith.guards.sources.base import Source
from framesmith.guards.words import a_type


class Claim(Comparable):
    """What must still hold of one value.

    Concrete claims are frozen dataclasses with slots and `eq=False` (equality is `Comparable`'s).
    Invariants: a claim accepts the value it was captured from; `check` and the rendered text agree on every
    value, where an exception out of `MISSES` counts as "does not hold"; neither runs user code nor changes
    anything; the text evaluates its value in its first, unconditional part.
    """

    __slots__ = ()

    @abstractmethod
    def check(self, value: object) -> bool:
        """Whether it holds of the value."""

    @abstractmethod
    def render(self, value_expression: str, names: Names) -> str:
        """Python text, true when the claim holds; a comparison, a call, or an `and` of such."""

    @abstractmethod
    def explain(self, value: object, source: Source) -> str:
        """Why it does not hold of the value, in the user's words."""

    @abstractmethod
    def text(self, source: Source) -> str:
        """The claim as a line of a table."""

    def lower(self, source: Source) -> "Sequence[tuple[Source, Claim]] | None":
        """The same statement as claims over sources that other guards share (instance dictionaries ...)."""
        return None


class Relation(Comparable):
    """What must still hold between several sources, or of the state of the process (no source at all)."""

    __slots__ = ()

    #: Whether the text reads every source whatever the values are; otherwise they are read beforehand.
    reads_all: ClassVar[bool] = True

    @property
    @abstractmethod
    def all_sources(self) -> tuple[Source, ...]:
        """The sources it speaks about."""

    @abstractmethod
    def holds(self, values: Sequence[object]) -> bool:
        """Whether it holds of these values, in the order of `all_sources`."""

    @abstractmethod
    def render(self, expressions: Sequence[str], names: Names) -> str:
        """Python text, true when the relation holds."""

    @abstractmethod
    def explain(self, values: Sequence[object]) -> str:
        """Why it does not hold, in the user's words."""

    @abstractmethod
    def text(self) -> str:
        """The relation as a line of a table."""


def show_value(value: object, limit: int = 60) -> str:
    """The value for a message: short, on one line. No `__repr__` that a user wrote runs, also not of an item."""
    cls = type(value)
    if value is MISSING:
        return repr(value)
    if issubclass(cls, type):
        return type.__repr__(value)  # not the `__repr__` of its metaclass
    if issubclass(cls, ModuleType) and cls is not ModuleType:
        # its repr reads attributes, which a class of the user may do in a way of its own
        return f"module {module_dict(cast(ModuleType, value)).get('__name__')}"
    if is_one_of(cls, _TENSORS):
        # not its elements: they say nothing about a guard, and reading them waits for the device
        tensor = cast(torch.Tensor, value)
        dtype = str(tensor.dtype).removeprefix("torch.")
        return f"{a_type(cls)} of {dtype} with shape {[*tensor.shape]}"
    if (cls is list or cls is tuple) and any(
        is_one_of(type(one), _TENSORS) for one in cast(Sequence[object], value)
    ):
        items = ", ".join(map(show_value, cast(Sequence[object], value)[:_MOST_SHOWN]))
        return _shorten(f"[{items}]" if cls is list else f"({items})", limit)
    if not _prints_natively(value, 0):
        return a_type(cls)
    try:
        text = " ".join(repr(value).split())
    except Exception:  # a torch class may refuse
        return a_type(cls)
    return _shorten(text, limit)


def _shorten(text: str, limit: int) -> str:
    return text if len(text) <= limit else text[: limit - 3] + "..."


_TENSORS: Final = (torch.Tensor, torch.nn.Parameter)
_MOST_SHOWN: Final = 4


def describe_value(value: object) -> str:
    """The value and its type for a message about a wrong argument: `3, an int`."""
    kind = a_type(type(value))
    text = show_value(value)
    return text if value is None or text == kind else f"{text}, {kind}"


# Those whose text is written from that of their items: messages of guards, which know no tracker (and so no row of a type).
_CONTAINERS: Final = (list, tuple, set, frozenset)
_LIBRARIES: Final = ("torch", "enum")


def _prints_natively(value: object, depth: int) -> bool:
    """Whether `repr` runs only code of CPython and the libraries. False for `object.__repr__`, which says nothing."""
    cls = type(value)
    if is_one_of(cls, _CONTAINERS) or cls is dict:
        if depth > 3:
            return False
        items = (
            [*value.keys(), *value.values()] if isinstance(value, dict) else [*cast(Iterable[object], value)]
        )
        return len(items) <= 100 and all(_prints_natively(item, depth + 1) for item in items)
    owner = owner_of(cls, "__repr__")
    # The `__repr__` that a subclass of a container inherits prints its items, whatever they are.
    if owner is object or issubclass(cls, (list, tuple, set, frozenset, dict)):
        return False
    module = str(type_dict(cls).get("__module__", "builtins")).partition(".")[0]
    if is_heap_type(owner):
        return owner is Enum or module in _LIBRARIES
    return True
