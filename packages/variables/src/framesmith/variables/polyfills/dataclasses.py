"""Polyfills of functions of `dataclasses` that are cheaper to trace than the originals."""

import dataclasses
from typing import Any

_PLAIN = getattr(dataclasses, "_FIELD")  # noqa: B009  # private in typeshed


def fields(
    class_or_instance: Any,  # any object of the user's
) -> tuple[object, ...]:
    """`dataclasses.fields`, without a generator."""
    try:
        found = class_or_instance.__dataclass_fields__
    except AttributeError:
        raise TypeError("must be called with a dataclass type or instance") from None
    plain = []
    for field in found.values():
        if field._field_type is _PLAIN:
            plain.append(field)
    return tuple(plain)
