"""How a call continues whose graph raised: the part before the operation that raised, and that operation natively.

    log.append(1)
    y = torch.linalg.inv(x)      the graph raises here, or the captured operation does
    log.append(2)

An entry calls its graph first and replays what Python changed afterwards. When the graph raises, the trace is made once
more up to that operation, which gives an entry that ends like any graph break: changes before the operation are
replayed, the operation runs natively and raises as it does eagerly, into the user's own handlers. Tensors come from the
run that failed (ADR 0015).
"""

from collections.abc import Callable
from contextlib import nullcontext
from dataclasses import dataclass
from types import CodeType
from typing import final

from framesmith.frontend.errors import UnsoundCode
from framesmith.frontend.generated.entry import Entry
from framesmith.frontend.new_objects import add_made, check_made
from framesmith.frontend.options import TracePolicy, current_config
from framesmith.frontend.reports import GOES_ON, report_bug
from framesmith.frontend.tracing.replanning import TraceManner
from framesmith.graph.environment.ambient import undo_blocks
from framesmith.graph.inputs.leaf_inputs import restored_marks
from framesmith.graph.running.failures import Failures, GraphFailed, Replay, Unrecoverable
from framesmith.guards import Scope, Source
from framesmith.guards.sources import NewObject


@final
@dataclass(frozen=True, slots=True, eq=False)
class PartialEntry:
    """An entry that runs natively from the operation of a step on: the one that raised in the graph, or an earlier one.

    `step` says which; 0: all of it runs natively.
    """

    entry: Entry
    step: int
    replay: Replay


@final
@dataclass(frozen=True, slots=True, eq=False)
class Recovery:
    """What an entry keeps in case its graph raises. `policy` and `manner`: as they were when the entry was traced, since a
    second trace has to go the same way. `made`: what the entry makes in each call, and hands over when the graph raises."""

    failures: Failures
    policy: TracePolicy
    manner: TraceManner
    inputs: tuple[Source, ...]
    made: tuple[NewObject, ...] = ()

    def prepare_or_report(
        self,
        failure: GraphFailed,
        scope: Scope,
        partial_of: Callable[[int], PartialEntry | None],
        code: CodeType,
    ) -> tuple[Entry, Scope] | None:
        """What `prepare` gives; None where the graph's exception goes on as it is.

        A bug of ours is reported and does not replace that exception, which is the user's, also with `fullgraph`.
        """
        try:
            return self.prepare(failure, scope, partial_of)
        except Unrecoverable:
            return None
        except UnsoundCode:  # the configuration asks for this error
            raise
        except Exception as bug:
            if current_config().raise_bugs:
                raise
            report_bug(bug, code, GOES_ON)
            return None

    def prepare(
        self, failure: GraphFailed, scope: Scope, partial_of: Callable[[int], PartialEntry | None]
    ) -> tuple[Entry, Scope]:
        """The entry that does what the program did before the operation that raised, then runs that natively, and where it
        reads its values. It has to run next in this thread, which gives it the tensors of the run that failed.

        `partial_of` gives the partial entry of a step. Raises Unrecoverable where this cannot be done.
        """
        error, made = failure.error, dict(zip(self.made, failure.made, strict=True))
        scope = add_made(scope, made)
        self.failures.start.restore(blocks=False)  # torch's switches, as they were when the graph began
        with restored_marks(self._read_inputs(scope), failure.before) if failure.before else nullcontext():
            found = self.failures.find(error, lambda: self._read_inputs(scope))
            undo_blocks(0 if found is None else found.blocks)
            partial = None if found is None else partial_of(found.step)
        if found is None or partial is None:
            raise Unrecoverable
        ran = found.began or self.failures.writes_between(partial.step, found.number)
        if ran and not (partial.replay.asks and partial.step == found.step):
            raise Unrecoverable  # what has written or drawn already must not run a second time
        # before `give`: values that are given and not taken would be found by the next call of this thread
        check_made(partial.entry.loads, made)
        if found.known is None:
            self.failures.draws.take_back()  # the captured operations run again, and draw again
        partial.replay.give(self.failures, found.known, error if ran else None)
        return partial.entry, scope

    def _read_inputs(self, scope: Scope) -> list[object]:
        return [source.read(scope) for source in self.inputs]
