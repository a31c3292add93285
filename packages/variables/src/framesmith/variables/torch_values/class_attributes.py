"""Looking a name up on a class, without binding what is found."""

from types import GetSetDescriptorType, MemberDescriptorType
from typing import Final, final

from framesmith.guards.sources.steps import resolution_order, type_dict


@final
class _Missing:
    """Nothing was found."""

    def __repr__(self) -> str:
        return "MISSING"


MISSING: Final = _Missing()


def class_attribute(kind: type, name: str) -> object:
    """What `kind` or a base of it stores under `name`, as stored; MISSING when there is nothing."""
    for base in resolution_order(kind):
        if name in type_dict(base):
            found: object = type_dict(base)[name]
            return found
    return MISSING


def is_data_descriptor(stored: object) -> bool:
    """Whether it wins over the instance's dictionary."""
    return isinstance(stored, GetSetDescriptorType | MemberDescriptorType | property) or hasattr(
        type(stored), "__set__"
    )
