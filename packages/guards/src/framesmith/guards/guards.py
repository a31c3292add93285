"""One guard: a claim, the source it is about, and who asked for it."""

from dataclasses import dataclass
from typing import final

from framesmith.guards.kinds.base import Claim, Relation
from framesmith.guards.sources.base import Source


@final
@dataclass(frozen=True, slots=True)
class Reason:
    """Why a guard was added: what was decided, and the user's frame (`/path/file.py:12 in forward`) if there is one."""

    what: str
    user_frame: str | None = None


NO_REASON = Reason("unspecified")


@final
@dataclass(frozen=True, slots=True)
class Guard:
    """A claim about the value of a source, or a relation (which names its sources itself: `source` is None)."""

    source: Source | None
    claim: Claim | Relation
    reason: Reason = NO_REASON

    def __post_init__(self) -> None:
        if isinstance(self.claim, Claim) and self.source is None:
            raise TypeError(f"{type(self.claim).__name__} speaks about one value: its guard needs a source")

    @classmethod
    def relation(cls, claim: Relation, reason: Reason = NO_REASON) -> "Guard":
        """The guard of a relation, which names its sources itself."""
        return cls(None, claim, reason)

    @property
    def sources(self) -> tuple[Source, ...]:
        """Every source it reads."""
        if isinstance(self.claim, Relation):
            return self.claim.all_sources
        return () if self.source is None else (self.source,)

    def text(self) -> str:
        """The guard as a line of a table."""
        if isinstance(self.claim, Relation):
            return self.claim.text()
        assert self.source is not None
        return self.claim.text(self.source)
