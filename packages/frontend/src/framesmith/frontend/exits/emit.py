"""What follows the graph in an entry: the changes of Python objects, replayed in order, and how the entry ends.

    log.append(1); print(y)   ->   __fs_l0_log.append(1)
                                   __fs_r = print(__fs_o0)
                                   return TailCall((__fs_p0_continuation, (__fs_o0, )))

One form of ending for each end that a trace may have (`trace_end`).
"""

from typing import assert_never

from framesmith.bytecode.operation_effects import slots_taken
from framesmith.frontend.exits.ending import EntryEnding
from framesmith.frontend.exits.native_operation import NativeOperation
from framesmith.frontend.exits.resumption import Resumption
from framesmith.frontend.generated.source_writer import EntryWriter
from framesmith.frontend.tracing.finalizers import has_pending_cleanup
from framesmith.frontend.tracing.machine import Machine
from framesmith.frontend.tracing.opcodes.catalog import OPCODES
from framesmith.frontend.tracing.trace_end import BreakBefore, Finished, ResumeHere, RunRestNatively, TraceEnd
from framesmith.frontend.tracing.unseen_ends import guard_unseen_ends
from framesmith.frontend.tracing.user_stack import location
from framesmith.frontend.tracing.value_ends import keep_until_replayed
from framesmith.graph.running.failures import Replay
from framesmith.variables.core import TraceContext, Tracker


def write_ending(
    writer: EntryWriter, machine: Machine, end: TraceEnd, replay: Replay | None = None
) -> EntryEnding:
    """Write everything after the graph. Raises GraphBreak where a state cannot be rebuilt.

    `replay` is given where the entry ends before an operation that raised in a graph (ADR 0015).
    """
    if machine.frames:
        writer.line = location(machine.frames[0]).line
    for block in machine.tx.changes.ambient.open_blocks:
        block.replay(
            writer
        )  # first, since later changes may refer to the block; writing it enters its context
    # before the changes are replayed: a generator that they lead to has to be an object
    resumption = Resumption(writer, machine, escaping_values(machine, end))
    keep_until_replayed(machine, writer)
    write_changes(writer, machine.tx)
    for generator in machine.generators:
        if has_pending_cleanup(generator) and not resumption.is_decomposed(generator):
            writer.value(generator)  # a real one, which the entry drops at its end unless it is handed on
    # behind the changes: blocks of C that are entered above turn settings and put back what they found
    for setting, value in machine.tx.changes.ambient.changes():
        if setting.set is None:
            continue
        setter = writer.constant(setting.set, f"set_{setting.name}")
        writer.statement(f"{setter}({writer.constant(value, setting.name)})")
    lines = ending_lines(writer, machine, resumption, end, replay)
    guard_unseen_ends(machine, resumption.handed, resumption.operands)
    # at the end: all is built as an object by now that will be one
    resumption.check_decomposed()
    return resumption.calls.make_ending(lines)


def write_changes(writer: EntryWriter, tx: TraceContext) -> None:
    """Replay the changes to objects that outlive the frames, in order."""
    done: set[int] = set()  # replaying a change may lead to further ones
    while pending := [tracker for tracker in tx.changes.changed_trackers() if id(tracker) not in done]:
        for tracker in pending:
            done.add(id(tracker))
            tracker.replay(writer)


def ending_lines(
    writer: EntryWriter, machine: Machine, resumption: Resumption, end: TraceEnd, replay: Replay | None
) -> list[str]:
    """The last lines of the entry, which return a value or a tail call."""
    match end:
        case Finished(value):
            return [f"return {writer.value(value)}"]
        case ResumeHere():
            return [f"return {resumption.resume_here()}"]
        case RunRestNatively(_, raised):
            return [f"return {resumption.run_rest_natively(raised)}"]
        case BreakBefore(_, makes_weak_references):
            operation = NativeOperation(writer, machine, resumption, replay)
            return operation.write(makes_weak_references=makes_weak_references)
        case _:
            assert_never(end)


def escaping_values(machine: Machine, end: TraceEnd) -> list[Tracker]:
    """What is needed as an object: the result, an exception, the operands of the operation that runs natively."""
    match end:
        case Finished(value):
            return [value]
        case ResumeHere():
            return []
        case RunRestNatively(_, raised):
            return [] if raised is None else [raised]
        case BreakBefore():
            operation = machine.frame.operation
            # without a native form the operation runs in its own frame, which takes the operands from its stack
            count = slots_taken(operation) if operation.kind in OPCODES.natives else 0
            return machine.frame.stack[-count:] if count else []
        case _:
            assert_never(end)
