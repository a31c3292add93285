"""What belongs to one compiled function: its dispatchers, continuations, policies and history.

Everything here belongs to the compiled function and dies with it, at once: the function owns the session and its own
dispatcher, the session owns the continuations, and nothing refers back but weakly (ADR 0014). Continuations may refer
to each other and to themselves (a loop): the session takes these cycles apart when it dies.
"""

import threading
import time
import weakref
from collections.abc import Callable, Sequence
from dataclasses import replace
from types import CodeType, FunctionType
from typing import Final, final

from framesmith.frontend import events
from framesmith.frontend.build_entry import (
    BuiltEntry,
    build_entry,
    build_prefix_entry,
    forwarding_entry,
    run_natively,
)
from framesmith.frontend.cache.frame_hooks import without_frame_hook
from framesmith.frontend.cache.origins import COPIED, ContinuationOrigin, Home, RootOrigin, alive
from framesmith.frontend.cache.recompile_limit import limit_text
from framesmith.frontend.cache.refusal import Refusal
from framesmith.frontend.cache.specialization import Learned, Policy, Sizes, sizes_of
from framesmith.frontend.cache.user_names import UserNames
from framesmith.frontend.errors import (
    BackendFailed,
    FramesmithError,
    RecompileError,
    RecompileLimitWarning,
    TracingBugWarning,
)
from framesmith.frontend.exits.emit import tail_call_text
from framesmith.frontend.generated.dispatcher import Dispatcher, Entry, Signature
from framesmith.frontend.generated.source_writer import EntryWriter
from framesmith.frontend.generated.tail_calls import run_tail_calls
from framesmith.frontend.hidden_frames import hidden
from framesmith.frontend.options import CompileOptions, Config, in_force
from framesmith.frontend.recovery import Prefix, Recovery
from framesmith.frontend.reports import report_bug, report_dynamic, report_entry
from framesmith.frontend.resuming.native import NativeContinuation
from framesmith.frontend.stances import LISTENER, Stance, current
from framesmith.frontend.torch_settings import warn_of_ignored, warn_once
from framesmith.frontend.tracing.resume_points import ResumePoint
from framesmith.frontend.user_warnings import warn
from framesmith.graph import GraphBreak
from framesmith.graph.break_kinds import INTERNAL_ERROR
from framesmith.graph.failures import GraphFailed, Unrecoverable
from framesmith.graph.options import Backend
from framesmith.guards import Failure, Scope, first_failure
from framesmith.variables.graph_nodes.results import OPERATION_RAISES
from framesmith.variables.objects.exception_chains import raise_unchained

SESSION_ATTRIBUTE: Final = "__framesmith_session__"


@final
class Session:
    """One compiled function: the root dispatcher and every continuation that its breaks led to."""

    def __init__(
        self,
        function: FunctionType,
        options: CompileOptions,
        *,
        is_forced: bool = False,
        home: Home | None = None,
    ) -> None:
        self.function = function
        self.home = home
        self.compiled: weakref.ReferenceType[FunctionType] | None = None
        self._copied = [getattr(function, name) for name in COPIED]
        self.original = function  # what `uncompile` gives back
        self.inherited = False  # whether the compiled class had inherited the function
        self.is_forced = is_forced  # made for a stance, which the session that made this one has read
        self.options = options
        self.history = events.History()
        self.lock = threading.RLock()
        self._known: dict[tuple[CodeType, ...], Learned] = {}
        self._root: weakref.ReferenceType[CompiledUnit] | None = None
        self._continuations: dict[tuple[ResumePoint, tuple[int, ...]], tuple[CompiledUnit, FunctionType]] = {}
        self._natives: dict[tuple[ResumePoint, tuple[int, ...]], NativeContinuation] = {}
        self._others: dict[str | int, FunctionType] = {}  # by backend
        self.refusal: Refusal | None = None  # for the entry that is being made

    def make_function(self, *, is_owned: bool = False) -> FunctionType:
        """The compiled function, which owns this session. `is_owned`: its first argument holds it (see `Signature`)."""
        signature = Signature.of_function(self.function.__code__)
        origin = RootOrigin(self.function, self.home)
        root = CompiledUnit(self, origin, signature.owned() if is_owned else signature)
        self._root = weakref.ref(root)
        return root.dispatcher.make_function(root.missed, origin.closure, recover=root.recover)

    def follow_defaults(self) -> None:
        """Copy the original's defaults to the compiled function if they were replaced, and warn (ADR 0013).

        The call that runs now was made with the former ones.
        """
        compiled = None if self.compiled is None else self.compiled()
        for index, name in enumerate(COPIED):
            now = getattr(self.function, name)
            if now is not self._copied[index] and compiled is not None:
                warn_once(
                    f"{name} of {self.function.__qualname__}",
                    f"{name} of {self.function.__qualname__} was replaced after compile(): a compiled function has its own, which "
                    "the next call takes over; this call was made with the former ones",
                )
                setattr(compiled, name, now)
                self._copied[index] = now

    def __del__(self) -> None:
        for place, _ in self.__dict__.get("_continuations", {}).values():
            place.dispatcher.clear()  # no call is running: it would hold the compiled function, and with it this session

    def policy(self, origin: "RootOrigin | ContinuationOrigin") -> Policy:
        """The specialization policy of a compiled unit. Continuations of the same frames share what they learn."""
        is_root = isinstance(origin, RootOrigin)
        # with fullgraph nothing is unspecialized: a break would be an error (ADR 0010)
        patience = 2 if origin.is_in_loop else max(in_force().recompile_limit // 2, 1)
        known = self._known.setdefault(origin.codes, Learned())
        return Policy(self.options.dynamic, None if self.options.fullgraph else patience, is_root, known)

    def continuation(self, point: ResumePoint, namespaces: list[dict[str, object]]) -> FunctionType:
        """The compiled function that continues at a resume point, made once."""
        key = (point, tuple(map(id, namespaces)))
        with self.lock:
            found = self._continuations.get(key)
            if found is None:
                origin = ContinuationOrigin(self, point, namespaces)
                place = CompiledUnit(self, origin, Signature.of_names(origin.code, point.names))
                found = self._continuations[key] = (
                    place,
                    place.dispatcher.make_function(place.missed, recover=place.recover),
                )
            return found[1]

    def native(self, point: ResumePoint, namespaces: list[dict[str, object]]) -> NativeContinuation:
        """The native form of a continuation, made once."""
        key = (point, tuple(map(id, namespaces)))
        with self.lock:
            if key not in self._natives:
                self._natives[key] = NativeContinuation(point, namespaces)
            return self._natives[key]

    def go_on(
        self,
        writer: EntryWriter,
        point: ResumePoint,
        namespaces: list[dict[str, object]],
        values: Sequence[str],
    ) -> str:
        """The tail call of a compiled continuation, as an expression for the entry to return."""
        if self.refusal is None:
            onward: Callable[..., object] = self.continuation(point, namespaces)
        else:
            onward = self.refusal.instead_of(self.native(point, namespaces), raises=point.raises)
        function = writer.constant(onward, "continuation")
        return tail_call_text(writer, function, values)

    def go_natively(
        self,
        writer: EntryWriter,
        point: ResumePoint,
        namespaces: list[dict[str, object]],
        values: Sequence[str],
    ) -> str:
        """The tail call of a native continuation, as an expression for the entry to return."""
        if self.refusal is not None:
            raise self.refusal.error()
        native = writer.constant(self.native(point, namespaces), "natively")
        return tail_call_text(writer, native, [f"[{', '.join(values)}]"])

    def renew_locks(self) -> None:
        """In a forked child: replace the locks, since the threads that held them do not exist here.

        Entries and tables change in single steps, so nothing that such a thread was doing is left half done.
        """
        self.lock = threading.RLock()
        for place in self.places():
            place.dispatcher.lock = threading.RLock()

    def with_backend(self, backend: str | Backend) -> FunctionType:
        """The same function compiled with another backend (a stance asks for it), made once."""
        with self.lock:
            key = backend if isinstance(backend, str) else id(backend)
            if key not in self._others:
                session = Session(self.function, replace(self.options, backend=backend), is_forced=True)
                self._others[key] = session.make_function()
            return self._others[key]

    def places(self) -> "list[CompiledUnit]":
        """The compiled units: that of the function itself, and those of all continuations."""
        root = None if self._root is None else self._root()
        own = [] if root is None else [root]
        return [*own, *(place for place, _ in self._continuations.values())]

    def reset(self) -> None:
        """Forget every entry and continuation."""
        with self.lock:
            self._known.clear()
            for place in self.places():
                place.reset()
            self._continuations.clear()
            self._natives.clear()
            self._others.clear()
            self.history = events.History()

    def on_break(self, reason: GraphBreak, stack: str, strict: bool) -> None:
        """Called at a graph break, before the entry is finished: raises FullGraphError where a break is an error.

        An operation that raises runs first, since its error is the user's (see `refusal`).
        """
        if not self.options.fullgraph and not strict:
            return
        self.refusal = Refusal(reason, stack)
        if reason.kind is not OPERATION_RAISES:
            raise self.refusal.error()

    def record(self, built: BuiltEntry, place: "CompiledUnit") -> None:
        """Add a new entry to the history and the counters, and report it and its graph break."""
        file, line, function = built.place
        module = built.graph.graph_module if built.graph is not None else None
        operators = 0
        if module is not None:
            operators = sum(node.op in ("call_function", "call_method") for node in module.graph.nodes)
            events.counters["stats"]["graphs"] += 1
            events.counters["stats"]["operators"] += operators
        events.counters["stats"]["entries"] += 1
        self.history.entries.append(
            events.EntryRecord(
                place.names.function,
                place.names.begins,
                line,
                operators,
                tuple(place.names.text(guard.text()) for guard in built.entry.guards),
                tuple(guard.reason.user_frame for guard in built.entry.guards),
                module,
                built.entry.source,
                built.seconds,
            )
        )
        report_entry(self.history.entries[-1])
        if built.reason is not None:
            self._record_break(built.reason, (file, line, function), built.stack)

    def _record_break(self, reason: GraphBreak, place: tuple[str, int, str], stack: str) -> None:
        file, line, function = place
        record = events.BreakRecord(reason.kind.id, reason.detail, str(reason), file, line, function, stack)
        if self.history.add_break(record):
            events.count_break(reason)
            events.log("graph_breaks", "%s:%d in %s: %s\n%s", file, line, function, reason, stack)


@final
class CompiledUnit:
    """A function or continuation with its dispatcher, which tries the entries; an entry is made here when none fits."""

    def __init__(
        self, session: Session, origin: "RootOrigin | ContinuationOrigin", signature: Signature
    ) -> None:
        self._is_root = isinstance(origin, RootOrigin)
        self._session = weakref.ref(session)
        self._owned = session if self._is_root else None
        self.origin = origin
        self.names = UserNames(origin, session.home)
        self.policy = session.policy(origin)
        self.dispatcher = Dispatcher(
            signature,
            origin.namespace,
            follows=self._is_root,
            asks=self._is_root and not session.is_forced,
        )
        self._native: Entry | None = None
        self._first: Sizes | None = None  # those of a call that ran eagerly before anything was compiled
        self._is_reported = False

    @property
    def session(self) -> Session:
        """The session, which the compiled function owns; a call of that is running, so it is alive (ADR 0014)."""
        return alive(self._session)

    def reset(self) -> None:
        """Forget the entries."""
        self.policy = self.session.policy(self.origin)
        self.dispatcher.clear()
        self._native = self._first = None
        self._is_reported = False

    @hidden
    def missed(self, *values: object) -> object:
        """The slow path, when no entry fits: make one for these values, keep it, run it."""
        scope = Scope(dict(zip(self.dispatcher.signature.names, values, strict=True)), self.origin.namespace)
        with self.session.lock, without_frame_hook():
            entry = self._entry_for(values, scope)
        if not self._is_root:
            return entry.function(*[source.read(scope) for source in entry.loads])
        # no name for what was read: this frame is there while `run_tail_calls` runs, and must not hold what the entry drops
        return run_tail_calls(entry.function(*[source.read(scope) for source in entry.loads]))

    @hidden
    def recover(self, failure: GraphFailed, *values: object) -> object:
        """The graph of an entry raised: do what the program did before, and run the operation that raised natively.

        Raises the exception of the graph where that cannot be done (ADR 0015).
        """
        recovery, error = failure.recovery, failure.error
        self._follow_original(values)
        failure.__traceback__ = failure.__context__ = None
        assert isinstance(recovery, Recovery)
        scope = Scope(dict(zip(self.dispatcher.signature.names, values, strict=True)), self.origin.namespace)
        recovery.failures.start.restore()  # torch's switches, as they were when the graph began
        found = recovery.failures.find(error, lambda: [source.read(scope) for source in recovery.inputs])
        prefix = None
        if found is not None:
            with self.session.lock, without_frame_hook():
                prefix = self._before(recovery, found.step, values)
        if found is None or prefix is None:
            raise_unchained(error)
        ran = found.began or recovery.failures.writes_between(prefix.step, found.number)
        if ran and not (prefix.replay.asks and prefix.step == found.step):
            raise_unchained(error)  # what has written or drawn already must not run a second time
        try:
            prefix.replay.give(found.known, error if ran else None)
            result = prefix.entry.function(*[source.read(scope) for source in prefix.entry.loads])
        except Unrecoverable:
            prefix = None
        if prefix is None:
            raise_unchained(error)
        return run_tail_calls(result) if self._is_root else result

    def _before(self, recovery: Recovery, step: int, values: Sequence[object]) -> Prefix | None:
        if step not in recovery.prefixes:
            options = replace(self.session.options, fullgraph=False)
            recovery.prefixes[step] = build_prefix_entry(
                self.origin, values, options, recovery, self.session, step
            )
        return recovery.prefixes[step]

    def _entry_for(self, values: Sequence[object], scope: Scope) -> Entry:
        if not self._follow_original(values):
            return self._as_found()
        settings, stance = in_force(), Stance() if self.session.is_forced else current()
        if settings.disable or stance.is_eager:
            return self._natively()
        if stance.backend is not None and self._is_root:
            return self._with_backend(stance.backend)
        entries = self.dispatcher.entries
        failures = list[Failure]()
        for entry in entries:
            failure = first_failure(entry.guards, scope)
            if failure is None:
                return entry
            failures.append(failure)
        if stance.name == "eager_on_recompile":
            return self._natively()
        stance.check_recompile(self.names.function, [self.names.text(failure.text) for failure in failures])
        if stance.first_call is not None and self._is_root and not entries and self._first is None:
            self._first = sizes_of(values)
            return self._natively() if stance.first_call == "eager" else self._with_backend(stance.first_call)
        if len(entries) >= settings.recompile_limit:
            self._report_limit(scope, settings)
            return self._natively()
        self._note_recompile(failures)
        before = self.policy.symbolic() if events.is_logged("dynamic") else None
        self.policy.learn([entry.guards for entry in entries], scope)
        if before is not None:
            new = [self.names.text(source) for source in self.policy.symbolic() if source not in before]
            report_dynamic(self.names.function, new)
        if entries and settings.error_on_recompile:
            recent = "\n  ".join(events.collapsed(self.session.history.recompiles[-len(entries) :]))
            count = "the entry does not fit" if len(entries) == 1 else f"none of {len(entries)} entries fits"
            raise RecompileError(f"{count} and config.error_on_recompile is set:\n  {recent}")
        return self._made(values)

    def _follow_original(self, values: Sequence[object]) -> bool:
        """Check if the original has other code or other defaults now. False where the new code is not compiled here."""
        origin = self.origin
        if not isinstance(origin, RootOrigin):
            return True
        self.session.follow_defaults()
        if origin.is_current(values[0] if values else None):
            return True
        self._native = None
        renewed = origin.renewed()
        if renewed is not None:
            self.origin, self.policy = renewed, self.session.policy(renewed)
            return True
        name = origin.code.co_qualname
        warn_once(
            f"code of {name}",
            f"{name} was replaced after compile(), by another function or by code with other parameters: calls run that "
            "uncompiled; compile again",
        )
        return False

    def _as_found(self) -> Entry:
        """An entry that calls the function which was put where the compiled one was."""
        origin = self.origin
        assert isinstance(origin, RootOrigin)
        writer = EntryWriter(origin.code.co_firstlineno)
        return forwarding_entry(origin, writer, origin.found_lines(writer))

    def _made(self, values: Sequence[object]) -> Entry:
        """Make an entry and keep it."""
        if self._first is not None:
            self.policy.compare(self.dispatcher.signature.names, self._first, sizes_of(values))
        warn_of_ignored()
        built = self._build(values)
        self.session.record(built, self)
        self.dispatcher.add(built.entry)
        LISTENER.listen()
        return built.entry

    def _build(self, values: Sequence[object]) -> BuiltEntry:
        """Make an entry; a bug of ours makes the function run natively and is reported with the user's line."""
        options, on_break, settings = self.session.options, self.session.on_break, in_force()
        self.session.refusal = None
        try:
            return build_entry(self.origin, values, options, self.policy, self.session, on_break=on_break)
        except FramesmithError:
            raise
        except BackendFailed as error:
            if not settings.suppress_errors:
                raise
            warn(f"{error}; {self.origin.code.co_qualname} runs uncompiled", TracingBugWarning)
            return self._uncompiled(error)
        except Exception as error:
            if settings.raise_bugs or options.fullgraph:
                raise
            report_bug(error, self.origin.code)
            return self._uncompiled(error)

    def _uncompiled(self, error: Exception) -> BuiltEntry:
        """An entry that runs the function as it is, with the error as its reason."""
        code = self.origin.code
        reason = GraphBreak(INTERNAL_ERROR, f"{type(error).__name__}: {error}")
        place = (code.co_filename, code.co_firstlineno, code.co_name)
        return run_natively(self.origin, reason, place, "", time.perf_counter())

    def _note_recompile(self, failures: Sequence[Failure]) -> None:
        name = self.names.function
        said = [(self.names.text(failure.text), failure.user_frame) for failure in failures]
        self.session.history.recompiles += [f"{name}: {events.read_at(text, place)}" for text, place in said]
        events.counters["stats"]["recompile_reasons"] += len(said)
        for text in events.collapsed(events.read_at(text, place) for text, place in said):
            events.log("recompiles", "%s: %s", name, text)

    def _natively(self) -> Entry:
        """An entry, made once, that runs the function or continuation as it is."""
        if self._native is None:
            writer = EntryWriter(self.origin.code.co_firstlineno)
            self._native = forwarding_entry(self.origin, writer, self.origin.native_lines(writer))
        return self._native

    def _with_backend(self, backend: str | Backend) -> Entry:
        """An entry that calls the function compiled with another backend, which has a session of its own."""
        origin = self.origin
        assert isinstance(origin, RootOrigin)
        function = self.session.with_backend(backend)
        writer = EntryWriter(origin.code.co_firstlineno)
        return forwarding_entry(origin, writer, origin.call_lines(writer, function))

    def _report_limit(self, scope: Scope, settings: Config) -> None:
        """Warn once in a session that the limit is reached; its history notes it once for each compiled unit.

        Raises RecompileError with `config.fail_on_recompile_limit_hit`.
        """
        if self._is_reported:
            return
        self._is_reported = True
        guards = [entry.guards for entry in self.dispatcher.entries]
        text = self.names.text(
            limit_text(self.names.function, self.names.code, guards, scope, settings.recompile_limit)
        )
        if settings.fail_on_recompile_limit_hit:
            self._is_reported = False
            raise RecompileError(f"config.fail_on_recompile_limit_hit is set: {text}")
        if not self.session.history.notes:
            warn(text, RecompileLimitWarning)
        self.session.history.notes.append(text)
        events.log("recompiles", "%s", text)
