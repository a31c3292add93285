"""`tuple`, `torch.Size`, named tuples and struct sequences: one immutable tracker, whose `kind` is the type.

What it shares with lists is in `builtin_types.sequences`; instances of other subclasses are in `objects.instances`.
"""

from collections.abc import Hashable, Iterator, Sequence
from types import FunctionType
from typing import Final, final

import torch

from framesmith.guards import Source
from framesmith.guards.class_lookup import (
    class_name,
    defines,
    dict_offset,
    resolution_order,
    static_lookup,
    type_dict,
)
from framesmith.guards.kinds import LengthIs, TypeIs
from framesmith.guards.sources import CallResult, Item
from framesmith.variables.builtin_types.iterators import (
    TUPLE_ITERATOR,
    TUPLE_REVERSED,
    ReversedIterator,
    SequenceIterator,
)
from framesmith.variables.builtin_types.sequences import (
    compare_items,
    count,
    find,
    index_in,
    position,
    reaches_itself,
    repeat_count,
    user_errors,
)
from framesmith.variables.builtin_types.unspecialized_values import UnspecializedValue
from framesmith.variables.core.base import Arguments, Keywords, TraceContext, Tracker, Writer, same_value
from framesmith.variables.core.builtin_methods import builtin_attribute
from framesmith.variables.core.builtin_type import BuiltinPart, BuiltinType, Join
from framesmith.variables.core.constant import Constant
from framesmith.variables.core.folding import from_python
from framesmith.variables.core.raising import raise_observed
from framesmith.variables.core.rows import Rows
from framesmith.variables.core.structure import guard_class_attribute
from framesmith.variables.core.type_names import type_name
from framesmith.variables.core.wrap_rules import lazy
from framesmith.variables.operations import binary, compare

ROWS: Final = Rows()


@final
class TupleTracker(Tracker):
    """A tuple. Invariant: `kind` derives from tuple, and its instances hold nothing but the items."""

    tells_changes = True

    def __init__(
        self,
        items: Sequence[Tracker],
        source: Source | None = None,
        cls: type = tuple,
        value: object = None,
    ) -> None:
        self.items: tuple[Tracker, ...] = tuple(items)
        self.source = source
        self.cls = cls
        self.value = value  # the object itself, if it exists
        self._visiting = False

    @property
    def python_type(self) -> type:
        """The type of the object: `tuple` or a derived class."""
        return self.cls

    def is_python_constant(self) -> bool:
        """Whether all items are known; False for a tuple in a reference cycle."""
        if self._visiting:
            return False
        self._visiting = True
        try:
            return all(item.is_python_constant() for item in self.items)
        finally:
            self._visiting = False

    def as_python_constant(self) -> object:
        """A real tuple of the values, of the same type."""
        # some such types, as that of `sys.flags`, make no instances
        if self.value is not None and is_struct_sequence(self.cls):
            return self.value
        return make_real_tuple(self.cls, [item.as_python_constant() for item in self.items])

    def begin_attribute(self, tx: TraceContext, name: str) -> Tracker:
        """The item of a named field, else an attribute of the type."""
        # the fields of a named tuple are class attributes, which a program can replace
        if self.cls not in PLAIN:
            self._check_unchanged(tx, name)
            guard_class_attribute(tx, self.cls, name)
        index = field_index(self.cls, name)
        return self.items[index] if index is not None else builtin_attribute(tx, self, name)

    def _check_unchanged(self, tx: TraceContext, name: str) -> None:
        """Break the graph where the trace itself has stored the attribute in the class: the real class lacks it."""
        changed = tx.changes.classes
        if changed and any(
            base in changed and name in changed[base].changes for base in resolution_order(self.cls)
        ):
            self.unsupported(f"reading attribute {name!r}, which the trace has changed on its class,")

    def builtin_part_or_self(self, tx: TraceContext) -> Tracker:
        """A plain tuple of the items for a class with methods in Python, which `super().__iter__()` must not call again."""
        if self.cls in PLAIN or not any(map(self._has_python_method, _SLOTS)):
            return self
        return TupleTracker(self.items)

    def _call_python_method(self, tx: TraceContext, name: str, *operands: Tracker) -> Tracker | None:
        """The result of the Python method that a named tuple class defines for a slot; None when it defines none."""
        if self.cls in PLAIN:
            return None
        # slots in C are those of tuple, which the tracker models itself
        if not isinstance(static_lookup(self.cls, name), FunctionType):
            return None
        return self.attribute(tx, name).call(tx, operands, {}).realize()

    def _call_operator(self, tx: TraceContext, name: str, other: Tracker) -> Tracker | None:
        """As `_call_python_method`, with None for NotImplemented too."""
        result = self._call_python_method(tx, name, other)
        return None if isinstance(result, Constant) and result.value is NotImplemented else result

    def _has_python_method(self, name: str) -> bool:
        """Whether the class, or a base other than tuple, defines the slot in Python."""
        return self.cls not in PLAIN and isinstance(static_lookup(self.cls, name), FunctionType)

    def begin_call(self, tx: TraceContext, args: Arguments, kwargs: Keywords) -> Tracker:
        """`__call__` of a named tuple class, else a TypeError."""
        if not defines(self.cls, "__call__"):
            raise_observed(tx, TypeError, f"'{type_name(self)}' object is not callable")
        return self.attribute(tx, "__call__").call(tx, args, kwargs)

    def iterate(self, tx: TraceContext) -> Tracker:
        """`iter(self)`."""
        found = self._call_python_method(tx, "__iter__")
        return SequenceIterator(self, self.items, TUPLE_ITERATOR) if found is None else found

    def length(self, tx: TraceContext) -> Tracker:
        """`len(self)`."""
        found = self._call_python_method(tx, "__len__")
        return Constant(len(self.items)) if found is None else found

    def truth(self, tx: TraceContext) -> bool | Tracker:
        """`bool(self)`: what `__bool__` or `__len__` of the class says, else whether there are items."""
        # CPython's order: `nb_bool`, then the length
        for name in ("__bool__", "__len__"):
            found = self._call_python_method(tx, name)
            if found is not None:
                return found.truth(tx)
        return bool(self.items)

    def contains(self, tx: TraceContext, item: Tracker) -> Tracker:
        """`item in self`, by identity, then equality, unless the class overrides it."""
        found = self._call_python_method(tx, "__contains__", item)
        return Constant(find(tx, self.items, item) is not None) if found is None else found

    def subscript(self, tx: TraceContext, key: Tracker) -> Tracker:
        """An item, or a tuple for a slice (`torch.Size` of a `torch.Size`)."""
        found = self._call_python_method(tx, "__getitem__", key)
        if found is not None:
            return found
        place = position(tx, key, "tuple")
        if isinstance(place, slice):
            if self.cls is tuple and place.indices(len(self.items)) == (0, len(self.items), 1):
                return self  # `tuplesubscript` in Objects/tupleobject.c
            return TupleTracker(self.items[place], None, self._result_kind())
        with user_errors(tx):
            return self.items[place]

    def _result_kind(self) -> type:
        """The type of a slice or repetition: of `torch.Size` a `torch.Size`, else `tuple`."""
        return torch.Size if self.cls is torch.Size else tuple

    def binary(self, tx: TraceContext, symbol: str, other: Tracker) -> Tracker | None:
        """`+` with a tuple, `*` with an integer, unless the class overrides the operator."""
        name = _name_method(symbol)
        if name is not None and self._has_python_method(name):
            return self._call_operator(tx, name, other)
        if symbol == "+":
            right = find_tuple_part(tx, other)
            if right is None:
                return None
            if self.cls is tuple and right.cls is tuple and not (self.items and right.items):
                return self if self.items else right
            either_size = torch.Size in (self.cls, right.cls)
            return TupleTracker((*self.items, *right.items), None, torch.Size if either_size else tuple)
        return self._repeat(tx, other) if symbol == "*" else None

    def reflected(self, tx: TraceContext, symbol: str, other: Tracker) -> Tracker | None:
        """`integer * self`, and `tuple + Size`."""
        name = _name_method(symbol, "r")
        if self.cls not in PLAIN and name is not None and defines(self.cls, name):
            return self._call_operator(tx, name, other)
        if symbol == "+" and self.cls is torch.Size:
            left = find_tuple_part(tx, other)
            return None if left is None else TupleTracker((*left.items, *self.items), None, torch.Size)
        return self._repeat(tx, other) if symbol == "*" else None

    def inplace(self, tx: TraceContext, symbol: str, other: Tracker) -> Tracker | None:
        """What a named tuple class defines; else None (NotImplemented), so that the binary operation is used."""
        name = _name_method(symbol, "i")
        if self.cls in PLAIN or name is None or not defines(self.cls, name):
            return None
        return self._call_operator(tx, name, other)

    def _repeat(self, tx: TraceContext, other: Tracker) -> Tracker | None:
        times = repeat_count(tx, other)
        if times is None:
            return None
        # the very object, as in CPython: `is` can tell
        if self.cls is tuple and (times == 1 or not self.items):
            return self
        with user_errors(tx):
            return TupleTracker(self.items * times, None, self._result_kind())

    def unary(self, tx: TraceContext, symbol: str) -> Tracker:
        """What a named tuple class defines; else TypeError."""
        name = {"-": "__neg__", "+": "__pos__", "~": "__invert__"}[symbol]
        found = self._call_python_method(tx, name)
        if found is None:
            raise_observed(tx, TypeError, f"bad operand type for unary {symbol}: '{type_name(self)}'")
        return found

    def compare(self, tx: TraceContext, symbol: str, other: Tracker) -> Tracker | None:
        """Lexicographic, with tuples only, unless the class overrides the comparison."""
        if self._has_python_method(compare.METHODS[symbol]):
            return self._call_operator(tx, compare.METHODS[symbol], other)
        right = find_tuple_part(tx, other)
        return None if right is None else compare_items(tx, symbol, self.items, right.items)

    def hash_key(self, tx: TraceContext) -> Hashable:
        """By the items; a class with its own `__hash__` or `__eq__` breaks the graph."""
        # each comparison with another key would run code of the class
        if self._has_python_method("__hash__") or self._has_python_method("__eq__"):
            self.unsupported("hashing it (its class defines __eq__ or __hash__)")
        return ("tuple", tuple([item.realize().hash_key(tx) for item in self.items]))

    def children(self) -> Iterator[Tracker]:
        """The items."""
        return iter(self.items)

    def is_same(self, tx: TraceContext, other: Tracker) -> bool:
        """`self is other`; a constant of the code and an argument may be one
        object with two trackers. All empty tuples are the same object."""
        if not self.items and self.cls is tuple and isinstance(other := other.realize(), TupleTracker):
            return not other.items and other.cls is tuple
        return same_value(tx, self, self.value, other) or super().is_same(tx, other)

    def reconstruct(self, writer: Writer) -> str:
        """A display; for a derived type a call of `tuple.__new__`, so that no code of the class runs.

        A tuple in a reference cycle is built while the list (or dict ...) in the cycle is filled: by the inner call of
        this method, which ends the outer one (`Writer.define`).
        """
        values = [writer.value(item) for item in self.items]
        listed = "".join([f"{value}, " for value in values])
        if listed and all(isinstance(item.realize(), Constant) for item in self.items):
            listed = f"*[{listed}],"  # CPython makes one object of all displays that hold the same constants
        text = self._text(writer, f"({listed})")
        return writer.define(self, text, "tuple") if reaches_itself(self) else text

    def _text(self, writer: Writer, display: str) -> str:
        if self.cls is tuple:
            return display
        kind = writer.constant(self.cls, class_name(self.cls))
        # their `__new__` in C does more than that of tuple: it checks, or fills hidden fields
        if self.cls is torch.Size or is_struct_sequence(self.cls):
            return f"{kind}({display})"
        return f"{writer.constant(tuple.__new__, 'new_tuple')}({kind}, {display})"


_SLOTS: Final = (
    *(
        f"__{name}__"
        for name in ("len", "iter", "contains", "getitem", "hash", "bool", "add", "mul", "rmul", "radd")
    ),
    *compare.METHODS.values(),
)
PLAIN: frozenset[type] = frozenset({tuple, torch.Size, object})


def _name_method(symbol: str, prefix: str = "") -> str | None:
    """`__add__`, `__radd__` or `__iadd__` for `+`; None for what is no operator of two operands."""
    name = binary.METHODS.get(symbol)
    return None if name is None else f"__{prefix}{name}__"


def find_tuple_part(tx: TraceContext, tracker: Tracker) -> TupleTracker | None:
    """The tuple part of a tracker, of a constant tuple too; None when it has none."""
    tracker = tracker.realize().builtin_part_or_self(tx)
    if isinstance(tracker, Constant) and type(tracker.value) is tuple:
        return TupleTracker([from_python(tx, item) for item in tracker.value])
    return tracker if isinstance(tracker, TupleTracker) else None


def is_struct_sequence(cls: type) -> bool:
    """Whether this is a C named tuple such as `torch.return_types.max` or `time.struct_time`."""
    return issubclass(cls, tuple) and isinstance(type_dict(cls).get("n_sequence_fields"), int)


def is_named_tuple(cls: type) -> bool:
    """Whether instances are made by `collections.namedtuple`, have no `__dict__`, and hold just their fields."""
    if not issubclass(cls, tuple) or dict_offset(cls):
        return False
    return isinstance(static_lookup(cls, "_fields"), tuple)


def field_index(cls: type, name: str) -> int | None:
    """The position of a named field; None when the class defines the name in another way."""
    if cls in PLAIN:
        return None
    if is_struct_sequence(cls):
        names = getattr(cls, "__match_args__", ())
        return names.index(name) if name in names else None
    descriptor = static_lookup(cls, name)
    # the descriptor in C of `collections.namedtuple`, a type without a public name
    if type(descriptor).__name__ != "_tuplegetter":
        return None
    # `__reduce__` gives its index and its documentation
    arguments = descriptor.__reduce__()[1]
    assert isinstance(arguments, tuple) and isinstance(arguments[0], int)
    return arguments[0]


def make_real_tuple(cls: type, items: list[object]) -> object:
    """A tuple of the given type; runs no code of a named tuple class."""
    if cls is torch.Size or is_struct_sequence(cls):
        return cls(items)
    return tuple.__new__(cls, items)


def copy_to_real_tuple(value: object) -> tuple[object, ...]:
    """A plain tuple of the items, read without overrides of the class."""
    assert isinstance(value, tuple)
    return tuple(tuple.__iter__(value))


_READING: Final = ("__getitem__", "__len__", "__iter__")


@ROWS.wrap(tuple, torch.Size)
def wrap_tuple(tx: TraceContext, value: object, source: Source) -> Tracker:
    """An existing tuple, guarded by type and length; its items are read
    when they are needed. An unspecialized one stays unread (ADR 0010)."""
    assert isinstance(value, tuple)
    tx.guard(source, TypeIs(type(value)))
    if tx.wrap.policy.is_unspecialized(source):
        return UnspecializedValue(value, source)
    return wrap_tuple_content(tx, value, source, type(value))


@ROWS.wrap_when(55, lambda _, cls: is_struct_sequence(cls) or is_named_tuple(cls))
def wrap_named_tuple(tx: TraceContext, value: object, source: Source) -> Tracker:
    """An existing named tuple or struct sequence. If its class overrides reading, guards read a plain copy."""
    cls = type(value)
    if is_struct_sequence(cls) or all(
        static_lookup(cls, name) is static_lookup(tuple, name) for name in _READING
    ):
        return wrap_tuple(tx, value, source)
    assert isinstance(value, tuple)
    tx.guard(source, TypeIs(cls))
    # items cannot be read by `source[i]`, which would run the override
    part = wrap_tuple_content(tx, value, CallResult(source, copy_to_real_tuple), cls)
    part.source = source
    return part


def wrap_tuple_content(
    tx: TraceContext, value: tuple[object, ...], source: Source, cls: type
) -> TupleTracker:
    """The tuple part of an existing tuple or of an instance of a
    subclass; its type must be guarded already, its length is here."""
    tx.guard(source, LengthIs(tuple.__len__(value)))
    items = tuple.__iter__(value)
    return TupleTracker(
        [lazy(tx, item, Item(source, index)) for index, item in enumerate(items)], source, cls, value
    )


def make_tuple_tracker(tx: TraceContext, value: object) -> TupleTracker:
    """The tracker of a tuple created in the trace, from known values."""
    assert isinstance(value, tuple)
    return TupleTracker([from_python(tx, item) for item in value], None, type(value))


@ROWS.call(tuple.count)
def tuple_count(tx: TraceContext, self: Tracker, value: Tracker, /) -> Tracker:
    """`self.count(value)`."""
    return Constant(count(tx, items_of(tx, self), value))


@ROWS.call(tuple.index)
def tuple_index(
    tx: TraceContext,
    self: Tracker,
    value: Tracker,
    start: Tracker | None = None,
    stop: Tracker | None = None,
    /,
) -> Tracker:
    """`self.index(value)`."""
    return index_in(tx, items_of(tx, self), value, start, stop, "tuple.index(x): x not in tuple")


def items_of(tx: TraceContext, tracker: Tracker) -> tuple[Tracker, ...]:
    """The items of a tuple tracker or a constant tuple; breaks the graph for anything else."""
    found = find_tuple_part(tx, tracker)
    if found is None:
        return tracker.unsupported("use as a tuple")
    return found.items


def reverse_tuple(tracker: TupleTracker) -> Tracker:
    """`reversed(self)` of a tuple."""
    return ReversedIterator(tracker, tracker.items, TUPLE_REVERSED)


def wrap_tuple_part(tx: TraceContext, value: object, source: Source, cls: type) -> Tracker:
    """The tuple part of an existing instance of a subclass."""
    assert isinstance(value, tuple)
    return wrap_tuple_content(tx, value, source, cls)


def tuple_text(tx: TraceContext, value: Tracker, join: Join) -> str:
    """`(1, 2)`; breaks the graph for other subclasses than `torch.Size`."""
    assert isinstance(value, TupleTracker)
    if value.cls is torch.Size:
        return f"torch.Size([{join(tx, value.items)}])"
    if value.cls is not tuple:
        # a named tuple has a `__repr__` in Python, a struct sequence one of its own
        value.unsupported("writing a text of it")
    return f"({join(tx, value.items)}{',' if len(value.items) == 1 else ''})"


ROWS.builtin_type(
    BuiltinType(
        tuple,
        (TupleTracker, Constant),
        build=make_tuple_tracker,
        text=tuple_text,
        iterators=(type(iter(())), reversed),
        part=BuiltinPart(copy_to_real_tuple, wrap_tuple_part),
        holds_items=True,
    )
)
ROWS.build(make_tuple_tracker, torch.Size)
