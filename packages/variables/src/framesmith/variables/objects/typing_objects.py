"""Objects of `typing` and generic aliases: constants that can be passed on, compared, subscripted and called.

Classes that the user wrote are in `objects.classes`.
"""

import collections.abc
import types
import typing
from collections.abc import Hashable
from typing import Final, final

from framesmith.guards import Source
from framesmith.guards.kinds import Identical
from framesmith.guards.sources import Pinned
from framesmith.guards.words import a_type
from framesmith.variables.core.base import Arguments, Keywords, TraceContext, Tracker
from framesmith.variables.core.constant import Constant
from framesmith.variables.core.folding import fold, from_python
from framesmith.variables.core.known_value import KnownValue
from framesmith.variables.core.rows import Rows
from framesmith.variables.objects.instances import InstanceTracker
from framesmith.variables.objects.own_attributes import has_dict

ROWS: Final = Rows()

_T = typing.TypeVar("_T")
_KINDS: Final[tuple[type, ...]] = tuple(
    # Several samples are of one type; from 3.14 on also `int | str` and `Optional[int]`.
    dict.fromkeys(
        type(sample)
        for sample in (
            list[int], int | str, typing.List[int], typing.List, typing.Optional[int], typing.Callable[..., int],  # noqa: UP006, UP045
            typing.Callable, typing.Any, typing.Union, typing.Literal[1], typing.Tuple, typing.Tuple[int],  # noqa: UP006
            typing.Annotated[int, 1], typing.ForwardRef("int"), _T, collections.abc.Callable[..., int],
        )
    )
)  # fmt: skip

_PLAIN: Final = (type, type(None), type(...))


@final
class TypingTracker(KnownValue[object]):
    """A typing object. Invariant: guarded by identity when it has a source."""

    def begin_attribute(self, tx: TraceContext, name: str) -> Tracker:
        """`__origin__`, `__args__` and `__name__`; others break the graph."""
        if name not in ("__origin__", "__args__", "__name__") or not hasattr(self.value, name):
            return self.unsupported(f"reading attribute {name!r}")
        return from_python(tx, getattr(self.value, name))

    def begin_call(self, tx: TraceContext, args: Arguments, kwargs: Keywords) -> Tracker:
        """`List[int]()`: an instance of the origin; `__orig_class__` is set if it has a `__dict__`."""
        origin = typing.get_origin(self.value)
        if not isinstance(origin, type) or getattr(self.value, "_inst", None) is False:  # it raises TypeError
            return self.unsupported("calling it")
        result = tx.wrap(origin, Pinned(origin, origin.__qualname__)).call(tx, args, kwargs).realize()
        if isinstance(result, InstanceTracker) and has_dict(result.python_type):
            result.set_attribute(tx, "__orig_class__", self)
        return result

    def subscript(self, tx: TraceContext, key: Tracker) -> Tracker:
        """`Dict[str, T][int]`, folded; breaks the graph for a key that is not known."""
        if not key.is_python_constant():
            return self.unsupported(f"a subscript by {key.describe()}")
        return fold(tx, lambda alias, argument: alias[argument], (self, key))

    def binary(self, tx: TraceContext, symbol: str, other: Tracker) -> Tracker | None:
        """`alias | other`."""
        if symbol != "|" or not other.is_python_constant():
            return None
        return fold(tx, lambda left, right: left | right, (self, other))

    def reflected(self, tx: TraceContext, symbol: str, other: Tracker) -> Tracker | None:
        """`other | alias`."""
        if symbol != "|" or not other.is_python_constant():
            return None
        return fold(tx, lambda left, right: left | right, (other, self))

    def compare(self, tx: TraceContext, symbol: str, other: Tracker) -> Tracker | None:
        """`==` and `!=` of the two objects; None (NotImplemented) for values that are not known."""
        if symbol not in ("==", "!="):
            return None
        if not isinstance(other, TypingTracker):
            return None if not other.is_python_constant() else Constant(symbol == "!=")
        return Constant(bool(self.value == other.value) == (symbol == "=="))

    def hash_key(self, tx: TraceContext) -> Hashable:
        """The hash of the object."""
        # Equal objects may be two (`List[int]` is cached, `list[int]` is made anew), so identity is no key.
        return ("typing", self.value)

    def describe(self) -> str:
        """`typing.List[int]`, for messages; its type alone where the text would run code of the user, or where it is
        being made and has no fields yet."""
        try:
            if _prints_natively(self.value):
                return repr(self.value)
        except AttributeError:
            pass
        return a_type(type(self.value))


def _prints_natively(value: object) -> bool:
    """Whether `repr(value)` reads plain classes and parts of `typing` alone: items of `Literal[...]` print themselves."""
    kind = type(value)
    if kind in _PLAIN:
        return True
    # from 3.14 on the text of a ForwardRef is stored in it
    if kind is typing.ForwardRef or kind not in _KINDS:
        return False
    if typing.get_origin(value) in (typing.Literal, typing.Annotated):
        return False
    parts = typing.get_args(value)
    return all(
        all(map(_prints_natively, part)) if type(part) is list else _prints_natively(part) for part in parts
    )


@ROWS.wrap(*(cls for cls in _KINDS if cls is not type))
def wrap_typing(tx: TraceContext, value: object, source: Source) -> Tracker:
    """An existing typing object, guarded by identity."""
    if not isinstance(source, Pinned):
        tx.guard(source, Identical(value))
    return TypingTracker(value, source)


def new_typing(tx: TraceContext, value: object) -> TypingTracker:
    """The tracker of a typing object that a folded call returned."""
    return TypingTracker(value)


ROWS.build(new_typing, *(cls for cls in _KINDS if cls is not type))

assert types.GenericAlias in _KINDS
