"""How a trace that has gone too far is made again: with a planned stop, the step before which the second one ends.

A step that fails after it has changed something, or has read values, cannot be taken back. So the trace is thrown away
and made once more up to that step, whose operation runs natively then. It is made again too, in another `TraceManner`, where it
has looked up `id(x)` or the number of the thread without reading it and that turns out to matter, and where the program was told
that it is being compiled and raises. The loop over attempts: `EntryBuilder.build`.
"""

from dataclasses import dataclass, replace
from types import CodeType
from typing import Final, final

from framesmith.frontend.tracing.machine import Machine
from framesmith.frontend.tracing.trace_end import Finished, NativeEnd, ResumeHere, TraceEnd
from framesmith.guards.kinds import EqualTo, HasKey, KeysAre
from framesmith.variables.core import TraceContext

# An `id` is an address, and none is that low; most numbers of programs are below.
_LEAST_ADDRESS: Final = 1 << 20


@final
@dataclass(frozen=True, slots=True)
class PlannedStop:
    """Where a second trace stops: before the step with this number; it ends as `end` says.

    `code` and `operation` say what the first trace did in that step; `asked`: the steps whose results it found the program to ask for the
    history of, later.
    """

    step: int
    code: CodeType | None  # None: any operation will do
    operation: int
    end: NativeEnd | ResumeHere
    asked: frozenset[int] = frozenset()


@final
@dataclass(frozen=True, slots=True)
class TraceManner:
    """How the program is traced: whether `id(x)` and the number of the thread are read where they are looked up as keys, and
    whether `is_compiling()` is true, which is false in eager."""

    exact_identities: bool = False
    says_compiling: bool = True


class OtherManner(Exception):
    """Trace again, in this manner."""

    def __init__(self, manner: TraceManner) -> None:
        super().__init__(manner)
        self.manner = manner


class Restart(Exception):
    """What a step has done already cannot be taken back: trace again and stop before it."""

    def __init__(self, stop: PlannedStop) -> None:
        super().__init__(stop)
        self.stop = stop


def check_manner(machine: Machine, manner: TraceManner, end: TraceEnd) -> None:
    """Raise OtherManner where a trace that ended so has to be made again in another manner."""
    tx = machine.tx
    if _mixes_identities(tx):
        raise OtherManner(replace(manner, exact_identities=True))
    # an exception leaves the frames, or is handled where the trace ends: eager may never have raised it
    raises = not isinstance(end, Finished) and (end.reason is None or machine.handled is not None)
    if raises and tx.changes.was_told_compiling:
        raise OtherManner(replace(manner, says_compiling=False))


def _mixes_identities(tx: TraceContext) -> bool:
    """Whether `id(x)` or the number of the thread was looked up as a key, unread, in a trace that saw numbers which may be addresses as well."""
    return tx.changes.has_identity_keys and (
        tx.changes.has_number_keys or any(_names_address(guard.claim) for guard in tx.guards)
    )


def _names_address(claim: object) -> bool:
    if isinstance(claim, EqualTo):
        return _may_hold_address(claim.value)
    if isinstance(claim, KeysAre):
        return _may_hold_address(claim.keys)
    return isinstance(claim, HasKey) and _may_hold_address(claim.key)


def _may_hold_address(value: object) -> bool:
    if isinstance(value, tuple | frozenset):
        return any(map(_may_hold_address, value))
    return isinstance(value, int | float) and value > _LEAST_ADDRESS
