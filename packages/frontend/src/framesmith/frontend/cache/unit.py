"""A compiled unit: a function or continuation with its dispatcher, and what makes an entry when none fits.

    missed(values)   no entry fits: `_entry_for` asks why, the policy learns, an entry is built, bound, kept and run
    recover(...)     the graph of an entry raised (ADR 0015)

Units and continuations need each other: an entry of a unit goes on in continuations, each of which is a unit.
"""

import time
import weakref
from collections.abc import Callable, Sequence
from dataclasses import replace
from types import FunctionType
from typing import Protocol, final

from framesmith.frontend import events
from framesmith.frontend.build_entry import BuiltEntry, EntryBuilder, forwarding_entry, run_natively
from framesmith.frontend.cache.frame_hooks import without_frame_hook
from framesmith.frontend.cache.origins import ContinuationOrigin, RootOrigin
from framesmith.frontend.cache.recompile_limit import limit_text
from framesmith.frontend.cache.records import record_entry, record_recompiles
from framesmith.frontend.cache.session_state import SessionState
from framesmith.frontend.cache.specialization import Sizes, sizes_of
from framesmith.frontend.cache.user_names import UserNames
from framesmith.frontend.errors import (
    BackendFailed,
    FramesmithError,
    RecompileError,
    RecompileLimitWarning,
    TracingBugWarning,
)
from framesmith.frontend.exits.ending import EntryEnding, ResumeTarget
from framesmith.frontend.generated.dispatcher import Dispatcher, Signature
from framesmith.frontend.generated.entry import Entry, EntryText
from framesmith.frontend.generated.source_writer import EntryWriter
from framesmith.frontend.generated.tail_calls import run_tail_calls
from framesmith.frontend.hidden_frames import hidden
from framesmith.frontend.options import Config, TracePolicy, in_force
from framesmith.frontend.recovery import Prefix, Recovery
from framesmith.frontend.refusal import Refusal
from framesmith.frontend.reports import report_bug, report_dynamic
from framesmith.frontend.resuming.native import NativeContinuation
from framesmith.frontend.stances import LISTENER, Stance, current
from framesmith.frontend.torch_settings import warn_of_ignored, warn_once
from framesmith.frontend.user_lines import UserLocation
from framesmith.frontend.user_warnings import warn
from framesmith.graph import GraphBreak, TraceNumbers
from framesmith.graph.break_kinds import INTERNAL_ERROR
from framesmith.graph.failures import GraphFailed
from framesmith.graph.options import Backend
from framesmith.guards import Failure, Scope, first_failure


class Owned(Protocol):
    """What the unit of the function itself asks the session for, which it owns (ADR 0014)."""

    def follow_defaults(self) -> None:
        """Take over defaults that were replaced."""
        ...

    def with_backend(self, backend: str | Backend) -> FunctionType:
        """The same function compiled with another backend."""
        ...


@final
class Continuations:
    """The continuations of one session, compiled and native, each made when the first entry leads to it.

    Continuations may refer to each other and to themselves (a loop): these cycles are taken apart at the end.
    """

    def __init__(self, state: SessionState) -> None:
        self._state = state
        self._compiled: dict[ResumeTarget, tuple[CompiledUnit, FunctionType]] = {}
        self._natives: dict[ResumeTarget, NativeContinuation] = {}

    def __del__(self) -> None:
        for unit in self.units():
            unit.dispatcher.clear()  # no call is running: it would hold the compiled function, and with it this

    def function_at(self, target: ResumeTarget) -> Callable[..., object]:
        """The function in which an entry goes on."""
        with self._state.lock:
            return self._native(target) if target.is_native else self._function(target)

    def _native(self, target: ResumeTarget) -> NativeContinuation:
        if target not in self._natives:
            self._natives[target] = NativeContinuation(target.point, target.namespaces)
        return self._natives[target]

    def _function(self, target: ResumeTarget) -> FunctionType:
        if target not in self._compiled:
            origin = ContinuationOrigin(target)
            signature = Signature.of_names(origin.code, target.point.names)
            unit = CompiledUnit(self._state, self, origin, signature)
            self._compiled[target] = unit, unit.make_function()
        return self._compiled[target][1]

    def units(self) -> "list[CompiledUnit]":
        """The compiled ones."""
        return [unit for unit, _ in self._compiled.values()]

    def clear(self) -> None:
        """Forget all of them."""
        self._compiled.clear()
        self._natives.clear()


@final
class CompiledUnit:
    """A function or continuation with its dispatcher, which tries the entries; an entry is made here when none fits.

    `owned`: the session, for the unit of the function itself; that of a continuation has none.
    """

    def __init__(
        self,
        state: SessionState,
        continuations: Continuations,
        origin: RootOrigin | ContinuationOrigin,
        signature: Signature,
        owned: Owned | None = None,
    ) -> None:
        self._state = state
        self._continuations = weakref.ref(continuations)
        self._owned = owned
        self.origin = origin
        self.names = UserNames(origin, state.home)
        self.policy = state.policy(origin)
        self.dispatcher = Dispatcher(
            signature,
            origin.namespace,
            follows=owned is not None,
            asks=owned is not None and not state.is_forced,
        )
        self._numbers = TraceNumbers()
        self._native: Entry | None = None
        self._first: Sizes | None = None  # those of a call that ran eagerly before anything was compiled
        self._is_reported = False

    def make_function(self) -> FunctionType:
        """The function that tries the entries, which the caller keeps: it owns this unit."""
        closure = self.origin.closure if isinstance(self.origin, RootOrigin) else None
        return self.dispatcher.make_function(self.missed, closure, recover=self.recover)

    def reset(self) -> None:
        """Forget the entries."""
        self.policy = self._state.policy(self.origin)
        self.dispatcher.clear()
        self._native = self._first = None
        self._is_reported = False

    # -- what the dispatcher calls -----------------------------------------------------------------
    @hidden
    def missed(self, *values: object) -> object:
        """The slow path, when no entry fits: make one for these values, keep it, run it."""
        scope = self._scope(values)
        with self._state.lock, without_frame_hook():
            entry = self._entry_for(values, scope)
        if self._owned is None:
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
        result = recovery.resume(
            error, self._scope(values), lambda step: self._prefix_of(recovery, step, values)
        )
        return result if self._owned is None else run_tail_calls(result)

    def _scope(self, values: Sequence[object]) -> Scope:
        return Scope(dict(zip(self.dispatcher.signature.names, values, strict=True)), self.origin.namespace)

    # -- which entry serves a call -----------------------------------------------------------------
    def _entry_for(self, values: Sequence[object], scope: Scope) -> Entry:
        if not self._follow_original(values):
            return self._as_found()
        settings, stance = in_force(), Stance() if self._state.is_forced else current()
        if settings.disable or stance.is_eager:
            return self._natively()
        if stance.backend is not None and self._owned is not None:
            return self._with_backend(stance.backend, self._owned)
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
        if stance.first_call is not None and self._owned is not None and not entries and self._first is None:
            self._first = sizes_of(values)
            is_eager = stance.first_call == "eager"
            return self._natively() if is_eager else self._with_backend(stance.first_call, self._owned)
        if len(entries) >= settings.recompile_limit:
            self._report_limit(scope, settings)
            return self._natively()
        record_recompiles(self._state.history, self.names, failures)
        self._learn(entries, scope)
        if entries and settings.error_on_recompile:
            recent = "\n  ".join(events.collapsed(self._state.history.recompiles[-len(entries) :]))
            count = "the entry does not fit" if len(entries) == 1 else f"none of {len(entries)} entries fits"
            raise RecompileError(f"{count} and config.error_on_recompile is set:\n  {recent}")
        return self._made(values)

    def _learn(self, entries: Sequence[Entry], scope: Scope) -> None:
        """Let the policy learn from why no entry fits, and log what is symbolic from now on."""
        before = self.policy.symbolic() if events.is_logged("dynamic") else None
        self.policy.learn([entry.guards for entry in entries], scope)
        if before is not None:
            new = [self.names.text(source) for source in self.policy.symbolic() if source not in before]
            report_dynamic(self.names.function, new)

    def _follow_original(self, values: Sequence[object]) -> bool:
        """Check if the original has other code or other defaults now. False where the new code is not compiled here."""
        origin = self.origin
        if self._owned is None or not isinstance(origin, RootOrigin):
            return True
        self._owned.follow_defaults()
        if origin.is_current(values[0] if values else None):
            return True
        self._native = None
        renewed = origin.renewed()
        if renewed is not None:
            self.origin, self.policy = renewed, self._state.policy(renewed)
            return True
        name = origin.code.co_qualname
        warn_once(
            f"code of {name}",
            f"{name} was replaced after compile(), by another function or by code with other parameters: calls run that "
            "uncompiled; compile again",
        )
        return False

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
        if not self._state.history.notes:
            warn(text, RecompileLimitWarning)
        self._state.history.notes.append(text)
        events.log("recompiles", "%s", text)

    # -- making entries ----------------------------------------------------------------------------
    def _made(self, values: Sequence[object]) -> Entry:
        """Make an entry and keep it."""
        if self._first is not None:
            self.policy.compare(self.dispatcher.signature.names, self._first, sizes_of(values))
        warn_of_ignored()
        began = time.perf_counter()
        built, entry = self._build(values)
        seconds = time.perf_counter() - began
        record_entry(self._state.history, built, entry, self.names, seconds)
        self.dispatcher.add(entry)
        LISTENER.listen()
        return entry

    def _bound(self, text: EntryText[ResumeTarget], refusal: Refusal | None = None) -> Entry:
        """The entry of a text, which goes on in the continuations of this session, or refuses to go on."""
        continuations = self._continuations()
        # the compiled function owns them, and a call of it is running (ADR 0014)
        assert continuations is not None, "a continuation runs although the compiled function is gone"
        if refusal is None:
            return text.bind(continuations.function_at)

        def refuse(target: ResumeTarget) -> Callable[..., object]:
            native = continuations.function_at(replace(target, is_native=True))
            return refusal.instead_of(native, raises=target.point.raises)

        return text.bind(refuse)

    def _builder(self, policy: TracePolicy) -> EntryBuilder:
        return EntryBuilder(self.origin, self._state.options, policy, self._state.on_break, self._numbers)

    def _build(self, values: Sequence[object]) -> tuple[BuiltEntry, Entry]:
        """Make an entry; a bug of ours makes the function run natively and is reported with the user's line."""
        settings = in_force()
        try:
            built = self._builder(self.policy).build(values)
            return built, self._bound(built.text, built.refusal)
        except FramesmithError:
            raise
        except BackendFailed as error:
            if not settings.suppress_errors:
                raise
            warn(f"{error}; {self.origin.code.co_qualname} runs uncompiled", TracingBugWarning)
            return self._uncompiled(error)
        except Exception as error:
            if settings.raise_bugs or self._state.options.fullgraph:
                raise
            report_bug(error, self.origin.code)
            return self._uncompiled(error)

    def _uncompiled(self, error: Exception) -> tuple[BuiltEntry, Entry]:
        """An entry that runs the function as it is, with the error as its reason."""
        reason = GraphBreak(INTERNAL_ERROR, f"{type(error).__name__}: {error}")
        built = run_natively(self.origin, reason, UserLocation.of(self.origin.code), ())
        return built, self._bound(built.text)

    def _prefix_of(self, recovery: Recovery, step: int, values: Sequence[object]) -> Prefix | None:
        """The entry that stops before a step of the trace of another one, made once (ADR 0015)."""
        with self._state.lock, without_frame_hook():
            if step not in recovery.prefixes:
                built = self._builder(recovery.policy).build_prefix(values, step)
                recovery.prefixes[step] = (
                    None if built is None else Prefix(self._bound(built.text), built.step, built.replay)
                )
            return recovery.prefixes[step]

    # -- entries that forward a call ---------------------------------------------------------------
    def _forwarding(self, ending: Callable[[EntryWriter], EntryEnding]) -> Entry:
        writer = EntryWriter(self.origin.code.co_firstlineno)
        return self._bound(forwarding_entry(self.origin, writer, ending(writer)))

    def _natively(self) -> Entry:
        """An entry, made once, that runs the function or continuation as it is."""
        if self._native is None:
            self._native = self._forwarding(self.origin.native_ending)
        return self._native

    def _as_found(self) -> Entry:
        """An entry that calls the function which was put where the compiled one was."""
        assert isinstance(self.origin, RootOrigin)
        return self._forwarding(self.origin.calling_found)

    def _with_backend(self, backend: str | Backend, owned: Owned) -> Entry:
        """An entry that calls the function compiled with another backend, which has a session of its own."""
        origin, function = self.origin, owned.with_backend(backend)
        assert isinstance(origin, RootOrigin)
        return self._forwarding(lambda writer: origin.calling(writer, function))
