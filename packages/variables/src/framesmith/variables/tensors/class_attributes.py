"""Looking a name up on a class, without binding the entry."""

from types import GetSetDescriptorType, MemberDescriptorType
from typing import Final, final

from framesmith.guards.sources.steps import resolution_order, type_dict


@final
class _Missing:
    """The type of `MISSING`, which means that a class has no such attribute."""

    def __repr__(self) -> str:
        return "MISSING"


MISSING: Final = _Missing()


def class_attribute(kind: type, name: str) -> object:
    """The entry of `kind` or of a base of it, not bound; MISSING when there is none."""
    for base in resolution_order(kind):
        if name in type_dict(base):
            found: object = type_dict(base)[name]
            return found
    return MISSING


def is_data_descriptor(stored: object) -> bool:
    """Whether a class entry takes precedence over the instance dictionary."""
    return isinstance(stored, GetSetDescriptorType | MemberDescriptorType | property) or hasattr(
        type(stored), "__set__"
    )
