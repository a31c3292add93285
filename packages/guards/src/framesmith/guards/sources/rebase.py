"""The same path from another start: `layers[0].fc.weight` becomes `layers[1].fc.weight`."""

from dataclasses import fields
from typing import Final, final

from framesmith.guards.sources.base import Source


@final
class Rebase:
    """Gives, for a source that is read through `old`, the one that is read in the same way through `new`."""

    def __init__(self, old: Source, new: Source) -> None:
        self._moved: dict[Source, Source | None] = {old: new}

    def __call__(self, source: Source) -> Source:
        """The source with the new start; itself, if it is not read through the old one."""
        moved = self._find(source)
        return source if moved is None else moved

    def _find(self, source: Source) -> Source | None:
        if source in self._moved:
            return self._moved[source]
        base = None if source.base is None else self._find(source.base)
        moved = None if base is None else _with_base(source, base)
        self._moved[source] = moved
        return moved


def is_movable(source: Source) -> bool:
    """Whether a source consists of its base and of constants."""
    return source.base is not None and not any(
        isinstance(getattr(source, name), Source | tuple) for name in _fields(source) if name != "base"
    )


def _with_base(source: Source, base: Source) -> Source:
    values = [base if name == "base" else getattr(source, name) for name in _fields(source)]
    moved: Source = type(source)(*values)
    return moved


_NAMES: Final[dict[int, tuple[str, ...]]] = {}
"""The parameters of each class of sources, by its identity."""


def _fields(source: Source) -> tuple[str, ...]:
    cls = type(source)
    names = _NAMES.get(id(cls))
    if names is None:
        held = fields(cls)  # type: ignore[arg-type]  # each concrete source is a data class
        names = _NAMES[id(cls)] = tuple(field.name for field in held if field.init)
    return names
