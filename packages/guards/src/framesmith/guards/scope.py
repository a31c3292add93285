"""`Scope`: what one call of a compiled function offers to sources that are read: its arguments, its globals, its own parts.

How a source finds its value there is in `sources`; what is then checked of the value, in `kinds`.
"""

from collections.abc import Hashable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Final, Protocol, final


class Readable(Hashable, Protocol):
    """A source, as far as a scope needs it; declared here because sources import this module."""

    def read(self, scope: "Scope") -> object: ...


_UNREAD: Final = object()


@final
@dataclass(frozen=True, slots=True, eq=False)
class Scope:
    """The values of one call, by name: arguments in `locals`, module globals in `globals`.

    `own`: for each `Own` source, the part of the called function that it stands for. `memo`: values that were read already; None in
    an ordinary scope, which reads a path anew each time. `with_memory()` gives a scope that reads each path once, for a
    slow check of many guards.
    """

    locals: Mapping[str, object]
    globals: Mapping[str, object]
    memo: dict[Readable, object] | None = field(default=None, repr=False)
    own: Mapping[Readable, object] = field(default_factory=dict)

    def with_memory(self) -> "Scope":
        return Scope(self.locals, self.globals, {}, self.own)

    def values_of(self, sources: Iterable[Readable]) -> list[object]:
        """The values of these sources, where no path is read twice."""
        once = self.with_memory()
        return [once.value_of(source) for source in sources]

    def value_of(self, source: Readable) -> object:
        """The value of the source; raises one of `MISSES` when the path is gone."""
        if self.memo is None:
            return source.read(self)
        found = self.memo.get(source, _UNREAD)
        if found is _UNREAD:
            found = self.memo[source] = source.read(self)
        return found
