"""One entry, phase by phase: from real values to generated code. The page to read first.

1. `prepare_trace`: recorder, guards, mutation log, wrapper and interpreter are put together.
2. `Interpreter.run`: the frames are executed symbolically until they return or an operation cannot be traced.
3. `write_ending`: changes to existing objects are replayed, in order; then the returned value, or a native operation
   and a tail call of the continuation behind it.
4. `Recorder.finish`: the graph goes to the backend.
5. Guards are collected.
6. `write_entry`: loads, graph call, changes and ending are put together.

What comes out is data. The cache, which has the continuations, binds the resume points to them (`EntryText.bind`).
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from types import CodeType
from typing import Final, Protocol, TypeAlias, final

from framesmith.frontend import events
from framesmith.frontend.aliasing import distinct_contents, distinct_objects, distinct_storages, leaf_states
from framesmith.frontend.dynamic_marks import check_promises
from framesmith.frontend.errors import FullGraphError
from framesmith.frontend.exits.emit import write_ending
from framesmith.frontend.exits.ending import EntryEnding, ResumeTarget
from framesmith.frontend.first_imports import import_first
from framesmith.frontend.generated.entry import EntryText
from framesmith.frontend.generated.functions import Identity, Line
from framesmith.frontend.generated.source_writer import EntryWriter
from framesmith.frontend.graph_call import write_graph_call
from framesmith.frontend.new_objects import check_new_memory, drop_made, made_among
from framesmith.frontend.options import CompileOptions, TracePolicy, config, current_config
from framesmith.frontend.recovery import Recovery
from framesmith.frontend.refusal import Refusal
from framesmith.frontend.registry import REGISTRY
from framesmith.frontend.tracing.asked_gradients import (
    ask_histories,
    check_asked_gradients,
    find_asked_histories,
)
from framesmith.frontend.tracing.change_places import ChangePlaces
from framesmith.frontend.tracing.data_parallel import find_buckets
from framesmith.frontend.tracing.data_stores_ahead import note_data_stores
from framesmith.frontend.tracing.deferred_calls import check_filters
from framesmith.frontend.tracing.fact_check import check_facts, new_log
from framesmith.frontend.tracing.filled_places import find_filled_place
from framesmith.frontend.tracing.interpreter import Interpreter
from framesmith.frontend.tracing.launches import check_launches
from framesmith.frontend.tracing.machine import Machine
from framesmith.frontend.tracing.module_stacks import ModuleStacks, compiled_function
from framesmith.frontend.tracing.observed_values import ObservedValues
from framesmith.frontend.tracing.outdated_reads import check_outdated_reads
from framesmith.frontend.tracing.replanning import (
    OtherManner,
    PlannedStop,
    Restart,
    TraceManner,
    check_manner,
)
from framesmith.frontend.tracing.strict_breaks import has_strict_breaks
from framesmith.frontend.tracing.trace_end import BreakBefore, EntryPostponed, Finished, TraceEnd
from framesmith.frontend.tracing.user_stack import StackTexts, frame_text, location, user_location, user_stack
from framesmith.frontend.user_lines import UserLocation
from framesmith.graph import CompiledSubgraph, GraphBreak, Recorder, TraceNumbers
from framesmith.graph.breaks.break_kinds import NATIVE_CALL, NONDETERMINISTIC, RECURSION
from framesmith.graph.breaks.breaks import BreakKind
from framesmith.graph.environment.postponed_signals import signals_postponed
from framesmith.graph.environment.trace_numbers import TraceName
from framesmith.graph.replacing_backends import OperationsReplaced
from framesmith.graph.running.failures import Replay
from framesmith.guards import Guard, GuardSet, Reason
from framesmith.guards.kinds import GlobalState
from framesmith.variables.blocks.calls import BlockCalls
from framesmith.variables.core import MutationLog, TraceContext, Tracker
from framesmith.variables.wrapping.wrap import Wrapper


class TraceStart(Protocol):
    """Where a trace starts: at the first instruction of a function, or at the resume point of a continuation."""

    @property
    def code(self) -> CodeType:
        """The code object whose name, file and first line the entry takes."""
        ...

    @property
    def namespace(self) -> dict[str, object]:
        """The user's globals, so that native imports and tracebacks see them."""
        ...

    def push_frames(self, tx: TraceContext, machine: Machine, values: Sequence[object]) -> Tracker | None:
        """Put the symbolic frames into the machine; returns the exception to raise first, if there is one."""
        ...

    def write_native_ending(self, writer: EntryWriter) -> EntryEnding:
        """Statements that run everything natively."""
        ...


@final
@dataclass(frozen=True, slots=True)
class BuiltEntry:
    """A finished entry and what happened on the way: its graph, and the graph break with the user's line.

    `refusal`: the break is an error, which the entry raises in place of going on. `changes`: what it changes behind the graph, with
    the line of each, where that is logged (`side_effects`).
    """

    text: EntryText[ResumeTarget]
    graph: CompiledSubgraph | None
    reason: GraphBreak | None
    location: UserLocation
    stack: tuple[UserLocation, ...]
    refusal: Refusal | None = None
    runs_natively: bool = False
    changes: tuple[tuple[str, str], ...] = ()


@final
@dataclass(frozen=True, slots=True)
class BuiltPartialEntry:
    """An entry for what a call did before a step of its trace, whose operation runs natively then (ADR 0015).

    `step`: the one in front of which it stops, which may be an earlier one; 0 if all of it runs natively.
    """

    text: EntryText[ResumeTarget]
    step: int
    replay: Replay


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
    blocks: BlockCalls | None
    stop: PlannedStop | None

    def run(self, start: TraceStart, values: Sequence[object]) -> TraceEnd:
        """Put the frames into the machine and execute them symbolically."""
        machine, recorder = self.machine, self.recorder
        raised = start.push_frames(self.tx, machine, values)
        # all of these are asked while the trace runs only: `release` empties what they lead to (ADR 0014)
        recorder.user_stack, recorder.compiled = StackTexts(machine), compiled_function(machine)
        recorder.module_stack = stacks = ModuleStacks(machine, recorder.compiled)
        recorder.module_class = stacks.class_of
        self.tx.guards.locate = lambda: frame_text(machine.frames)
        recorder.locate(lambda: user_location(machine.frames))
        recorder.asking = lambda: (machine.frame.code, machine.frame.locals.get)
        recorder.on_warning = lambda operation: check_filters(self.tx, operation)
        return self.interpreter.run(raised)

    def release(self) -> None:
        """Let go of the user's values and unlink the parts, so that nothing waits for the collector (ADR 0014)."""
        self.machine.release()
        self.interpreter.release()
        self.wrapper.release()
        if self.blocks is not None:
            self.blocks.release()
        self.tx.guards.locate = self.tx.guards.facts = None
        self.tx.changes.release()
        self.recorder.release()


# Traces of one call before it runs natively: a planned stop is replaced by an earlier one where its frame cannot be left.
_ATTEMPTS: Final = 4

OnBreak: TypeAlias = Callable[[GraphBreak, tuple[UserLocation, ...], bool], Refusal | None]


class TraceWatch(Protocol):
    """What looks at each trace of an entry, and may refuse it: `export` does."""

    def begin(self, trace: Trace) -> None:
        """A trace is about to begin."""
        ...

    def finish(self, trace: Trace, end: TraceEnd) -> None:
        """A trace has come to this end, and nothing was written yet."""
        ...


def ignore_break(reason: GraphBreak, stack: tuple[UserLocation, ...], strict: bool) -> None:
    """The `on_break` for a break that the user did not write: it is not reported."""


@final
@dataclass(frozen=True, slots=True)
class EntryBuilder:
    """Makes the entries of one function or continuation.

    `on_break(reason, user stack, strict)` is asked at a graph break, which may be an error (fullgraph, or a switch in
    the code: `strict`): it raises it, or gives the refusal with which the entry ends. `skips_first_call`: a call that makes state
    which the next one finds gets no entry where the backend takes seconds; EntryPostponed is raised.
    """

    start: TraceStart
    options: CompileOptions
    policy: TracePolicy
    on_break: OnBreak
    numbers: TraceNumbers = field(default_factory=TraceNumbers)
    skips_first_call: bool = False
    watch: TraceWatch | None = None

    def build(self, values: Sequence[object]) -> BuiltEntry:
        """Make an entry for these arguments.

        A state that cannot be rebuilt after the graph makes the whole function run natively, which is correct and
        reported.
        """
        stop: PlannedStop | None = None
        name = self.numbers.next()
        imported = set[str]()
        name.attempt, manner, limit = 0, TraceManner(), _ATTEMPTS
        # an import between two traces is no attempt, nor is another manner
        while name.attempt < limit + len(imported):
            try:
                return self._trace(values, stop, name, manner)
            except Restart as restart:
                stop = restart.stop
            except OtherManner as other:
                # the steps of the next trace may have other numbers
                manner, stop = other.manner, None
                limit += 1
            except OperationsReplaced:
                stop = None
                continue  # known of the backend now, so it is no attempt: it happens once
            except FullGraphError as error:
                if not import_first(error, imported):
                    raise
                # the steps of the next trace have other numbers
                stop = None
            except RecursionError:
                # outside of a step: in values nested that deeply, or since the caller has left no room
                return self._build_native(RECURSION, f"the trace of {self.start.code.co_qualname}")
            name.attempt += 1
        return self._build_native(
            NONDETERMINISTIC, f"each trace of {self.start.code.co_qualname} ended elsewhere"
        )

    def _build_native(self, kind: BreakKind, detail: str) -> BuiltEntry:
        """An entry that runs the whole function natively, which is reported."""
        reason, reached = GraphBreak(kind, detail), UserLocation.of(self.start.code)
        return build_native_entry(self.start, reason, reached, (), self.on_break(reason, (), False))

    def build_partial(
        self, values: Sequence[object], step: int, manner: TraceManner
    ) -> BuiltPartialEntry | None:
        """Make an entry that stops before a step of a trace made in this manner. None where no such entry can be made."""
        reason = GraphBreak(NATIVE_CALL, "an operation of the graph, which raised")  # never reported
        backend = Replay()
        own = self.options
        options = replace(own, fullgraph=False, backend=backend, mode=None, backend_options={})
        # as in the trace whose graph raised, which `fullgraph` implies: this one has to take the same steps
        options = replace(options, captures_unknown=own.fullgraph or own.captures_unknown)
        builder = replace(self, options=options, on_break=ignore_break)
        stop = PlannedStop(step, None, 0, BreakBefore(reason))
        name = self.numbers.next()
        for name.attempt in range(_ATTEMPTS):
            try:
                built = builder._trace(values, stop, name, manner)
            except Restart as restart:
                stop = restart.stop
                continue
            except OtherManner:
                return None
            # by identity, to tell it from a break that this trace met on its way
            if built.reason is reason:
                return BuiltPartialEntry(built.text, stop.step, backend)
            # another end: this trace went another way than the one whose graph raised
            return BuiltPartialEntry(built.text, 0, backend) if built.runs_natively else None
        return None

    def _trace(
        self, values: Sequence[object], stop: PlannedStop | None, name: TraceName, manner: TraceManner
    ) -> BuiltEntry:
        """Trace once. Raises Restart where the trace has to be made again, with another stop, OtherManner where it has to be
        in another manner."""
        with signals_postponed():
            # 1 prepare
            trace = prepare_trace(self.start.code, self.options, self.policy, stop, name)
            trace.tx.changes.exact_identities = manner.exact_identities
            trace.tx.changes.says_compiling = manner.says_compiling
            try:
                return self._build_from(trace, values, manner)
            finally:
                trace.release()

    def _build_from(self, trace: Trace, values: Sequence[object], manner: TraceManner) -> BuiltEntry:
        """Phases 2 to 6 (see the module), on a trace that `prepare_trace` has put together; a native entry where the state
        cannot be rebuilt after the graph."""
        # before the trace, which sets torch's switches as the program does
        state = GlobalState.capture()
        recorder, machine, writer, backend = trace.recorder, trace.machine, trace.writer, self.options.backend
        replay = backend if isinstance(backend, Replay) else None
        observed = recorder.fallible = ObservedValues(machine)
        try:
            with recorder:
                try:
                    if self.watch is not None:
                        self.watch.begin(trace)
                    places = ChangePlaces(machine) if events.is_logged("side_effects") else None
                    # 2 execute the frames symbolically
                    end = run_trace(trace, self.start, values)
                    # before anything is reported: this trace is thrown away
                    check_manner(machine, manner, end)
                    reached, stack = locate_trace(machine, self.start.code)
                    reason = None if isinstance(end, Finished) else end.reason
                    refusal = None
                    if reason is not None:
                        refusal = self.on_break(reason, stack, has_strict_breaks(machine))
                    if self.watch is not None:
                        self.watch.finish(trace, end)
                    note_data_stores(machine, self.start.code, is_finished=reason is None)
                    # 3 write the changes and the ending
                    ending = write_ending(writer, machine, end, replay)
                    changed = trace.tx.changes.changed_trackers() if places is not None else ()
                    changes = [text for one in changed if places is not None for text in places.describe(one)]
                    outputs = list(writer.outputs)
                    # a part is compiled for inputs as the caller hands them in
                    if current_config().optimize_ddp and not recorder.metadata_changes.inputs:
                        recorder.options = replace(recorder.options, gradient_buckets=find_buckets(machine))
                    check_new_memory(trace.tx, outputs)
                    if self.skips_first_call and reason is None and recorder.options.compiles_slowly:
                        self._check_filled_places(trace)
                    # 4 hand the graph to the backend
                    graph = recorder.finish(outputs, observed.find_freed(outputs))
                finally:
                    # the trace has left torch's switches as the program does: the entry will set them
                    trace.tx.changes.ambient.restore()
            shape_guards = recorder.explain_shape_guards()
        except GraphBreak as unwritable:
            check_launches(trace.tx)
            # the entry keeps it, and they keep the call
            unwritable.__traceback__ = unwritable.__context__ = None
            reached, stack = locate_trace(machine, self.start.code)
            refusal = self.on_break(unwritable, stack, has_strict_breaks(machine))
            return build_native_entry(self.start, unwritable, reached, stack, refusal)
        # 5 collect the guards
        guards = self._collect_guards(trace, state, graph, shape_guards)
        recovery = None
        # a partial entry has no recovery of its own
        if graph.failures is not None and replay is None:
            made = made_among((*graph.inputs, *writer.loads))
            recovery = Recovery(graph.failures, self.policy.snapshot(), manner, graph.inputs, made)
        # 6 put the entry together
        # the graph call is written first, since it loads the inputs of the graph
        text = write_entry(
            self.start, writer, ending, guards, write_graph_call(writer, graph, guards, recovery)
        )
        if trace.blocks is not None:
            events.counters["stats"]["repeated_blocks"] += trace.blocks.repeated
        check_facts(trace.tx.guards.facts, text.guards, text.loads)
        return BuiltEntry(text, graph, reason, reached, stack, refusal, changes=tuple(changes))

    def _check_filled_places(self, trace: Trace) -> None:
        """Raises EntryPostponed for a call that makes state: a later one differs."""
        place = find_filled_place(trace.tx, trace.wrapper.find)
        if place is not None:
            said = "%s runs natively this time: it fills %s, so that the next call differs"
            events.log("recompiles", said, self.start.code.co_qualname, place.text())
            raise EntryPostponed(trace.tx.guards.copy())

    def _collect_guards(
        self, trace: Trace, state: GlobalState, graph: CompiledSubgraph, shape_guards: Iterable[Guard]
    ) -> GuardSet:
        """The guards of the entry; fails where a promise of the user, or one of ours about numbers, is broken."""
        guards = GuardSet([Guard.relation(state, Reason("torch's global state", None))])
        guards.update(drop_made(trace.tx.guards.items) if trace.tx.changes.moved else trace.tx.guards)
        guards.update(distinct_objects(trace.tx.changes, trace.wrapper))
        counted = trace.recorder.writes.are_counted
        guards.update(distinct_storages(graph, trace.wrapper, self.options.backend, are_counted=counted))
        guards.update(distinct_contents(graph, trace.tx.changes, trace.wrapper))
        guards.update(leaf_states(graph, trace.wrapper))
        guards.update(shape_guards)
        if self.policy.promised:
            check_promises(trace.recorder.specialized(), self.start.code)
        check_numbers(trace.recorder, guards)
        return guards


def run_trace(trace: Trace, start: TraceStart, values: Sequence[object]) -> TraceEnd:
    """Execute the frames symbolically. Raises Restart where the trace has gone too far."""
    try:
        end = trace.run(start, values)
    except Restart as restart:
        # The second trace stops before the step that asked, and does not hear of it: its stop may come too late.
        check_asked_gradients(trace.tx)
        asked = find_asked_histories(trace.tx)
        raise Restart(replace(restart.stop, asked=restart.stop.asked | asked)) from None
    ask_histories(trace.tx, trace.stop)
    check_outdated_reads(trace.tx)
    check_launches(trace.tx)
    if not isinstance(end, Finished):
        check_asked_gradients(trace.tx, trace.machine.frames)
    return end


def check_numbers(recorder: Recorder, guards: GuardSet) -> None:
    """With `config.verify_entries`: fail where a number of an input is plain and has no guard."""
    problems = recorder.find_unguarded_numbers(guards) if config.verify_entries else []
    if problems:
        raise AssertionError("\n".join(problems))


def prepare_trace(
    code: CodeType,
    options: CompileOptions,
    policy: TracePolicy,
    stop: PlannedStop | None,
    name: TraceName | None = None,
) -> Trace:
    """Put the parts of one trace together."""
    wrapper = Wrapper(policy)
    interpreter = Interpreter(stop)
    recorder = Recorder(options.for_graph(), name)
    blocks = BlockCalls(wrapper, interpreter.repeatable_state) if config.reuse_blocks else None
    tx = TraceContext(
        recorder, GuardSet(), MutationLog(), REGISTRY.current(), wrapper, interpreter.inline, blocks
    )
    tx.guards.facts = new_log(interpreter) if config.verify_code else None
    tx.changes.must_not_break = options.fullgraph
    wrapper.attach(tx)
    machine = interpreter.attach(tx)
    writer = EntryWriter(code.co_firstlineno, tx.registry, tx.changes.made_classes)
    return Trace(tx, machine, interpreter, recorder, wrapper, writer, blocks, stop)


def locate_trace(machine: Machine, code: CodeType) -> tuple[UserLocation, tuple[UserLocation, ...]]:
    """The user's line that the trace is at, and the user's stack."""
    if not machine.frames:
        return UserLocation.of(code), ()
    return location(machine.frame), user_stack(machine.frames)


def build_native_entry(
    start: TraceStart,
    reason: GraphBreak,
    reached: UserLocation,
    stack: tuple[UserLocation, ...],
    refusal: Refusal | None = None,
) -> BuiltEntry:
    """An entry without guards that runs the function as it is."""
    writer = EntryWriter(start.code.co_firstlineno)
    if refusal is not None:  # no graph at all
        raise refusal.error()
    ending = start.write_native_ending(writer)
    text = build_forwarding_entry(start, writer, ending)
    return BuiltEntry(text, None, reason, reached, stack, runs_natively=True)


def build_forwarding_entry(
    start: TraceStart, writer: EntryWriter, ending: EntryEnding
) -> EntryText[ResumeTarget]:
    """An entry without guards and without a graph: all it does is to call the user's code."""
    return write_entry(start, writer, ending, GuardSet(), None)


def write_entry(
    start: TraceStart,
    writer: EntryWriter,
    ending: EntryEnding,
    guards: GuardSet,
    graph_call: Sequence[Line] | None,
) -> EntryText[ResumeTarget]:
    """Put loads, graph call, body and ending together. `graph_call`: the lines of the graph call, None without a graph."""
    ended = [(text, writer.line) for text in ending.lines]
    loads = tuple(writer.loads)
    return EntryText(
        Identity.of(start.code),
        start.namespace,
        guards,
        loads,
        tuple(writer.loads[source] for source in loads),
        (*(graph_call or ()), *writer.makes, *writer.body, *ended),
        writer.constants.values,
        ending.targets,
        leaves=ending.leaves,
        is_forwarding=graph_call is None,
    )
