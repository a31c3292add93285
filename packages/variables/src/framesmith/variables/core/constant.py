"""Values that are fully known while tracing and immutable: numbers, strings, None, dtypes, enum members.

Their methods and operators are in `builtin_types.constants`.
"""

import enum
from collections.abc import Hashable
from types import CodeType, FunctionType
from typing import Final, Protocol, final

import torch

from framesmith.guards import Guard, Reason
from framesmith.guards.class_lookup import static_lookup
from framesmith.guards.comparison import same_constant
from framesmith.guards.kinds import DistinctObjects, Identical, NotIdentical, SameObject
from framesmith.guards.sources import Pinned
from framesmith.variables.core.base import Arguments, Keywords, TraceContext, Tracker, Writer
from framesmith.variables.core.known_value import KnownValue
from framesmith.variables.core.registry import Registry, Table

LITERAL_TYPES: frozenset[type] = frozenset(
    {type(None), bool, int, float, complex, str, bytes, type(...), type(NotImplemented)}
)
TORCH_CONSTANT_TYPES: frozenset[type] = frozenset(
    {torch.dtype, torch.device, torch.layout, torch.memory_format}
)
# CPython shares some objects of these types (interned texts, constants of one code object) and copies others,
# so whether two equal ones are one object can differ from call to call.
_COPIED: frozenset[type] = frozenset(
    {float, complex, str, bytes, tuple, frozenset, slice, range, torch.device}
)
_OPAQUE_TYPES: frozenset[type] = TORCH_CONSTANT_TYPES | {CodeType}

COMPARED_TYPES: Final = Table[type, None]("constants that compare in their own way")
"""Types of constants that compare with containers and classes too: versions, dtypes of numpy."""
CONSTANT_TYPES: Final = Table[type, None]("types of constants")
"""Values of exactly these immutable types are constants; existing ones are guarded by identity."""


def is_constant_type(registry: Registry, cls: type) -> bool:
    """Whether every value of exactly this type is treated as a constant."""
    known = cls in LITERAL_TYPES or cls in _OPAQUE_TYPES or cls in registry[CONSTANT_TYPES]
    return known or issubclass(cls, enum.Enum)


class ConstantSlots(Protocol):
    """The slots of constants. They need iterators, methods and errors of
    higher modules, so the implementation is in `builtin_types.constants`."""

    def begin_attribute(self, tx: TraceContext, constant: "Constant", name: str) -> Tracker:
        """`constant.name`."""
        ...

    def iterate(self, tx: TraceContext, constant: "Constant") -> Tracker:
        """`iter(constant)`."""
        ...

    def begin_call(
        self, tx: TraceContext, constant: "Constant", args: Arguments, kwargs: Keywords
    ) -> Tracker:
        """`constant(*args, **kwargs)`."""
        ...

    def length(self, tx: TraceContext, constant: "Constant") -> Tracker:
        """`len(constant)`."""
        ...

    def contains(self, tx: TraceContext, constant: "Constant", item: Tracker) -> Tracker:
        """`item in constant`."""
        ...

    def subscript(self, tx: TraceContext, constant: "Constant", key: Tracker) -> Tracker:
        """`constant[key]`."""
        ...

    def binary(self, tx: TraceContext, symbol: str, constant: "Constant", other: Tracker) -> Tracker | None:
        """`constant <symbol> other`."""
        ...

    def compare(self, tx: TraceContext, symbol: str, constant: "Constant", other: Tracker) -> Tracker | None:
        """`constant <symbol> other` for a text of a class that compares in its own way."""
        ...

    def unary(self, tx: TraceContext, constant: "Constant", symbol: str) -> Tracker:
        """`-constant`, `+constant`, `~constant` or `not constant`."""
        ...


CONSTANT_SLOTS: Final = Table[None, ConstantSlots]("slots of constants")
"""The one implementation of `ConstantSlots`."""


@final
class Null(Tracker):
    """The NULL that CPython keeps on the value stack."""

    @property
    def python_type(self) -> type:
        """NULL has no type; callers never read this."""
        return type(None)


NULL = Null()


@final
class Constant(KnownValue[object]):
    """A known immutable value. Invariant: its type is a constant type (`is_constant_type`), or a tuple or frozenset of such values."""

    def begin_attribute(self, tx: TraceContext, name: str) -> Tracker:
        """`self.name`."""
        return tx.registry.get_single(CONSTANT_SLOTS).begin_attribute(tx, self, name)

    def special_attribute(self, tx: TraceContext, name: str) -> Tracker:
        """A special method of the class; breaks the graph for a member of an enumeration that has its own by that name."""
        if isinstance(self.value, enum.Enum) and name in vars(self.value):
            self.unsupported(f"its {name}, which its class does not call,")
        return self.attribute(tx, name)

    def begin_call(self, tx: TraceContext, args: Arguments, kwargs: Keywords) -> Tracker:
        """Calls `__call__` of the class; TypeError for most constants."""
        return tx.registry.get_single(CONSTANT_SLOTS).begin_call(tx, self, args, kwargs)

    def iterate(self, tx: TraceContext) -> Tracker:
        """`iter(self)`."""
        return tx.registry.get_single(CONSTANT_SLOTS).iterate(tx, self)

    def length(self, tx: TraceContext) -> Tracker:
        """`len(self)`."""
        return tx.registry.get_single(CONSTANT_SLOTS).length(tx, self)

    def contains(self, tx: TraceContext, item: Tracker) -> Tracker:
        """`item in self`."""
        return tx.registry.get_single(CONSTANT_SLOTS).contains(tx, self, item)

    def subscript(self, tx: TraceContext, key: Tracker) -> Tracker:
        """`self[key]`."""
        return tx.registry.get_single(CONSTANT_SLOTS).subscript(tx, self, key)

    def binary(self, tx: TraceContext, symbol: str, other: Tracker) -> Tracker | None:
        """`self <symbol> other` where the other operand is no constant."""
        return tx.registry.get_single(CONSTANT_SLOTS).binary(tx, symbol, self, other)

    def unary(self, tx: TraceContext, symbol: str) -> Tracker:
        """`-self`."""
        return tx.registry.get_single(CONSTANT_SLOTS).unary(tx, self, symbol)

    def compare(self, tx: TraceContext, symbol: str, other: Tracker) -> Tracker | None:
        """A comparison with what is no constant, for a type that compares in its own way; else None."""
        cls = type(self.value)
        is_member = issubclass(cls, tuple) and issubclass(cls, enum.Enum)  # it compares with any tuple
        if cls not in tx.registry[COMPARED_TYPES] and not (
            is_member and issubclass(other.python_type, tuple)
        ):
            return None
        if is_member and not other.is_python_constant():
            return other.unsupported("a comparison with a member of an enumeration")
        return tx.registry.get_single(CONSTANT_SLOTS).compare(tx, symbol, self, other)

    def truth(self, tx: TraceContext) -> bool:
        """The truth of the value. That of NotImplemented warns or raises, which is left to Python."""
        if self.value is NotImplemented:
            return self.unsupported("its truth")
        return bool(self.value)

    def is_same(self, tx: TraceContext, other: Tracker) -> bool:
        """`self is other`. Two equal numbers or texts may be one
        object or two: the answer is that of this call, and guarded."""
        # these guard the answer themselves: an unread value or a number that changes may be this very object
        if other.is_unread or (other.is_run_time_number and other.python_type is self.python_type):
            return other.is_same(tx, self)
        if not isinstance(other, Constant):
            return False
        same = other.value is self.value
        # small ints and unequal values give the same answer in each call that the guards let in
        if self is other or not has_copies(self.value) or not _may_be_one(self.value, other.value):
            return same
        # guards fix the values alone; two sources may give one object in this call and two in the next
        if self.source is not None and other.source is not None:
            if self.source == other.source:
                return True
            pair = (self.source, other.source)
            relation = SameObject(*pair) if same else DistinctObjects(pair)
            tx.guards.add(Guard.relation(relation, Reason("two equal constants are one object, or two")))
        elif self.source is not None or other.source is not None:
            existing, value = (self, other.value) if self.source is not None else (other, self.value)
            tx.guard(existing, Identical(value) if same else NotIdentical(value))
        return same

    def hash_key(self, tx: TraceContext) -> Hashable:
        """A key of the value: 1, 1.0 and True have equal keys, as
        in a dict. Breaks where Python code or a NaN decides."""
        if isinstance(self.value, enum.Enum) and _hashes_itself(type(self.value)):
            self.unsupported("hashing it (its class defines __eq__ or __hash__)")
        # a NaN that is read anew may be another object in the next call, a pinned one is a constant of the code
        if is_nan(self.value) and not isinstance(self.source, Pinned | None):
            self.unsupported("hashing it (a NaN equals itself alone)")
        # `Enum.__hash__` reads `_name_`, which a program may have deleted
        if isinstance(self.value, enum.Enum) and "_name_" not in vars(self.value):
            self.unsupported("hashing it")
        return constant_key(self.value)

    def reconstruct(self, writer: Writer) -> str:
        """A literal for a value with a single object, else the same object
        as in the trace, since the program may compare it by `is`."""
        # a large int stays the object of the trace: a literal would be another one, and `is` could tell
        if type(self.value) in (int, bool, type(None)) and not has_copies(self.value):
            text = repr(self.value)
            return f"({text})" if text.startswith("-") else text  # it may become the base of a power
        if isinstance(self.value, float | complex) and is_nan(self.value):
            return f"-{writer.constant(-self.value, 'nan')}"  # each call makes its own, sign and all
        return super().reconstruct(writer)

    def describe(self) -> str:
        """The value for messages."""
        if isinstance(self.value, enum.Enum):
            return f"{type(self.value).__name__} member {vars(self.value).get('_name_', 'without a name')}"
        if self.value is None or isinstance(self.value, bool):
            return str(self.value)
        return f"{type(self.value).__name__} {self.value!r}"


def is_nan(value: object) -> bool:
    """Whether a number is a NaN, which equals only itself as an
    object: `in`, `hash` and containers see its identity."""
    return (type(value) in (float, complex) or _is_of_numpy(value)) and bool(value != value)


def has_known_hash(value: object) -> bool:
    """Whether all equal objects have this hash; the hash of a NaN comes from its address."""
    pending, seen = [value], {id(value)}
    while pending:
        one = pending.pop()
        if is_nan(one):
            return False
        if isinstance(one, tuple | frozenset):
            pending += [part for part in one if id(part) not in seen]
            seen.update(map(id, one))
    return True


def has_copies(value: object) -> bool:
    """Whether several equal objects may exist. CPython caches each int from -5 to 256."""
    if type(value) is int:
        return not -5 <= value <= 256
    return type(value) in _COPIED or _is_of_numpy(value)


def _is_of_numpy(value: object) -> bool:
    """Whether it is a scalar of numpy, which no package of framesmith imports."""
    return type(value).__module__ == "numpy"


def _may_be_one(left: object, right: object) -> bool:
    """Whether two objects with these values may be one in another call that the guards let in."""
    if not _is_of_numpy(left):
        return same_constant(left, right)
    return type(left) is type(right) and (left == right or (left != left and right != right))


def _hashes_itself(cls: type) -> bool:
    """Whether an enum class has Python code for hash or equality, other than that of the module `enum`."""
    methods = (static_lookup(cls, name) for name in ("__hash__", "__eq__"))
    return any(isinstance(method, FunctionType) and method.__module__ != "enum" for method in methods)


def constant_key(value: object) -> Hashable:
    """The key under which a constant is stored in a modelled dict or set.

    A part that is held more than once is visited once: a nest of n frozensets may hold 2**n.
    """
    return _key_of(value, {}) if type(value) in (tuple, frozenset) else _scalar_key(value)


def _scalar_key(value: object) -> Hashable:
    # nearly all are names; the class of hashable objects is asked by code in Python
    if type(value) is not str and not isinstance(value, Hashable):
        raise TypeError(f"unhashable constant {value!r}")
    return ("constant", value)


def _key_of(value: object, known: dict[int, Hashable]) -> Hashable:
    cls = type(value)
    if cls is tuple or cls is frozenset:
        assert isinstance(value, tuple | frozenset)
        if id(value) not in known:
            keys = [_key_of(item, known) for item in value]
            known[id(value)] = ("tuple", tuple(keys)) if cls is tuple else ("frozenset", frozenset(keys))
        return known[id(value)]
    return _scalar_key(value)
