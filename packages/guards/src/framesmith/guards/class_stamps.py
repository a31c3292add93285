"""Many questions about classes answered by one comparison of their version stamps.

CPython gives a class a number when its attributes are looked up through the type cache, and takes it away when the class
or one of its bases changes (`tp_version_tag`, `assign_version_tag` and `PyType_Modified` in Objects/typeobject.c). Numbers
are never given twice. As long as a class has the number it had when its attributes were found as guarded, they still are.

The number is read from memory at an offset that a self-test proves at import. Where it cannot (another
implementation, another layout), and for a class without a number, the attributes are looked up one by one, which is also
what happens when a number is new: the numbers are then taken as known.
"""

import ctypes
import struct
import sys
from collections.abc import Callable, Sequence
from operator import attrgetter
from typing import Final, final

from framesmith.guards.kinds.attributes import ClassAttribute, static_lookup

# 24 bytes of a variable-size object's head, then 45 pointer-sized fields from tp_name to tp_del (Include/cpython/object.h).
_OFFSET: Final = 24 + 45 * 8
_UNKNOWN: Final = -1
_HEAP_TYPE: Final = 1 << 9  # Py_TPFLAGS_HEAPTYPE

#: The number of a stamp; 0 for none.
number_of = attrgetter("value")


def stamp_of(cls: type) -> ctypes.c_uint:
    """A view of the class's number. It is valid as long as the class lives."""
    return ctypes.c_uint.from_address(id(cls) + _OFFSET)


def _prove() -> bool:
    """Whether the offset is right: the number appears, stays, and goes when the class or its base changes."""
    if sys.implementation.name != "cpython" or struct.calcsize("P") != 8 or not hasattr(sys, "getrefcount"):
        return False

    class Base:
        pass

    class Derived(Base):
        pass

    class Other:
        pass

    def number(cls: type) -> int:
        hasattr(cls, "looked_up")
        return int(stamp_of(cls).value)

    seen = [number(Derived)]
    changes: tuple[Callable[[], None], ...] = (
        lambda: setattr(Derived, "a", 1),
        lambda: setattr(Base, "b", 1),
        lambda: delattr(Derived, "a"),
        lambda: setattr(Derived, "__bases__", (Other,)),
        lambda: setattr(Other, "c", 1),
    )
    for change in changes:
        if number(Derived) != seen[-1]:
            return False
        change()
        if stamp_of(Derived).value == seen[-1]:
            return False
        seen.append(number(Derived))
    return 0 not in seen and len(set(seen)) == len(seen) and number(Other) not in seen


USABLE: Final = "t" not in sys.abiflags and _prove()


@final
class ClassStamps:
    """Claims about the attributes of classes. `stamps` and `known` are compared in generated code, else `recheck()` asks.

    Invariant: `known` holds numbers that the classes had before their attributes were last found as claimed.
    """

    def __init__(self, claims: Sequence[tuple[type, ClassAttribute]]) -> None:
        self._claims = tuple(claims)
        self._classes = tuple(dict.fromkeys(cls for cls, _ in claims if cls.__flags__ & _HEAP_TYPE))
        self.stamps = tuple(stamp_of(cls) for cls in self._classes)
        self.known: list[int] = [_UNKNOWN]

    def recheck(self) -> bool:
        """Look every attribute up; when all are as claimed, take the numbers of this moment as known."""
        for cls in self._classes:
            hasattr(cls, "looked_up")  # gives the class a number if it has none
        numbers = [int(stamp.value) or _UNKNOWN for stamp in self.stamps]
        if not all(static_lookup(cls, claim.name) is claim.value for cls, claim in self._claims):
            return False
        self.known[:] = numbers
        return True
