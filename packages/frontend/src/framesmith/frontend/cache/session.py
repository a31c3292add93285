"""What belongs to one compiled function: its compiled units, what they share, and what was said to `compile`.

Everything here belongs to the compiled function and dies with it, at once: the function owns its own unit and with it
the session, the session owns the continuations, and nothing refers back but weakly (ADR 0014). How a call finds its
entry: `generated.dispatcher`; how one is made: `cache.unit`.
"""

import threading
import weakref
from dataclasses import replace
from types import FunctionType
from typing import Final, final

from framesmith.frontend import events
from framesmith.frontend.cache.method_definition import MethodDefinition
from framesmith.frontend.cache.session_state import SessionState
from framesmith.frontend.cache.shared_entries import CACHES
from framesmith.frontend.cache.trace_start import COPIED_ATTRIBUTES, FunctionStart
from framesmith.frontend.cache.unit import CompiledUnit, Continuations
from framesmith.frontend.generated.dispatcher import Signature
from framesmith.frontend.options import CompileOptions
from framesmith.frontend.stances import LIVE_SESSIONS
from framesmith.frontend.torch_settings import warn_once
from framesmith.graph.options import Backend

SESSION_ATTRIBUTE: Final = "__framesmith_session__"


@final
class Session:
    """One compiled function: its own unit and every continuation that its breaks led to."""

    def __init__(
        self,
        function: FunctionType,
        options: CompileOptions,
        *,
        is_forced: bool = False,
        definition: MethodDefinition | None = None,
    ) -> None:
        self.function = function
        self.definition = definition
        # weak: the compiled function owns this session (ADR 0014)
        self.compiled: weakref.ReferenceType[FunctionType] | None = None
        self.original = function  # what `uncompile` gives back
        self.inherited = False  # whether the compiled class had inherited the function
        # to be compared by identity later: `==` on defaults would run code of the user
        self._copied = [getattr(function, name) for name in COPIED_ATTRIBUTES]
        shared = CACHES.of(function, definition, options)
        self._state = SessionState(options, is_forced=is_forced, definition=definition, shared=shared)
        self._continuations = Continuations(self._state)
        # weak: the compiled function owns its unit, as what its dispatcher calls on a miss
        self._root: weakref.ReferenceType[CompiledUnit] | None = None
        self._others: dict[str | int, FunctionType] = {}  # by backend
        # here, so that no session is left out: those of `_others` have locks too
        LIVE_SESSIONS.add(self)

    @property
    def options(self) -> CompileOptions:
        """What `compile` was told."""
        return self._state.options

    def is_of(self, function: object) -> bool:
        """Whether this is the compiled function that the session was made for."""
        return self.compiled is not None and self.compiled() is function

    @property
    def history(self) -> events.History:
        """What happened since the session began, or was reset."""
        return self._state.history

    def make_function(self, *, is_owned: bool = False) -> FunctionType:
        """The compiled function, which owns this session. `is_owned`: its first argument holds it (see `Signature`)."""
        signature = Signature.of_function(self.function.__code__)
        signature = signature.with_owner() if is_owned else signature
        start = FunctionStart(self.function, self.definition)
        root = CompiledUnit(self._state, self._continuations, start, signature, self)
        self._root = weakref.ref(root)
        return root.make_function()

    def follow_defaults(self) -> None:
        """Copy the original's defaults to the compiled function if they were replaced, and warn (ADR 0013).

        The call that runs now was made with the former ones.
        """
        compiled = None if self.compiled is None else self.compiled()
        for index, name in enumerate(COPIED_ATTRIBUTES):
            now = getattr(self.function, name)
            if now is not self._copied[index] and compiled is not None:
                warn_once(
                    f"{name} of {self.function.__qualname__}",
                    f"{name} of {self.function.__qualname__} was replaced after compile(): a compiled function has its own, which "
                    "the next call takes over; this call was made with the former ones",
                )
                setattr(compiled, name, now)
                self._copied[index] = now
                for unit in self.units():
                    unit.copy_defaults()

    def with_backend(self, backend: str | Backend) -> FunctionType:
        """The same function compiled with another backend (a stance asks for it), made once."""
        with self._state.lock:
            # the session that is kept below holds the backend, so no other one gets its id
            key = backend if isinstance(backend, str) else id(backend)
            if key not in self._others:
                # forced: under the same stance its unit would forward the call to itself without end. No definition:
                # the unit that forwards has asked already whether the method is still what was compiled.
                session = Session(self.function, replace(self.options, backend=backend), is_forced=True)
                self._others[key] = session.make_function()
            return self._others[key]

    def units(self) -> list[CompiledUnit]:
        """The compiled units: that of the function itself, and those of all continuations."""
        root = None if self._root is None else self._root()
        own = [] if root is None else [root]
        return [*own, *self._continuations.units()]

    def renew_locks(self) -> None:
        """In a forked child: replace the locks, since the threads that held them do not exist here.

        Entries and tables change in single steps, so nothing that such a thread was doing is left half done.
        """
        self._state.shared.lock = threading.RLock()
        for unit in self.units():
            unit.dispatcher.lock = threading.RLock()

    def reset(self) -> None:
        """Forget every entry and continuation."""
        with self._state.lock:
            self._state.shared.clear()
            self._state.reset()
            # after the tables: each unit takes its cache and its policy from them anew
            for unit in self.units():
                unit.reset()
            # last, since `units` lists them
            self._continuations.clear()
            self._others.clear()
