"""Guards on the values that an entry lets go of early: in another call, code of the user might run at their end.

    o = make()              natively: a continuation is handed what `make` gives
    log.append(1)
    o = None                it ends here, which is not seen if it is 5, and is seen if it has `__del__`
    log.append(2)

A value that a trace does not read has no guard. So what was handed over, and is neither handed on nor held until the entry
ends, gets one that its end is not seen. Where it is seen now, the entry ends there (`finalizers`, `value_ends`).
"""

from collections.abc import Iterable, Sequence

from framesmith.frontend.tracing.finalizers import variables_of
from framesmith.frontend.tracing.machine import Machine
from framesmith.frontend.tracing.value_ends import roots
from framesmith.guards.finalized import ends_unseen
from framesmith.guards.kinds import EndsUnseen
from framesmith.guards.sources import Local
from framesmith.variables.core import Tracker
from framesmith.variables.core.reach import reachable


def guard_unseen_ends(
    machine: Machine, handed: Sequence[Iterable[Tracker]], operands: Sequence[Tracker]
) -> None:
    """Guard what the entry lets go of before its end. `handed`: the values that each way out of the entry hands over; none
    where it returns. `operands`: those of the operation that runs natively, which takes them."""
    ends = machine.value_ends
    if not ends.given:
        return
    if handed:
        variables = _names(value for frame in machine.frames for value in variables_of(frame))
        # the entry holds what is only an operand for as long as the stack of the frame would
        taken = [value for value in operands if not _names([value]) & variables]
        outside = [*machine.tx.changes.changed_trackers(), *taken]
        alive = [_names(reachable([*values, *outside]).values()) for values in handed]
    else:
        alive = [_names(reachable([*roots(machine), *ends.until_end]).values())]
    for value in ends.given:
        source = value.source
        assert isinstance(source, Local)
        if not all(source.name in names for names in alive) and ends_unseen(value.peek):
            machine.tx.guard(source, EndsUnseen(), "it is let go of")


def _names(values: Iterable[Tracker]) -> set[str]:
    """The names under which these values were handed over."""
    return {value.source.name for value in values if isinstance(value.source, Local)}
