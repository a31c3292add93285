"""Version numbers of classes: one comparison replaces many guards on what the class holds (ADR 0008).

CPython gives a class a number when its attributes are looked up through the type cache, and takes it away when the class
or one of its bases changes (`tp_version_tag`, `assign_version_tag` and `PyType_Modified` in Objects/typeobject.c). Numbers
are never given twice. As long as a class has the number it had when its attributes were found as guarded, they still are.

The number is read from memory at an offset that a self-test proves at import. Where the test fails (another
implementation, another layout) `USABLE` is False and the numbers are not used.
"""

import contextlib
import ctypes
import struct
import sys
from collections.abc import Callable
from operator import attrgetter
from typing import Final

# 24 bytes of a variable-size object's head, then 45 pointer-sized fields from tp_name to tp_del (Include/cpython/object.h).
_OFFSET: Final = 24 + 45 * 8

#: A view of a class's number in memory.
VersionField: Final = ctypes.c_uint

#: The number in a field; 0 for none.
version_of = attrgetter("value")


def version_field(cls: type) -> ctypes.c_uint:
    """A view of the class's number. It is valid as long as the class lives."""
    return VersionField.from_address(id(cls) + _OFFSET)


def assign_version(cls: type) -> None:
    """Have CPython number the class if it has none: look a name up with `type`'s method, not the metaclass's."""
    with contextlib.suppress(AttributeError):
        type.__getattribute__(cls, "looked_up")


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
        assign_version(cls)
        return int(version_field(cls).value)

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
        # Read without `number`, which would have a new one assigned.
        if version_field(Derived).value == seen[-1]:
            return False
        seen.append(number(Derived))
    return 0 not in seen and len(set(seen)) == len(seen) and number(Other) not in seen


# Free-threaded builds (abiflags `t`) have another object head.
USABLE: Final = "t" not in sys.abiflags and _prove()
