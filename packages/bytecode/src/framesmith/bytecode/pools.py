"""The numbers behind names and constants while a code object is being assembled."""

from collections.abc import Sequence
from typing import final

from framesmith.bytecode.errors import AssembleError


@final
class NamePool:
    """Names in order; a new one is added at the end unless the pool is closed."""

    def __init__(self, names: Sequence[str], what: str, closed: bool = False) -> None:
        self.names = list(names)
        self._what = what
        self._closed = closed
        self._numbers: dict[str, int] = {}
        for number, name in enumerate(names):
            self._numbers.setdefault(name, number)

    def number(self, name: object, hint: int = -1) -> int:
        """The number of `name` (`hint` if that is one of its numbers); a new name is added.

        Raises AssembleError for what is no string, and for a new name in a closed pool.
        """
        if 0 <= hint < len(self.names) and self.names[hint] == name:
            return hint
        if not isinstance(name, str):
            raise AssembleError(f"{self._what} expected, not {name!r}")
        known = self._numbers.get(name)
        if known is None:
            if self._closed:
                raise AssembleError(
                    f"{name!r} is no {self._what} of this code; it has {', '.join(self.names)}"
                )
            known = self._numbers[name] = len(self.names)
            self.names.append(name)
        return known


@final
class ConstantPool:
    """Constants by identity: equal objects that are not the same object stay apart."""

    def __init__(self, values: Sequence[object]) -> None:
        self.values = list(values)
        # The ids stay valid: `values` keeps the objects.
        self._numbers: dict[int, int] = {}
        for number, value in enumerate(values):
            self._numbers.setdefault(id(value), number)

    def number(self, value: object, hint: int = -1) -> int:
        """The index of this very object (`hint` if it is there); a new object is added."""
        if 0 <= hint < len(self.values) and self.values[hint] is value:
            return hint
        known = self._numbers.get(id(value))
        if known is None:
            known = self._numbers[id(value)] = len(self.values)
            self.values.append(value)
        return known
