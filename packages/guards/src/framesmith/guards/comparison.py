"""Exact equality of constants, and value equality for sources and claims.

To Python's `==`, `1`, `1.0` and `True` are equal, and it calls the `__eq__` that a user wrote. A guard may do
neither: here two constants are the same when they are equal, their types are the same all the way down, and no user
code runs to find out. What has no row in the table below is compared by identity. How a guard renders a comparison:
`kinds.values`.
"""

import enum
import math
import types
from collections.abc import Callable, Sequence
from operator import attrgetter
from typing import ClassVar

import torch


class Comparable:
    """Value equality over the fields (the `__slots__`) of a frozen dataclass; the hash is computed once.

    Invariant: `a == b` implies the same type and, field by field, `same_constant`. Classes that hold values of the
    user's hash those by `hash_key`.
    """

    __slots__ = ("_hash",)
    _hash: int
    field_names: ClassVar[tuple[str, ...]]
    _read_fields: ClassVar[Callable[[object], tuple[object, ...]]]

    def __init_subclass__(cls) -> None:
        # called twice for a dataclass with slots, which is made anew with them
        cls.field_names = tuple(cls.__dict__.get("__slots__", ()))
        cls._read_fields = staticmethod(_fields_reader(cls.field_names))

    def comparison_fields(self) -> tuple[object, ...]:
        """The values that `==` compares: by default all fields."""
        return type(self)._read_fields(self)

    def hash_fields(self) -> tuple[object, ...]:
        """The values that the hash is made of; none may have a `__hash__` that a user wrote."""
        return self.comparison_fields()

    def __eq__(self, other: object) -> bool:
        if self is other:
            return True
        # The hashes are kept, so nearly all that differ are told apart without a look at their fields.
        if type(self) is not type(other) or hash(self) != hash(other):
            return False
        assert isinstance(other, Comparable)
        for left, right in zip(self.comparison_fields(), other.comparison_fields(), strict=True):
            if left is not right and not same_constant(left, right):
                return False
        return True

    def __hash__(self) -> int:
        try:
            return self._hash
        except AttributeError:
            value = self._compute_hash()
            # The data classes are frozen.
            object.__setattr__(self, "_hash", value)
            return value

    def _compute_hash(self) -> int:
        try:
            return hash((type(self), self.hash_fields()))
        except TypeError:  # a slice (before 3.12), or a tuple that holds one
            return hash((type(self), repr(self.hash_fields())))


def _fields_reader(names: Sequence[str]) -> Callable[[object], tuple[object, ...]]:
    """What reads these attributes of an object as a tuple."""
    # attrgetter gives a tuple for several names only.
    if len(names) > 1:
        return attrgetter(*names)
    return lambda value: tuple([getattr(value, name) for name in names])


def same_constant(left: object, right: object) -> bool:
    """Whether the two are one object, or equal constants of equal types all the way down."""
    if left is right:
        return True
    cls = type(left)
    if cls is not type(right):
        return False
    # After the comparison of types: `1 == True` never gets here.
    compare = _COMPARERS.get(cls)
    if compare is not None:
        return compare(left, right)
    if issubclass(cls, Comparable):
        return left == right
    if issubclass(cls, tuple) and not issubclass(cls, enum.Enum):  # a named tuple, torch.Size
        return _same_tuples(left, right)
    return False


def hash_key(value: object) -> object:
    """What replaces a value in a hash, so that its own `__hash__`, which a user may have written, is not called.

    Invariant: `same_constant(a, b)` implies `hash_key(a) == hash_key(b)`.
    """
    cls = type(value)
    if cls in _PLAIN_HASHES:
        # A NaN is hashed by its address, and is the same constant as any other of its sign.
        return value if value == value else cls
    if issubclass(cls, Comparable):
        return value
    if issubclass(cls, tuple):
        assert isinstance(value, tuple)
        return tuple(map(hash_key, tuple.__iter__(value)))
    # Types that are compared by content share one hash a type; what is compared by identity has the hash of its id.
    return id(cls if cls in _COMPARERS else value)


def is_plain_constant(value: object) -> bool:
    """Whether `same_constant` compares the value by its contents rather than by identity."""
    cls = type(value)
    if cls not in _COMPARERS:
        return False
    if isinstance(value, tuple | frozenset | list):
        return all(is_plain_constant(item) for item in value)
    if isinstance(value, slice):
        return all(is_plain_constant(item) for item in (value.start, value.stop, value.step))
    return True


def is_immutable_constant(value: object) -> bool:
    """Whether the value is such a constant, and holds no list."""
    if isinstance(value, tuple | frozenset):
        return all(is_immutable_constant(item) for item in value)
    return is_plain_constant(value) and type(value) is not list


def _equal(left: object, right: object) -> bool:
    return left == right


def _same_float(left: object, right: object) -> bool:
    assert isinstance(left, float) and isinstance(right, float)
    if left != right and (left == left or right == right):
        return False
    # A NaN has a sign too, which `math.copysign` reads.
    return math.copysign(1.0, left) == math.copysign(1.0, right)


def _same_complex(left: object, right: object) -> bool:
    assert isinstance(left, complex) and isinstance(right, complex)
    return _same_float(left.real, right.real) and _same_float(left.imag, right.imag)


def _same_tuples(left: object, right: object) -> bool:
    assert isinstance(left, tuple) and isinstance(right, tuple)
    return len(left) == len(right) and all(map(same_constant, left, right))


def _same_lists(left: object, right: object) -> bool:
    assert isinstance(left, list) and isinstance(right, list)
    return len(left) == len(right) and all(map(same_constant, left, right))


def _same_members(left: object, right: object) -> bool:
    assert isinstance(left, frozenset) and isinstance(right, frozenset)
    if len(left) != len(right) or left != right:
        return False
    # Members that are equal may differ in type (1 and True), so each is compared with its equal in the other set.
    twins = {item: item for item in right}
    return all(same_constant(item, twins[item]) for item in left)


def _same_slice(left: object, right: object) -> bool:
    assert isinstance(left, slice) and isinstance(right, slice)
    return _same_tuples((left.start, left.stop, left.step), (right.start, right.stop, right.step))


def _same_range(left: object, right: object) -> bool:
    assert isinstance(left, range) and isinstance(right, range)
    # `==` compares the numbers that they give: range(0, 10, 3) is equal to range(0, 12, 3).
    return _same_tuples((left.start, left.stop, left.step), (right.start, right.stop, right.step))


#: Their hash is CPython's, and says which value it is.
_PLAIN_HASHES = frozenset({bool, int, str, bytes, float, complex, types.NoneType, types.EllipsisType})

# One row per type whose equality runs no user code.
_COMPARERS: dict[type, Callable[[object, object], bool]] = {
    bool: _equal,
    int: _equal,
    str: _equal,
    bytes: _equal,
    float: _same_float,
    complex: _same_complex,
    tuple: _same_tuples,
    list: _same_lists,
    frozenset: _same_members,
    slice: _same_slice,
    range: _same_range,
    torch.device: _equal,
    types.NoneType: _equal,
    types.EllipsisType: _equal,
    types.NotImplementedType: _equal,
}
