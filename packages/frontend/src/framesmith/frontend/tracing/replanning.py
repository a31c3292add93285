"""How a trace that has gone too far is made again: with a planned stop, the step before which the second one ends.

A step that fails after it has changed something, or has read values, cannot be taken back. So the trace is thrown away
and made once more up to that step, whose operation runs natively then. It is made again too where it has looked up
`id(x)` or the number of the thread without reading it, and that turns out to matter. The loop over attempts: `EntryBuilder.build`.
"""

from dataclasses import dataclass
from types import CodeType
from typing import Final, final

from framesmith.frontend.tracing.trace_end import NativeEnd
from framesmith.guards.kinds import EqualTo, HasKey, KeysAre
from framesmith.variables.core import TraceContext

# An `id` is an address, and none is that low; most numbers of programs are below.
_LEAST_ADDRESS: Final = 1 << 20


@final
@dataclass(frozen=True, slots=True)
class PlannedStop:
    """Where a second trace stops: before the step with this number; it ends as `end` says.

    `code` and `operation` say what the first trace did in that step.
    """

    step: int
    code: CodeType | None  # None: any operation will do
    operation: int
    end: NativeEnd


class MixedIdentities(Exception):
    """The trace has looked up such a number as a key without reading it, and has seen numbers that may be addresses: trace
    again and read it."""


class Restart(Exception):
    """What a step has done already cannot be taken back: trace again and stop before it."""

    def __init__(self, stop: PlannedStop) -> None:
        super().__init__(stop)
        self.stop = stop


def mixes_identities(tx: TraceContext) -> bool:
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
