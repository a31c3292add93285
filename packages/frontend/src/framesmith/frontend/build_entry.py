"""One entry, phase by phase: from real values to generated code. The page to read first.

1. `prepare`: recorder, guards, mutation log, wrapper and interpreter are put together.
2. `Interpreter.run`: the frames are executed symbolically until they return or an operation cannot be traced.
3. Replay: changes to existing objects are written, in order.
4. `Exit`: what comes after them is written: the returned value, or a native operation and a continuation.
5. `Recorder.finish`: the graph goes to the backend.
6. Guards are collected; the source of the entry is put together and compiled.
"""

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from types import CodeType
from typing import Protocol, TypeAlias, assert_never, final

from framesmith.bytecode.operation_effects import slots_taken
from framesmith.frontend.aliasing import distinct_objects, distinct_storages, leaf_states
from framesmith.frontend.dynamic_marks import check_promises
from framesmith.frontend.exits.emit import Exit, Ways
from framesmith.frontend.generated.dispatcher import Entry, EntryBody
from framesmith.frontend.generated.functions import Identity, generated_function
from framesmith.frontend.generated.source_writer import EntryWriter
from framesmith.frontend.generated.tail_calls import TailCall
from framesmith.frontend.options import CompileOptions, TracePolicy, config
from framesmith.frontend.recovery import Observed, Prefix, Recovery
from framesmith.frontend.registry import REGISTRY
from framesmith.frontend.reports import report_change
from framesmith.frontend.tracing.fact_check import check_facts, new_log
from framesmith.frontend.tracing.finalizers import has_pending_cleanup
from framesmith.frontend.tracing.interpreter import Interpreter
from framesmith.frontend.tracing.machine import Machine
from framesmith.frontend.tracing.opcodes.table import native_of
from framesmith.frontend.tracing.replanning import PlannedStop, Restart
from framesmith.frontend.tracing.strict_breaks import is_strict
from framesmith.frontend.tracing.trace_end import BreakBefore, Finished, ResumeHere, RunRestNatively, TraceEnd
from framesmith.frontend.tracing.user_stack import frame_text, location, stack_text, user_location
from framesmith.frontend.tracing.value_ends import write_held
from framesmith.graph import CompiledSubgraph, GraphBreak, Recorder
from framesmith.graph.break_kinds import NATIVE_CALL
from framesmith.graph.failures import GraphFailed, Replay
from framesmith.guards import Guard, GuardSet, Reason
from framesmith.guards.kinds import GlobalState
from framesmith.guards.names import PREFIX
from framesmith.variables.core import MutationLog, TraceContext, Tracker
from framesmith.variables.wrapping.wrap import Wrapper


class EntryOrigin(Protocol):
    """What an entry is made for: a function from its start, or a continuation."""

    @property
    def code(self) -> CodeType:
        """The code object whose name, file and first line the entry takes."""
        ...

    @property
    def namespace(self) -> dict[str, object]:
        """The user's globals, so that native imports and tracebacks see them."""
        ...

    def build(self, tx: TraceContext, machine: Machine, values: Sequence[object]) -> Tracker | None:
        """Put the symbolic frames into the machine; returns the exception to raise first, if there is one."""
        ...

    def native_lines(self, writer: EntryWriter) -> list[str]:
        """Statements that run everything natively."""
        ...


@final
@dataclass(frozen=True, slots=True)
class BuiltEntry:
    """A finished entry and what happened on the way: its graph, the graph break with the user's line, the time."""

    entry: Entry
    graph: CompiledSubgraph | None
    reason: GraphBreak | None
    place: tuple[str, int, str]
    stack: str
    seconds: float
    runs_natively: bool = False


@final
@dataclass(slots=True)
class Trace:
    """The parts of one trace."""

    tx: TraceContext
    machine: Machine
    interpreter: Interpreter
    recorder: Recorder
    wrapper: Wrapper
    writer: EntryWriter
    code: CodeType

    def release(self) -> None:
        """Let go of the user's values and unlink the parts, so that nothing waits for the collector (ADR 0014)."""
        self.machine.release()
        self.interpreter.release()
        self.wrapper.release()
        self.tx.guards.locate = self.tx.guards.facts = None
        self.tx.changes.release()
        self.recorder.release()


_SHORT = 24  # lines of an entry that are compiled behind its guards as well

OnBreak: TypeAlias = Callable[[GraphBreak, str, bool], None]


def build_entry(
    origin: EntryOrigin,
    values: Sequence[object],
    options: CompileOptions,
    policy: TracePolicy,
    ways: Ways,
    *,
    on_break: OnBreak,
) -> BuiltEntry:
    """Make an entry for the given arguments.

    `on_break(reason, user stack, strict)` may raise (fullgraph, or a switch in the code: `strict`). A state that cannot
    be rebuilt after the graph makes the whole function run natively, which is correct and reported.
    """
    began = time.perf_counter()
    stop: PlannedStop | None = None
    for _ in range(4):
        try:
            return _trace_once(origin, values, options, policy, ways, stop, began, on_break)
        except Restart as restart:
            stop = restart.stop
    raise AssertionError(f"tracing {origin.code.co_qualname} did not settle")


def build_prefix_entry(
    origin: EntryOrigin,
    values: Sequence[object],
    options: CompileOptions,
    recovery: Recovery,
    ways: Ways,
    step: int,
) -> Prefix | None:
    """An entry for what a call did before a step of its trace, whose operation runs natively then (ADR 0015).

    None where no such entry can be made.
    """
    began = time.perf_counter()
    reason = GraphBreak(NATIVE_CALL, "an operation of the graph, which raised")  # never reported
    backend = Replay()
    replaying = replace(options, backend=backend, mode=None, backend_options={})
    policy, stop = recovery.policy, PlannedStop(step, None, 0, BreakBefore(reason))
    for _ in range(4):
        try:
            found = _trace_once(origin, values, replaying, policy, ways, stop, began, _ignore)
        except Restart as restart:
            stop = restart.stop
            continue
        if found.reason is reason:
            return Prefix(found.entry, stop.step, backend)
        return Prefix(found.entry, 0, backend) if found.runs_natively else None
    return None


def _ignore(reason: GraphBreak, stack: str, strict: bool) -> None:
    """A break that the user did not write is not reported."""


def _trace_once(
    origin: EntryOrigin,
    values: Sequence[object],
    options: CompileOptions,
    policy: TracePolicy,
    ways: Ways,
    stop: PlannedStop | None,
    began: float,
    on_break: OnBreak,
) -> BuiltEntry:
    trace = prepare(origin.code, options, policy, stop)
    try:
        return _build_from_trace(origin, values, options, policy, ways, trace, began, on_break)
    finally:
        trace.release()


def _build_from_trace(
    origin: EntryOrigin,
    values: Sequence[object],
    options: CompileOptions,
    policy: TracePolicy,
    ways: Ways,
    trace: Trace,
    began: float,
    on_break: OnBreak,
) -> BuiltEntry:
    state = GlobalState.capture()
    machine = trace.machine
    try:
        with trace.recorder:
            try:
                trace.tx.guards.locate = lambda: frame_text(machine.frames)
                raised = origin.build(trace.tx, machine, values)
                trace.recorder.user_stack = lambda: stack_text(machine.frames)
                trace.recorder.locate(lambda: user_location(machine.frames))
                trace.recorder.asking = lambda: machine.frames[-1].code
                observed = trace.recorder.fallible = Observed(machine)
                end = trace.interpreter.run(raised)
                place, stack = where(machine, origin.code)
                reason = None if isinstance(end, Finished) else end.reason
                if reason is not None:
                    on_break(reason, stack, is_strict(machine))
                lines = write_end(trace, ways, end, options.backend)
                outputs = list(trace.writer.outputs)
                graph = trace.recorder.finish(outputs, observed.kept(outputs))
            finally:
                trace.tx.changes.ambient.restore()
        shape_guards = trace.recorder.explained_shape_guards()
    except GraphBreak as unwritable:
        place, stack = where(machine, origin.code)
        on_break(unwritable, stack, is_strict(machine))
        return run_natively(origin, unwritable, place, stack, began)
    guards = GuardSet([Guard.relation(state, Reason("torch's global state", None))])
    guards.update(trace.tx.guards)
    guards.update(distinct_objects(trace.tx.changes, trace.wrapper))
    guards.update(distinct_storages(graph, trace.wrapper, options.backend))
    guards.update(leaf_states(graph, trace.wrapper))
    guards.update(shape_guards)
    if policy.promised:
        check_promises(trace.recorder.specialised(), origin.code)
    check_numbers(trace.recorder, guards)
    recovery = None
    if graph.failures is not None and not isinstance(options.backend, Replay):
        recovery = Recovery(graph.failures, policy.frozen(), graph.inputs)
    entry = assemble_entry(origin, trace.writer, graph, lines, guards, recovery)
    check_facts(trace.tx.guards.facts, entry)
    return BuiltEntry(entry, graph, reason, place, stack, time.perf_counter() - began)


def check_numbers(recorder: Recorder, guards: GuardSet) -> None:
    """With `config.verify_entries`: fail where a number of an input is plain and has no guard."""
    problems = recorder.unguarded_numbers(guards) if config.verify_entries else []
    if problems:
        raise AssertionError("\n".join(problems))


def prepare(code: CodeType, options: CompileOptions, policy: TracePolicy, stop: PlannedStop | None) -> Trace:
    """Put the parts of one trace together."""
    wrapper = Wrapper(policy)
    interpreter = Interpreter(stop)
    recorder = Recorder(options.for_graph())
    tx = TraceContext(recorder, GuardSet(), MutationLog(), REGISTRY.current(), wrapper, interpreter.inline)
    tx.guards.facts = new_log(interpreter) if config.verify_code else None
    wrapper.attach(tx)
    machine = interpreter.attach(tx)
    return Trace(tx, machine, interpreter, recorder, wrapper, EntryWriter(code.co_firstlineno), code)


def where(machine: Machine, code: CodeType) -> tuple[tuple[str, int, str], str]:
    """The user's location (file, line, function) that the trace is at, and the user's stack as text."""
    if not machine.frames:
        return (code.co_filename, code.co_firstlineno, code.co_name), ""
    return location(machine.frames[-1]), stack_text(machine.frames)


def write_end(trace: Trace, ways: Ways, end: TraceEnd, backend: object) -> list[str]:
    """Write everything after the graph: changes replayed, ambient state set; returns the lines of the exit."""
    writer, tx = trace.writer, trace.tx
    machine = trace.machine
    if machine.frames:
        writer.line = location(machine.frames[0])[1]
    replay = backend if isinstance(backend, Replay) else None
    exit_ = Exit(writer, machine, ways, escaping_values(machine, end), replay)
    write_held(machine, writer)
    done: set[int] = set()  # replaying a change may lead to further ones
    while pending := [tracker for tracker in tx.changes.changed() if id(tracker) not in done]:
        for tracker in pending:
            done.add(id(tracker))
            report_change(trace.code, tracker)
            tracker.replay(writer)
    for generator in machine.generators:
        if has_pending_cleanup(generator) and not exit_.carries(generator):
            writer.value(generator)  # a real one, which the entry drops at its end unless it is handed on
    for setting, value in tx.changes.ambient.changes():
        setter = writer.constant(setting.set, f"set_{setting.name}")
        writer.statement(f"{setter}({writer.constant(value, setting.name)})")
    lines = write_exit(exit_, end)
    exit_.check()
    return lines


def write_exit(exit_: Exit, end: TraceEnd) -> list[str]:
    """The lines of the exit that the end of the trace asks for."""
    match end:
        case Finished(value):
            return exit_.finished(value)
        case ResumeHere():
            return exit_.here()
        case RunRestNatively(_, raised):
            return exit_.to_the_end(raised)
        case BreakBefore(_, refers):
            return exit_.natively(refers=refers)
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
            row = native_of(machine.frame.operation.kind)
            count = 0 if row is None else slots_taken(machine.frame.operation)
            return machine.frame.stack[-count:] if count else []
        case _:
            assert_never(end)


def run_natively(
    origin: EntryOrigin, reason: GraphBreak, place: tuple[str, int, str], stack: str, began: float
) -> BuiltEntry:
    """An entry without guards that runs the function as it is."""
    writer = EntryWriter(origin.code.co_firstlineno)
    entry = forwarding_entry(origin, writer, origin.native_lines(writer))
    return BuiltEntry(entry, None, reason, place, stack, time.perf_counter() - began, runs_natively=True)


def forwarding_entry(origin: EntryOrigin, writer: EntryWriter, lines: list[str]) -> Entry:
    """An entry without guards and without a graph: all it does is to call the user's code."""
    return assemble_entry(origin, writer, None, lines, GuardSet())


def assemble_entry(
    origin: EntryOrigin,
    writer: EntryWriter,
    graph: CompiledSubgraph | None,
    ending: list[str],
    guards: GuardSet,
    recovery: Recovery | None = None,
) -> Entry:
    """Put loads, graph call, body and ending together and compile them."""
    calling = graph_lines(writer, graph, recovery)
    ended = [(text, writer.line) for text in ending]
    lines = [*calling, *writer.body, *ended]
    loads = tuple(writer.loads)
    parameters = [writer.loads[source] for source in loads]
    code, identity = origin.code, Identity.of(origin.code)
    if graph is None:
        identity = identity.hidden()
    function = generated_function(
        ", ".join(parameters), lines, writer.constant.values, identity, origin.namespace
    )
    text = "\n".join([f"def {code.co_name}({', '.join(parameters)}):", *(f"    {line}" for line, _ in lines)])
    leaves = any(value is TailCall for value in writer.constant.values.values())
    body = None
    if not leaves and len(lines) <= _SHORT:
        body = EntryBody(tuple(parameters), tuple(lines), writer.constant.values)
    return Entry(guards, loads, function, text, leaves, body, is_forwarding=graph is None)


def graph_lines(
    writer: EntryWriter, graph: CompiledSubgraph | None, recovery: Recovery | None
) -> list[tuple[str, int]]:
    """Call the graph and name its outputs."""
    if graph is None or not (writer.outputs or graph.call is not None):
        return []
    inputs = [writer.load(source) for source in graph.inputs]
    names = list(writer.outputs.values())
    if graph.call is None:
        return [
            (f"{name} = {inputs[position]}", writer.line)
            for name, position in zip(names, graph.positions, strict=True)
        ]
    call = f"{writer.constant(graph.call, 'graph')}({', '.join(inputs)})"
    first: dict[int, str] = {}
    for name, position in zip(names, graph.positions, strict=True):
        first.setdefault(position, name)
    results = [first.get(i, f"{PREFIX}r{i}") for i in range(graph.outputs)]
    called = f"{', '.join(results)}, = {call}" if results else call
    lines = [(called, writer.line)]
    if recovery is not None:
        failed, own = writer.constant(GraphFailed, "failed"), writer.constant(recovery, "recovery")
        handler = f"except Exception as {PREFIX}x: raise {failed}({own}, {PREFIX}x) from None"
        lines = [("try:", writer.line), (f"  {called}", writer.line), (handler, writer.line)]
    renamed = [
        (f"{name} = {results[position]}", writer.line)
        for name, position in zip(names, graph.positions, strict=True)
        if results[position] != name
    ]
    return [*lines, *renamed]
