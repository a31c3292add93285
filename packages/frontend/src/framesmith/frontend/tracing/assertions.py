"""Branches on a tensor of which one side raises: they become an assertion in the graph, and the trace goes on.

    assert (x > 0).all(), message(x)        torch._assert_async((x > 0).all())
    if x.isnan().any():                     torch._assert_async(torch.logical_not(x.isnan().any()))
        raise ValueError(...)

When the assertion fails, the entry goes on natively in front of the branch, as after any operation of a graph that raises
(ADR 0015): so the program raises its own exception, with its own message, into its own handlers.
"""

from typing import Final

from framesmith.bytecode.meaning import Kind, Operation, Reading
from framesmith.frontend.tracing.machine import Machine
from framesmith.variables.core import Tracker
from framesmith.variables.torch_functions.assertions import assert_truth

_LONGEST: Final = 200  # operations that are looked at
_MOST: Final = 256  # in one frame: `while True: if found.any(): raise Found` has no other end
_LEAVING: Final = frozenset({Kind.RETURN, Kind.RERAISE, Kind.YIELD, Kind.RETURN_GENERATOR, Kind.SEND})


def expected_truth(machine: Machine, operation: Operation, truth: bool | Tracker) -> bool | Tracker:
    """The truth of the condition of a jump. One that only the running program knows is what does not lead to `raise`, and
    the graph asserts it; it stays unknown where neither side raises, or both do."""
    if isinstance(truth, bool):
        return truth
    assert operation.target is not None
    frame = machine.frame
    jumping, staying = (_raises(frame.reading, index) for index in (operation.target, frame.index))
    if jumping == staying:
        return truth
    # the argument of the jump is the truth at which it jumps
    expected = bool(operation.argument) != jumping
    frame.asserted += 1
    return expected if frame.asserted < _MOST and assert_truth(machine.tx, truth, expected) else truth


def _raises(reading: Reading, start: int) -> bool:
    """Whether each path from an operation on ends in `raise`, without a loop."""
    # handlers are not looked at: where the assertion fails, the program raises natively and finds its own
    todo, seen = [start], set[int]()
    while todo:
        index = todo.pop()
        if index in seen or len(seen) > _LONGEST:
            return False
        seen.add(index)
        operation = reading.operations[index]
        if operation.kind in _LEAVING:
            return False
        if operation.target is not None:
            todo.append(operation.target)
        if operation.kind not in (Kind.RAISE, Kind.JUMP):
            todo.append(index + 1)
    return True
