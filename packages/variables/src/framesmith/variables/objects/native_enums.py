"""Enumerations made by pybind11 (`SDPBackend` ...): their members are constants, and attributes of the class."""

from collections.abc import Hashable
from typing import Final, final

import torch
import torch.nn.attention

from framesmith.guards import Source
from framesmith.guards.kinds import Identical
from framesmith.variables.core import Constant, TraceContext, Tracker
from framesmith.variables.core.known_value import KnownValue
from framesmith.variables.core.rows import Rows

ROWS: Final = Rows()


def is_native_enum(kind: object) -> bool:
    """Whether this is an enumeration made by pybind11."""
    return isinstance(kind, type) and type(kind).__name__ == "pybind11_type" and hasattr(kind, "__members__")


ENUMS: Final = frozenset(
    kind for home in (torch._C, torch.nn.attention) for kind in vars(home).values() if is_native_enum(kind)
)
for _kind in ENUMS:
    ROWS.constant_types(_kind)


@final
class NativeEnum(KnownValue[type]):
    """The class of the enumeration. Invariant: guarded by identity."""

    def begin_attribute(self, tx: TraceContext, name: str) -> Tracker:
        """A member; other attributes break the graph."""
        members: dict[str, object] = self.value.__members__  # type: ignore[attr-defined]  # the rule checks it
        return Constant(members[name]) if name in members else self.unsupported(f"reading attribute {name!r}")

    def hash_key(self, tx: TraceContext) -> Hashable:
        """A class hashes by identity."""
        return ("object", self.value)


@ROWS.wrap_when(36, lambda _, value: type(value) is type and value in ENUMS)
def wrap_native_enum(tx: TraceContext, value: object, source: Source) -> Tracker:
    """An existing enumeration class, guarded by identity."""
    assert isinstance(value, type)
    tx.guard(source, Identical(value))
    return NativeEnum(value, source)
