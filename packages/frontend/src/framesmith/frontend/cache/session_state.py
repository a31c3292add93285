"""What the compiled units of one session share: how they are compiled, what happened, what was learnt.

Entries, and what was learnt of sizes and numbers, are shared with other sessions as well (`SharedCache`).

It holds no unit, so that each unit may hold it (ADR 0014).
"""

from contextlib import AbstractContextManager
from types import CodeType, FunctionType
from typing import Final, Protocol, final

from framesmith.frontend import events
from framesmith.frontend.cache.method_definition import MethodDefinition
from framesmith.frontend.cache.shared_entries import EntryCache, SharedCache
from framesmith.frontend.cache.specialization import Learned, Policy
from framesmith.frontend.cache.trace_start import ContinuationStart, FunctionStart
from framesmith.frontend.options import CompileOptions, current_config
from framesmith.frontend.refusal import Refusal
from framesmith.frontend.tracing.trace_end import EntryPostponed
from framesmith.frontend.user_lines import UserLocation
from framesmith.graph import GraphBreak
from framesmith.graph.breaks.break_kinds import OPERATION_RAISES, UNINITIALIZED
from framesmith.graph.options import Backend

_MOST_POSTPONED: Final = 4
"""A program may read lazy modules in each call and never call them."""


class OwnedSession(Protocol):
    """What the unit of the function itself asks the session for, which it owns (ADR 0014)."""

    def follow_defaults(self) -> None:
        """Take over defaults that were replaced."""
        ...

    def with_backend(self, backend: str | Backend) -> FunctionType:
        """The same function compiled with another backend."""
        ...


@final
class SessionState:
    """Options, history and learnt facts of one compiled function.

    `is_forced`: made for a stance, which the session that made this one has read. `definition`: that of a compiled method.
    """

    def __init__(
        self,
        options: CompileOptions,
        *,
        is_forced: bool = False,
        definition: MethodDefinition | None = None,
        shared: SharedCache | None = None,
    ) -> None:
        self.shared = shared or SharedCache()
        self.options = options
        self.definition = definition
        self.is_forced = is_forced
        self.history = events.History()
        self._known: dict[tuple[CodeType, ...], Learned] = {}
        self._postponed = 0

    @property
    def lock(self) -> AbstractContextManager[object]:
        """Held while an entry is made."""
        return self.shared.lock

    def policy(self, start: FunctionStart | ContinuationStart, cache: EntryCache | None = None) -> Policy:
        """The specialization policy of a compiled unit. Continuations of the same frames share what they learn.

        Sizes and numbers that change are learnt by all functions that share entries. What is unspecialized each function
        learns alone: that saves it from the recompile limit, which is its own.
        """
        cache = self.shared.at(start) if cache is None else cache
        is_root = isinstance(start, FunctionStart)
        # with fullgraph nothing is unspecialized: a break would be an error (ADR 0010)
        patience = 2 if start.is_in_loop else max(current_config().recompile_limit // 2, 1)
        # two dictionaries: variables of the frames, for all units at these frames, and all sources, for this unit alone
        known = self._known.setdefault(start.codes, Learned(self.shared.numbers_of(start.codes)))
        own = Learned(cache.numbers)
        return Policy(
            self.options.dynamic,
            None if self.options.fullgraph else patience,
            is_root,
            known,
            own,
            cache.sizes,
        )

    def postpone(self, reason: GraphBreak) -> None:
        """A call that gives lazy modules their parameters makes no entry, since no other call is like it: raises
        EntryPostponed for it."""
        if reason.kind is UNINITIALIZED and self._postponed < _MOST_POSTPONED:
            self._postponed += 1
            raise EntryPostponed

    def on_break(self, reason: GraphBreak, stack: tuple[UserLocation, ...], strict: bool) -> Refusal | None:
        """Called at a graph break, before the entry is finished: raises FullGraphError where a break is an error.

        An operation that raises runs first, since its error is the user's: the entry ends with the refusal.
        """
        if not self.options.fullgraph and not strict:
            return None
        refusal = Refusal(reason, stack)
        if reason.kind is not OPERATION_RAISES:
            raise refusal.error()
        return refusal

    def reset(self) -> None:
        """Forget what happened and what was learnt."""
        self._known.clear()
        self.history = events.History()
        self._postponed = 0
