"""The slots of known immutable values: attributes and methods, iteration, subscripts, errors.

The tracker itself is in `core.constant`.
"""

import operator
from collections.abc import Callable
from typing import Final, final

import torch

from framesmith.guards.class_lookup import defines
from framesmith.variables.builtin_types.iterators import IteratorTracker, at_index
from framesmith.variables.builtin_types.sequences import repeat_count, user_errors
from framesmith.variables.core.base import Arguments, Keywords, TraceContext, Tracker, Writer
from framesmith.variables.core.builtin_methods import builtin_attribute
from framesmith.variables.core.builtin_type import BuiltinPart, BuiltinType
from framesmith.variables.core.constant import CONSTANT_SLOTS, Constant
from framesmith.variables.core.folding import fold, from_python
from framesmith.variables.core.raising import raise_observed
from framesmith.variables.core.registry import Table
from framesmith.variables.core.rows import Rows
from framesmith.variables.core.type_names import type_name
from framesmith.variables.operations.compare import FUNCTIONS as COMPARISONS
from framesmith.variables.operations.index import index_of

ROWS: Final = Rows()

UNARY: Final[dict[str, Callable[..., object]]] = {
    "-": operator.neg,
    "+": operator.pos,
    "~": operator.invert,
    "not": operator.not_,
}

AttributeReader = Callable[[TraceContext, Constant, str], Tracker]
CONSTANT_ATTRIBUTES: Final = Table[type, AttributeReader]("attributes of constants")
"""How attributes of constants that are instances of a class (enum members, say) are read."""


@final
class _Slots:
    """The implementation of `ConstantSlots`."""

    def begin_attribute(self, tx: TraceContext, constant: Constant, name: str) -> Tracker:
        """A method, bound, or the value of a data attribute, computed at once."""
        value = constant.value
        # first: a member of an enumeration may be a text, an int or a tuple as well
        for kind, reader in tx.registry[CONSTANT_ATTRIBUTES].items():
            if isinstance(value, kind):
                return reader(tx, constant, name)
        if isinstance(value, tuple | frozenset):
            return from_python(tx, value).attribute(tx, name)
        return builtin_attribute(tx, constant, name)

    def begin_call(self, tx: TraceContext, constant: Constant, args: Arguments, kwargs: Keywords) -> Tracker:
        """Calls `__call__` of the class; TypeError for a constant whose class has none."""
        if not defines(constant.python_type, "__call__"):
            raise_observed(tx, TypeError, f"'{type_name(constant)}' object is not callable")
        return constant.special_attribute(tx, "__call__").call(tx, args, kwargs)

    def iterate(self, tx: TraceContext, constant: Constant) -> Tracker:
        """Text and bytes give characters or integers; other iterables that are constants break the graph."""
        value = constant.value
        if isinstance(value, str | bytes) and type(value) in (str, bytes):
            return TextIterator(constant, value)
        # its `__iter__` is that of str, so no code of its class runs
        if isinstance(value, str) and type(value).__iter__ is str.__iter__:  # `torch.__version__`
            return TextIterator(constant, "".join(str.__iter__(value)))
        if isinstance(value, tuple | frozenset):
            return from_python(tx, value).iterate(tx)
        if not defines(constant.python_type, "__iter__") and not defines(constant.python_type, "__getitem__"):
            raise_observed(tx, TypeError, f"'{type_name(constant)}' object is not iterable")
        return constant.unsupported("iterating over it")

    def length(self, tx: TraceContext, constant: Constant) -> Tracker:
        """`len(constant)`, computed at once; its errors are the program's."""
        return fold(tx, len, [constant])

    def contains(self, tx: TraceContext, constant: Constant, item: Tracker) -> Tracker:
        """`item in constant`, computed at once if the item is known; else TypeError as CPython, or a graph break."""
        item = item.realize()
        if isinstance(constant.value, tuple | frozenset):
            return from_python(tx, constant.value).contains(tx, item)
        if isinstance(item, Constant):
            return fold(tx, operator.contains, [constant, item])
        if isinstance(constant.value, str) and not issubclass(item.python_type, str):
            shown = type_name(item)
            raise_observed(tx, TypeError, f"'in <string>' requires string as left operand, not {shown}")
        asked = f"a membership test of {item.describe()}"
        return constant.unsupported(asked, "__contains__", "__iter__", "__getitem__")

    def subscript(self, tx: TraceContext, constant: Constant, key: Tracker) -> Tracker:
        """`constant[key]`, computed at once; the key must be known
        or have a known `__index__`, else the graph breaks."""
        key = key.realize()
        if isinstance(constant.value, tuple):
            return from_python(tx, constant.value).subscript(tx, key)
        if not key.is_python_constant() and isinstance(constant.value, str | bytes):
            if defines(key.python_type, "__index__"):
                # an object with `__index__` may be a tensor or an instance, which is asked as C code asks it
                key = Constant(index_of(tx, key))
            elif not issubclass(key.python_type, slice):
                kind = "string" if isinstance(constant.value, str) else "byte"
                shown = type_name(key)
                tail = f", not '{shown}'" if kind == "string" else f" or slices, not {shown}"
                raise_observed(tx, TypeError, f"{kind} indices must be integers{tail}")
        if not key.is_python_constant():
            return constant.unsupported(f"a subscript by {key.describe()}")
        return fold(tx, operator.getitem, [constant, key])

    def binary(self, tx: TraceContext, symbol: str, constant: Constant, other: Tracker) -> Tracker | None:
        """`str % known value`, `str * integer`; None (NotImplemented)
        for numbers, so that the other operand decides."""
        value = constant.value
        if isinstance(value, tuple | frozenset):
            return from_python(tx, value).binary(tx, symbol, other)
        if not isinstance(value, str | bytes):
            # numbers and None are folded with other constants; beside anything else, that operand knows
            return None
        if symbol == "%":
            if not other.is_python_constant():
                return constant.unsupported(f"formatting {other.describe()}")
            return fold(tx, operator.mod, [constant, other])
        times = repeat_count(tx, other) if symbol == "*" else None
        if times is None:
            return None
        with user_errors(tx):
            return Constant(value * times)

    def compare(self, tx: TraceContext, symbol: str, constant: Constant, other: Tracker) -> Tracker | None:
        """Computed at once where the other operand is known."""
        return fold(tx, COMPARISONS[symbol], (constant, other)) if other.is_python_constant() else None

    def unary(self, tx: TraceContext, constant: Constant, symbol: str) -> Tracker:
        """`-`, `+`, `~` or `not` of the value, computed at once; its errors are the program's."""
        return fold(tx, UNARY[symbol], [constant])


ROWS.add(CONSTANT_SLOTS, None, _Slots())
ROWS.pure_types(type(None), torch.dtype, torch.device, torch.Size)


@final
class TextIterator(IteratorTracker):
    """`iter("text")` or `iter(b"bytes")`."""

    def __init__(self, text: Constant, value: str | bytes) -> None:
        self.text = text
        self.value = value
        self.index = 0

    @property
    def python_type(self) -> type:
        """`str_ascii_iterator`, `str_iterator` or `bytes_iterator`."""
        return type(iter(self.value))

    def begin_advance(self, tx: TraceContext) -> Tracker | None:
        """The next character or byte."""
        tx.changes.note(self)
        if self.index >= len(self.value):
            return None
        self.index += 1
        return Constant(self.value[self.index - 1])

    def reconstruct(self, writer: Writer) -> str:
        """`iter(text)`, moved to the index."""
        text = f"{writer.constant(iter, 'iter')}({writer.value(self.text)})"
        return at_index(self, writer, text, self.index)


def _plain_str(value: object) -> str:
    """The text of an instance of a subclass, read without overrides of the subclass."""
    assert isinstance(value, str)
    # `str(value)` would call `__str__` of the subclass
    return str.__str__(value)


def _plain_bytes(value: object) -> bytes:
    assert isinstance(value, bytes)
    # `bytes(value)` would call `__bytes__` of the subclass
    return bytes.__getitem__(value, slice(None)) if type(value) is bytes else bytes.join(b"", [value])


def _plain_int(value: object) -> int:
    assert isinstance(value, int)
    return int.__int__(value)


def _plain_float(value: object) -> float:
    assert isinstance(value, float)
    return float.__float__(value)


_TEXTS: Final = ("__repr__", "__str__", "__format__")
"""Their other special methods are folded, or left to CPython."""
# CPython has two types: one for ASCII texts, one for all others
_TEXT_ITERATORS: Final = (type(iter("a")), type(iter("\u00e9")))
ROWS.builtin_type(
    BuiltinType(
        str, (), iterators=_TEXT_ITERATORS, part=BuiltinPart(_plain_str), special_methods=_TEXTS, is_pure=True
    ),
    BuiltinType(
        bytes,
        (),
        iterators=(type(iter(b"")),),
        part=BuiltinPart(_plain_bytes),
        special_methods=_TEXTS,
        is_pure=True,
    ),
    BuiltinType(int, (), part=BuiltinPart(_plain_int), special_methods=_TEXTS, is_pure=True),
    BuiltinType(
        float, (), part=BuiltinPart(_plain_float), special_methods=(*_TEXTS, "__hash__"), is_pure=True
    ),
    BuiltinType(complex, (), special_methods=(*_TEXTS, "__hash__"), is_pure=True),
    BuiltinType(bool, (), special_methods=_TEXTS, is_pure=True),
)
