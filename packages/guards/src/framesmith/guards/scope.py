"""Where sources are read from: the arguments of a call, and the globals of the compiled function."""

from collections.abc import Hashable, Mapping
from dataclasses import dataclass, field
from typing import Protocol, final


class Readable(Hashable, Protocol):
    """What a scope can read: a source."""

    def read(self, scope: "Scope") -> object: ...


@final
@dataclass(frozen=True, slots=True, eq=False)
class Scope:
    """Local names and globals at the moment of a call; `own`: the objects that the called function has its own of, by source.

    `with_memory()` gives a scope that reads every path once, for one slow check of many guards.
    """

    locals: Mapping[str, object]
    globals: Mapping[str, object]
    memo: dict[Readable, object] | None = field(default=None, repr=False)
    own: Mapping[Readable, object] = field(default_factory=dict)

    def with_memory(self) -> "Scope":
        return Scope(self.locals, self.globals, {}, self.own)

    def value_of(self, source: Readable) -> object:
        """The value of the source; raises one of `MISSES` when the path is gone."""
        if self.memo is None:
            return source.read(self)
        if source not in self.memo:
            self.memo[source] = source.read(self)
        return self.memo[source]
