"""What each call of an entry makes anew before its graph (`guards.sources.NewObject`), and what that asks of the entry.

Nothing is guarded of it; a run whose graph raised hands what it made to the entry that goes on; and a parameter may only have
memory of its own where the program cannot tell that from the memory that eager gives it.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence

from torch import fx

from framesmith.frontend.tracing.replanning import PlannedStop, Restart
from framesmith.frontend.tracing.trace_end import BreakBefore
from framesmith.graph import GraphBreak
from framesmith.graph.breaks.break_kinds import NATIVE_CALL
from framesmith.graph.running.failures import STEP, Unrecoverable
from framesmith.guards import Guard, Member, Scope, Source
from framesmith.guards.scope import Readable
from framesmith.guards.sources import NewObject, is_made
from framesmith.variables.core import TraceContext
from framesmith.variables.tensors.new_leaves import find_shared_memory


def check_new_memory(tx: TraceContext, outputs: Sequence[fx.Node]) -> None:
    """Restart, to stop before a new parameter is made, where the program uses the tensor that it is made of later on."""
    copy = find_shared_memory(tx.changes.moved, outputs) if tx.changes.moved else None
    if copy is not None:
        reason = GraphBreak(
            NATIVE_CALL, "a parameter is created over the memory of a tensor that is used later"
        )
        # in front of the step that recorded the copy of the first value
        raise Restart(PlannedStop(copy.meta[STEP][0], None, 0, BreakBefore(reason)))


def drop_made(items: Iterable[Guard | Member]) -> Iterator[Guard | Member]:
    """The guards without those on what a call makes: they hold whenever the others do. Members are modules that exist."""
    return (item for item in items if isinstance(item, Member) or not any(map(is_made, item.sources)))


def made_among(loads: Iterable[Source]) -> tuple[NewObject, ...]:
    """What an entry makes, among the sources that it loads."""
    return tuple(dict.fromkeys(source for source in loads if isinstance(source, NewObject)))


def add_made(scope: Scope, made: Mapping[NewObject, object]) -> Scope:
    """The scope with what a run has made whose graph raised."""
    own: dict[Readable, object] = {**scope.own}
    own.update(made.items())
    return Scope(scope.locals, scope.globals, scope.memo, own) if made else scope


def check_made(loads: Iterable[Source], made: Mapping[NewObject, object]) -> None:
    """Raise Unrecoverable where the entry that goes on needs something that the run has not made."""
    if not all(source in made for source in made_among(loads)):
        raise Unrecoverable
