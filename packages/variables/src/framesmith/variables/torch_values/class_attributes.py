"""Looking a name up on a class, without binding what is found."""

from types import GetSetDescriptorType, MemberDescriptorType
from typing import Final, final


@final
class _Missing:
    """Nothing was found."""

    def __repr__(self) -> str:
        return "MISSING"


MISSING: Final = _Missing()


def class_attribute(kind: type, name: str) -> object:
    """What `kind` or a base of it stores under `name`, as stored; MISSING when there is nothing."""
    for base in kind.__mro__:
        if name in base.__dict__:
            found: object = base.__dict__[name]
            return found
    return MISSING


def is_data_descriptor(stored: object) -> bool:
    """Whether it wins over the instance's dictionary."""
    return isinstance(stored, GetSetDescriptorType | MemberDescriptorType | property) or hasattr(
        type(stored), "__set__"
    )
