"""Processes that compile the same function tell each other the sizes that they have seen, so that all make one graph.

    rank 0: f(x of 4 rows)    rank 1: f(x of 6 rows)    both: the size of dimension 0 of x becomes symbolic

With `config.enable_compiler_collectives`. Each trace that has recorded operations ends with one exchange through the store of the group of all
processes; where it says that more sizes are symbolic, all make the trace again. A process that does not come to the exchange in
time is an error that names it.
"""

import json
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from typing import Final, TypeAlias, final

import torch.distributed as dist

from framesmith.frontend import events
from framesmith.frontend.build_entry import BuiltEntry, EntryBuilder, Trace
from framesmith.frontend.cache.racing_threads import build_despite_races
from framesmith.frontend.cache.specialization import Policy
from framesmith.frontend.cache.trace_start import ContinuationStart
from framesmith.frontend.errors import ProcessesDiffer
from framesmith.frontend.options import Config, current_config
from framesmith.frontend.tracing.trace_end import TraceEnd
from framesmith.frontend.user_lines import function_text
from framesmith.graph.environment.postponed_signals import signals_handled
from framesmith.guards import Source

_MOST_ROUNDS: Final = 4
_SHORTEST, _LONGEST = 0.001, 0.1  # seconds between two looks into the store
_NUMBERS: Final = Counter[str]()  # how often this process has asked about each function
_LOCK: Final = threading.Lock()
Names: TypeAlias = Mapping[str, Sequence[int]]


@final
class _TraceAgain(Exception):
    """More sizes are symbolic than the trace has taken for such."""


@final
@dataclass(frozen=True, slots=True)
class SizesSeen:
    """What one process has seen in a trace: the sizes of tensors by the text of their source, and which dimensions it has learnt to
    be symbolic."""

    sizes: Names
    dynamic: Names

    def text(self) -> str:
        """As it is exchanged."""
        return json.dumps([self.sizes, self.dynamic])

    @staticmethod
    def of_text(text: bytes) -> "SizesSeen":
        """The contrary of `text`."""
        return SizesSeen(*json.loads(text))


def differing(found: Sequence[SizesSeen]) -> dict[str, set[int]]:
    """The dimensions that are to be symbolic, by the text of their source: those in which processes differ, and those that one has
    learnt and another, which has the tensor too, has not. Each process computes the same of the same."""
    result: dict[str, set[int]] = {}
    for name in dict.fromkeys(name for one in found for name in one.sizes):
        having = [one for one in found if name in one.sizes]
        sizes = [one.sizes[name] for one in having]
        # tensors of another rank get an entry of their own
        if len({len(one) for one in sizes}) > 1:
            continue
        learnt = [set[int](one.dynamic.get(name, ())) for one in having]
        wanted = set[int]().union(*learnt) | {
            dim for dim, seen in enumerate(zip(*sizes, strict=True)) if len(set(seen)) > 1
        }
        if missing := wanted.difference(set[int].intersection(*learnt)):
            result[name] = missing
    return result


@final
@dataclass(slots=True)
class _Exchange:
    """A `TraceWatch` that tells the other processes what the first trace of a build has seen, and raises `_TraceAgain` where it is to be
    made again. `traces` counts the traces of one unit."""

    policy: Policy
    function: str
    place: str
    settings: Config
    is_done: bool = False
    seen: dict[Source, tuple[int, ...]] = field(default_factory=dict)

    def begin(self, trace: Trace) -> None:
        """A trace is about to begin."""
        self.seen.clear()
        self.policy.seen = self.seen

    def finish(self, trace: Trace, end: TraceEnd) -> None:
        """A trace has ended."""
        self.policy.seen = None
        # the same build may trace again for reasons of this process alone
        if self.is_done or not trace.recorder.operations:
            return
        self.is_done = True
        named = {source.text(): source for source in self.seen}
        learnt = {name: sorted(self.policy.sizes.get(source, ())) for name, source in named.items()}
        own = SizesSeen({name: list(self.seen[source]) for name, source in named.items()}, learnt)
        seconds = self.settings.compiler_collective_seconds
        with trace.recorder.pause_recording(), signals_handled():
            try:
                found = exchange(own, self.place, self.function, seconds)
            except dist.DistError as error:  # the store has gone with the process that kept it
                rank, count = dist.get_rank(), dist.get_world_size()
                others = [other for other in range(count) if other != rank]
                raise ProcessesDiffer(self.function, rank, others, count, seconds) from error
        wanted = (
            differing(found) if self.policy.dynamic is None and self.settings.automatic_dynamic_shapes else {}
        )
        for name, dims in wanted.items():
            if name in named:
                self.policy.sizes.setdefault(named[name], set()).update(dims)
        if wanted:
            events.log("dynamic", "%s: processes differ in %s", self.function, sorted(wanted))
            raise _TraceAgain


def build_in_agreement(builder: EntryBuilder, values: Sequence[object]) -> BuiltEntry:
    """The entry that the builder makes, of one graph with that of the other processes where the configuration asks for it.

    Raises ProcessesDiffer where one of them does not compile the function in time.
    """
    settings, policy = current_config(), builder.policy
    if not (settings.enable_compiler_collectives and builder.watch is None and isinstance(policy, Policy)):
        return build_despite_races(builder, values)
    if not builder.options.shares_entries or not _has_others():
        return build_despite_races(builder, values)
    function = function_text(builder.start.code.co_qualname, builder.start.code)
    for _ in range(_MOST_ROUNDS):
        watch = _Exchange(policy, function, _place_of(builder), settings)
        try:
            return build_despite_races(replace(builder, watch=watch), values)
        except _TraceAgain:
            continue
        finally:
            policy.seen = None
    return build_despite_races(builder, values)


def _has_others() -> bool:
    return dist.is_available() and dist.is_initialized() and dist.get_world_size() > 1


def _place_of(builder: EntryBuilder) -> str:
    """What is compiled, in words that are the same in all processes, which may have their files in other folders."""
    start = builder.start
    if isinstance(start, ContinuationStart):
        return " ".join(
            f"{one.code.co_qualname}:{one.code.co_firstlineno}@{one.index}" for one in start.point.layouts
        )
    return f"{start.code.co_qualname}:{start.code.co_firstlineno}"


def exchange(own: SizesSeen, place: str, function: str, seconds: int) -> list[SizesSeen]:
    """What all processes have found at a place, by rank. Raises ProcessesDiffer after so many seconds."""
    rank, count = dist.get_rank(), dist.get_world_size()
    store = dist.distributed_c10d._get_default_store()
    with _LOCK:
        number = _NUMBERS[place]
        _NUMBERS[place] += 1
    keys = [f"framesmith/{place}/{number}/{other}" for other in range(count)]
    store.set(keys[rank], own.text())
    try:
        missing = list(_wait(lambda other: store.check([keys[other]]), range(count), seconds))
        if missing:
            raise ProcessesDiffer(function, rank, missing, count, seconds)
    except BaseException:  # the program may have been interrupted while it waited
        _withdraw(store.delete_key, place, keys[rank])
        raise
    return [own if other == rank else SizesSeen.of_text(store.get(key)) for other, key in enumerate(keys)]


def _withdraw(delete: Callable[[str], object], place: str, key: str) -> None:
    """Forget that this process has asked, so that it and the others can agree when all of them come."""
    with _LOCK:
        _NUMBERS[place] -= 1
    # not all stores can delete; the others would take what stands there for an answer, and wait in vain the next time
    with suppress(RuntimeError, NotImplementedError):
        delete(key)


def _wait(has_come: Callable[[int], bool], ranks: Sequence[int], seconds: int) -> Iterator[int]:
    """Those that have not come in time. In Python, so that the program can be interrupted."""
    end, pause = time.monotonic() + seconds, _SHORTEST
    left = [rank for rank in ranks if not has_come(rank)]
    while left and time.monotonic() < end:
        time.sleep(pause)
        pause = min(2 * pause, _LONGEST)
        left = [rank for rank in left if not has_come(rank)]
    yield from left
