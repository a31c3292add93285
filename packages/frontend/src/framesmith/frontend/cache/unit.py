"""A compiled unit: a function or continuation with its dispatcher, and what makes an entry when none fits.

    handle_miss(values)   no entry fits: ask why, let the policy learn, build an entry, bind it, keep it, run it
    recover(...)          the graph of an entry raised (ADR 0015)

Units and continuations need each other: an entry of a unit goes on in continuations, each of which is a unit.
"""

import time
import weakref
from collections.abc import Callable, Sequence
from dataclasses import replace
from itertools import islice
from types import FunctionType
from typing import Final, final

from framesmith.frontend import events
from framesmith.frontend.build_entry import (
    BuiltEntry,
    EntryBuilder,
    build_forwarding_entry,
    build_native_entry,
)
from framesmith.frontend.cache.agreement import build_in_agreement
from framesmith.frontend.cache.binding import EntryBinder
from framesmith.frontend.cache.frame_hooks import without_frame_hook
from framesmith.frontend.cache.idle_loops import EntryEnd, IdleLoops
from framesmith.frontend.cache.racing_threads import read_inputs
from framesmith.frontend.cache.recompile_limit import describe_limit, is_settled, refusal_of, report_limit
from framesmith.frontend.cache.records import log_unshared, record_entry, record_recompile, record_shared
from framesmith.frontend.cache.session_state import OwnedSession, SessionState
from framesmith.frontend.cache.shared_entries import EntryCache, SharedEntry, settings_of
from framesmith.frontend.cache.specialization import Sizes, sizes_of
from framesmith.frontend.cache.trace_start import ContinuationStart, FunctionStart, make_scope
from framesmith.frontend.cache.user_names import UserNames
from framesmith.frontend.errors import (
    BackendFailed,
    BackendFailedWarning,
    DynamicSizeFixed,
    FramesmithError,
    NotCompiledWarning,
    RecompileError,
)
from framesmith.frontend.exits.ending import EntryEnding, ResumeTarget
from framesmith.frontend.generated.dispatcher import Dispatcher, Signature
from framesmith.frontend.generated.entry import Entry
from framesmith.frontend.generated.source_writer import EntryWriter
from framesmith.frontend.generated.tail_calls import run_tail_calls
from framesmith.frontend.hidden_frames import hidden
from framesmith.frontend.options import Config, TracePolicy, current_config
from framesmith.frontend.recovery import PartialEntry, Recovery
from framesmith.frontend.refusal import Refusal
from framesmith.frontend.registry import REGISTRY
from framesmith.frontend.replaced_builtins import OriginalBuiltins, is_any_replaced
from framesmith.frontend.reports import report_bug, report_dynamic
from framesmith.frontend.resuming.native import NativeContinuation
from framesmith.frontend.stances import LISTENER, Stance, current
from framesmith.frontend.torch_settings import warn_of_ignored, warn_once
from framesmith.frontend.tracing.trace_end import EntryPostponed
from framesmith.frontend.user_lines import UserLocation
from framesmith.frontend.user_warnings import warn
from framesmith.graph import GraphBreak, TraceNumbers
from framesmith.graph.breaks.break_kinds import BACKEND_LIMIT, INTERNAL_ERROR
from framesmith.graph.breaks.breaks import BreakKind
from framesmith.graph.breaks.interruptions import cut_to_handler, is_of_signal_handler
from framesmith.graph.options import Backend
from framesmith.graph.running.failures import GraphFailed
from framesmith.guards import Examination, Failure, GuardSet, Scope, examine, first_failure
from framesmith.variables.objects.exception_chains import raise_unchained

# Entries of other functions from which a miss learns: each is compared guard by guard. A bound on time, nothing else.
_COMPARED: Final = 8


@final
class Continuations:
    """The continuations of one session, compiled and native, each made when the first entry leads to it.

    Continuations may refer to each other and to themselves (a loop): these cycles are taken apart at the end.
    """

    def __init__(self, state: SessionState) -> None:
        self._state = state
        self._compiled: dict[ResumeTarget, tuple[CompiledUnit, FunctionType]] = {}
        self._natives: dict[ResumeTarget, NativeContinuation] = {}
        self._idle_loops = IdleLoops(self._compiled)

    def __del__(self) -> None:
        for unit in self.units():
            unit.release()  # no call is running: it would hold the compiled function, and with it this

    def function_at(self, target: ResumeTarget) -> Callable[..., object]:
        """The function in which an entry goes on."""
        with self._state.lock:
            return self._native_at(target) if target.is_native else self._compiled_at(target)

    def _native_at(self, target: ResumeTarget) -> NativeContinuation:
        if target not in self._natives:
            self._natives[target] = NativeContinuation(target.point, target.namespaces)
        return self._natives[target]

    def _compiled_at(self, target: ResumeTarget) -> FunctionType:
        if target not in self._compiled:
            start = ContinuationStart(target)
            signature = Signature.of_names(start.code, target.point.names)
            unit = CompiledUnit(self._state, self, start, signature)
            self._compiled[target] = unit, unit.make_function()
        return self._compiled[target][1]

    def run_idle_loops_natively(self, unit: "CompiledUnit", new: EntryEnd) -> None:
        """Decide anew which loops run natively: an entry was made. One of the function itself is in no loop."""
        with self._state.lock:
            # a call that began before `clear` may still run in one that is forgotten
            if isinstance(unit.start, ContinuationStart) and self._has(unit, unit.start.target):
                self._idle_loops.update(unit.start.target, new)

    def _has(self, unit: "CompiledUnit", target: ResumeTarget) -> bool:
        return target in self._compiled and self._compiled[target][0] is unit

    def units(self) -> "list[CompiledUnit]":
        """The compiled ones."""
        return [unit for unit, _ in self._compiled.values()]

    def clear(self) -> None:
        """Forget all of them."""
        self._compiled.clear()
        self._idle_loops.clear()
        self._natives.clear()


@final
class CompiledUnit:
    """A function or continuation with its dispatcher, which tries the entries; an entry is made here when none fits.

    `session`: the session, for the unit of the function itself; that of a continuation has none.
    """

    def __init__(
        self,
        state: SessionState,
        continuations: Continuations,
        start: FunctionStart | ContinuationStart,
        signature: Signature,
        session: OwnedSession | None = None,
    ) -> None:
        self._state = state
        # weak: they own this unit (ADR 0014)
        self._continuations = weakref.ref(continuations)
        self._binder = EntryBinder(continuations, ends_natively=state.options.fullgraph)
        self._session = session
        self.start = start
        self.names = UserNames(start, state.definition)
        self._cache = state.shared.at(start)
        self._shared: list[SharedEntry] = []  # those that serve here
        # by the step at which they stop
        self._partial_entries = dict[Recovery, dict[int, PartialEntry | None]]()
        self.policy = state.policy(start, self._cache)
        self.dispatcher = Dispatcher(
            signature,
            start.namespace,
            # a continuation returns its tail calls to the loop in the function that the user called; it does not ask
            # for the stance, which holds from the call of that function to its end (ADR 0012)
            follows=session is not None,
            asks=session is not None and not state.is_forced,
        )
        self._numbers = TraceNumbers()
        self._native: Entry | None = None
        self._first: Sizes | None = None  # those of a call that ran eagerly before anything was compiled
        self._postponed: GuardSet | None = None  # of a call that made state and got no entry
        self._is_reported = False

    def make_function(self) -> FunctionType:
        """The function that tries the entries, which the caller keeps: it owns this unit."""
        closure = self.start.closure if isinstance(self.start, FunctionStart) else None
        return self.dispatcher.make_function(self.handle_miss, closure, recover=self.recover)

    def reset(self) -> None:
        """Forget the entries."""
        # the table of the shared cache was emptied: there is another object for this start
        self._cache = self._state.shared.at(self.start)
        self.policy = self._state.policy(self.start, self._cache)
        self.release()
        self._native = self._first = self._postponed = None
        self._is_reported = False

    def release(self) -> None:
        """Let go of the entries."""
        self.dispatcher.clear()
        self._shared.clear()
        self._partial_entries.clear()

    def copy_defaults(self) -> None:
        """The compiled function has new defaults."""
        if isinstance(self.start, FunctionStart):
            self.start.copy_defaults()

    # -- what the dispatcher calls -----------------------------------------------------------------
    @hidden
    def handle_miss(self, *values: object) -> object:
        """The slow path, when no entry fits: make one for these values, keep it, run it."""
        with OriginalBuiltins():
            scope, interruption = self._scope_of(values), None
            try:
                with self._state.lock, without_frame_hook():
                    entry = self._find_or_make_entry(values, scope)
            except BaseException as error:
                interruption = self._leave_frames(values, error)
        # outside of the handler, which would be the context of what the frames raise
        if interruption is not None:
            return self._raise_in_frames(interruption, values)
        entry, inputs = read_inputs(entry, scope, self._get_native_entry)
        # popped: this frame must not hold what the entry drops. A continuation returns to the loop that called it
        if self._session is None:
            return entry.function(*inputs.pop())
        return run_tail_calls(entry.function(*inputs.pop()))

    @hidden
    def recover(self, failure: GraphFailed, *values: object) -> object:
        """The graph of an entry raised: do what the program did before, and run the operation that raised natively.

        Where that cannot be done the exception of the graph is raised in the frames of a continuation, where it begins
        (ADR 0015).
        """
        recovery, error = failure.recovery, failure.error
        # the entry that ran was made from the code that the function has now, which `start` may not have: entries of
        # former code serve again when that code is put back (ADR 0013)
        self._follow_original(values)
        # they lead to frames of ours that hold the user's values (ADR 0014)
        failure.__traceback__ = failure.__context__ = None
        assert isinstance(recovery, Recovery)
        try:
            ready = recovery.prepare_or_report(
                failure,
                self._scope_of(values),
                lambda step: self._get_partial(recovery, step, values),
                self.start.code,
            )
        except BaseException as raised:
            ready, error = None, self._leave_frames(values, raised)
        if ready is None:  # outside of the handler, as in `handle_miss`
            result = self._raise_in_frames(error, values)
        else:
            entry, scope = ready
            # no name for what is read, as in `handle_miss`
            result = entry.function(*[source.read(scope) for source in entry.loads])
        return result if self._session is None else run_tail_calls(result)

    def _leave_frames(self, values: Sequence[object], error: BaseException) -> BaseException:
        """No entry can be made: a continuation leaves the user's frames, whose `finally` and `with` run, and the error is raised.
        One of the program (KeyboardInterrupt, that of a signal's handler) is given back: it is to be raised in the frames."""
        if not isinstance(error, Exception) or is_of_signal_handler(error):
            return cut_to_handler(error)
        if (native := self._native_continuation()) is not None:
            native.unwind([*values])
        raise error

    @hidden
    def _raise_in_frames(self, error: BaseException, values: Sequence[object]) -> object:
        native = self._native_continuation()
        if native is None:
            raise_unchained(error)
        return native.interrupt([*values], error)

    def _native_continuation(self) -> NativeContinuation | None:
        """The rest of the user's frames, natively; None for a function from its first instruction."""
        continuations = self._continuations()
        if not isinstance(self.start, ContinuationStart) or continuations is None:
            return None
        native = continuations.function_at(replace(self.start.target, is_native=True))
        assert isinstance(native, NativeContinuation)
        return native

    def _scope_of(self, values: Sequence[object]) -> Scope:
        return make_scope(self.start, self.dispatcher.signature.names, values)

    # -- which entry serves a call -----------------------------------------------------------------
    def _find_or_make_entry(self, values: Sequence[object], scope: Scope) -> Entry:
        if not self._follow_original(values):
            return self._make_current_call_entry()
        settings, stance = current_config(), Stance() if self._state.is_forced else current()
        if settings.disable or stance.is_eager or is_any_replaced():
            return self._get_native_entry()
        # not for a continuation: the stance of the call's beginning holds on (ADR 0012)
        if stance.backend is not None and self._session is not None:
            return self._make_entry_with_backend(stance.backend, self._session)
        entries, failures = self.dispatcher.entries, list[Failure]()
        if self._is_reported and is_settled(len(entries), settings, self._state.options, stance):
            return self._get_native_entry()
        for entry in entries:
            # another thread may have added one while this one waited for the lock
            failure = first_failure(entry.guards, scope)
            if failure is None:
                return entry
            failures.append(failure)
        # one that is taken over counts towards the limit like one that is made here
        shared = self._find_shared_entry(scope) if len(entries) < settings.recompile_limit else None
        if shared is not None:
            return shared
        if stance.name == "eager_on_recompile":
            return self._get_native_entry()
        stance.check_recompile(self.names.function, [self.names.text(failure.text) for failure in failures])
        first = stance.first_call
        if first is not None and self._session is not None and not entries and self._first is None:
            self._first = sizes_of(values)
            if first == "eager":
                return self._get_native_entry()
            return self._make_entry_with_backend(first, self._session)
        if len(entries) >= settings.recompile_limit:
            self._report_limit(scope, settings, failures)
            return self._get_native_entry()
        # once more: the policy learns from all failed guards of an entry, a message needs the first
        misses = [examine(entry.guards, scope) for entry in entries]
        reasons = record_recompile(self._state.history, self.names, misses)
        if self._postponed is not None and not entries:
            misses.append(examine(self._postponed, scope))
        self._learn(misses, scope)
        if entries and settings.error_on_recompile:
            recent = "\n  ".join(events.collapse_repeats(reasons))
            count = "the entry does not fit" if len(entries) == 1 else f"none of {len(entries)} entries fits"
            raise RecompileError(f"{count} and config.error_on_recompile is set:\n  {recent}")
        return self._make_entry(values)

    def _learn(self, misses: Sequence[Examination], scope: Scope) -> None:
        """Let the policy learn from why no entry fits, and log what is symbolic from now on."""
        before = self.policy.symbolic() if events.is_logged("dynamic") else None
        self.policy.learn(misses)
        others = [one.guards for one in islice(self._cache.others(self._shared), _COMPARED)]
        self.policy.learn_from_others(others, scope)
        if others and events.is_logged("recompiles"):
            log_unshared(self.names, [first_failure(guards, scope) for guards in others])
        if before is not None:
            new = [self.names.text(source) for source in self.policy.symbolic() if source not in before]
            report_dynamic(self.names.function, new)

    def _follow_original(self, values: Sequence[object]) -> bool:
        """Check if the original has other code or other defaults now. False where the new code is not compiled here."""
        start = self.start
        if self._session is None or not isinstance(start, FunctionStart):
            return True
        self._session.follow_defaults()
        if start.is_current(values):
            return True
        self._native = None
        current = start.with_current_code()
        if current is not None:
            # entries of the former code serve functions that have it still
            self.start, self._cache = current, EntryCache()
            self.policy = self._state.policy(current, self._cache)
            return True
        name = start.code.co_qualname
        warn_once(
            f"code of {name}",
            f"{name} was replaced after compile(), by another function or by code with other parameters: calls run that "
            "uncompiled; compile again",
            NotCompiledWarning,
        )
        return False

    def _report_limit(self, scope: Scope, settings: Config, failures: Sequence[Failure]) -> None:
        """Warn once in a session that the limit is reached, and log it of each further unit; its history notes it for each.

        Raises RecompileError, at each such call, where nothing may run uncompiled.
        """
        refusal = refusal_of(settings, self._state.options)
        if self._is_reported and refusal is None:
            return
        guards = [entry.guards for entry in self.dispatcher.entries]
        text = describe_limit(self.names, guards, scope, settings, self._state.options, failures)
        if refusal is not None:
            raise RecompileError(text)
        self._is_reported = True
        report_limit(self._state.history, text)

    # -- making entries ----------------------------------------------------------------------------
    def _make_entry(self, values: Sequence[object]) -> Entry:
        """Make an entry.

        It is kept for later calls unless it ends in a refusal, whose error no guard covers.
        """
        if self._first is not None:
            self.policy.compare(self.dispatcher.signature.names, self._first, sizes_of(values))
        began = time.perf_counter()
        settings, registry = settings_of(current_config()), REGISTRY.current()
        try:
            built, entry = self._build_entry(values)
        except EntryPostponed as postponed:
            self._postponed = postponed.guards or self._postponed
            return self._get_native_entry()
        seconds = time.perf_counter() - began
        record = record_entry(self._state.history, built, entry, self.names, seconds)
        if built.refusal is not None:
            return entry
        self._add(entry, built)
        # one that runs natively has no guards: it would serve every call of every function (ADR 0022)
        if entry.code is not None and not built.runs_natively:
            skipped, promised = self.policy.unspecialized(), self.policy.promised
            shared = SharedEntry(built, entry.code, record, settings, registry, skipped, promised)
            # held here, since the shared cache refers to it weakly
            self._shared.append(shared)
            self._state.shared.add(self._cache, shared)
        LISTENER.listen()
        return entry

    def _add(self, entry: Entry, built: BuiltEntry) -> None:
        """Keep an entry, made here or shared, and decide anew which loops run natively."""
        warn_of_ignored()
        self.dispatcher.add(entry)
        continuations = self._continuations()
        if continuations is not None and not self._state.options.fullgraph:
            continuations.run_idle_loops_natively(self, EntryEnd.of(built))

    def prefer_native(self, prefers: bool) -> None:
        """Run the frames natively in every second phase of calls, or no more."""
        if prefers is not self.dispatcher.has_preferred:
            self.dispatcher.prefer(self._get_native_entry() if prefers else None)

    def _find_shared_entry(self, scope: Scope) -> Entry | None:
        """An entry of another function of the same code that serves this call, from now on kept here as well."""
        settings, registry = settings_of(current_config()), REGISTRY.current()
        skipped = self.policy.unspecialized()
        for shared in self._cache.others(self._shared):
            if shared.serves(scope, settings, registry, skipped):
                entry = self._binder.bind(
                    shared.built.text, self.start.own, shared.built.refusal, shared.code
                )
                self._add(entry, shared.built)
                self._shared.append(shared)
                record_shared(self._state.history, shared.built, self.names, shared.record)
                LISTENER.listen()
                return entry
        return None

    def _make_builder(self, policy: TracePolicy) -> EntryBuilder:
        start, options, skips = self.start, self._state.options, self._postponed is None
        return EntryBuilder(start, options, policy, self._on_break, self._numbers, skips)

    def _on_break(self, reason: GraphBreak, stack: tuple[UserLocation, ...], strict: bool) -> Refusal | None:
        # first, since `on_break` would make an error of it
        self._state.postpone(reason)
        return self._state.on_break(reason, stack, strict)

    def _build_entry(self, values: Sequence[object]) -> tuple[BuiltEntry, Entry]:
        """Make an entry; a bug of ours makes the function run natively and is reported with the user's line."""
        settings = current_config()
        try:
            built = build_in_agreement(self._make_builder(self.policy), values)
            return built, self._binder.bind(built.text, self.start.own, built.refusal)
        except DynamicSizeFixed as error:
            raise self.names.rename(error) from None
        except (FramesmithError, EntryPostponed):
            raise
        except BackendFailed as error:
            if not settings.suppress_errors or self._state.options.fullgraph:
                raise
            warn(f"{error}; {self.start.code.co_qualname} runs uncompiled", BackendFailedWarning)
            return self._build_uncompiled(error, BACKEND_LIMIT)
        except Exception as error:
            # the user asked for one graph or an error: running uncompiled would hide that there is none
            if settings.raise_bugs or self._state.options.fullgraph or is_of_signal_handler(error):
                raise
            report_bug(error, self.start.code)
            return self._build_uncompiled(error, INTERNAL_ERROR)

    def _build_uncompiled(self, error: Exception, kind: BreakKind) -> tuple[BuiltEntry, Entry]:
        """An entry that runs the function as it is, with the error as its reason."""
        reason = GraphBreak(kind, f"{type(error).__name__}: {error}")
        built = build_native_entry(self.start, reason, UserLocation.of(self.start.code), ())
        return built, self._binder.bind(built.text, self.start.own)

    def _get_partial(self, recovery: Recovery, step: int, values: Sequence[object]) -> PartialEntry | None:
        """The entry that stops before a step of the trace of another one, made once (ADR 0015)."""
        with self._state.lock, without_frame_hook():
            made = self._partial_entries.setdefault(recovery, {})
            if step not in made:
                built = self._make_builder(recovery.policy).build_partial(values, step, recovery.manner)
                made[step] = None if built is None else self._binder.bind_partial(built, self.start.own)
            return made[step]

    # -- entries that forward a call ---------------------------------------------------------------
    def _make_forwarding_entry(self, ending: Callable[[EntryWriter], EntryEnding]) -> Entry:
        writer = EntryWriter(self.start.code.co_firstlineno)
        return self._binder.bind(build_forwarding_entry(self.start, writer, ending(writer)), self.start.own)

    def _get_native_entry(self) -> Entry:
        """An entry, made once, that runs the function or continuation as it is."""
        if self._native is None:
            self._native = self._make_forwarding_entry(self.start.write_native_ending)
        return self._native

    def _make_current_call_entry(self) -> Entry:
        """An entry that calls the function which was put where the compiled one was."""
        assert isinstance(self.start, FunctionStart)
        return self._make_forwarding_entry(self.start.write_current_call)

    def _make_entry_with_backend(self, backend: str | Backend, session: OwnedSession) -> Entry:
        """An entry that calls the function compiled with another backend, which has a session of its own."""
        start, function = self.start, session.with_backend(backend)
        assert isinstance(start, FunctionStart)
        return self._make_forwarding_entry(lambda writer: start.write_call(writer, function))
