"""What connects the text of an entry with the continuations of a session, so that it can be called."""

import functools
import weakref
from collections.abc import Callable, Mapping
from dataclasses import replace
from types import CellType
from typing import Protocol, final

from framesmith.frontend.build_entry import BuiltPartialEntry
from framesmith.frontend.exits.ending import ResumeTarget
from framesmith.frontend.generated.entry import Entry, EntryCode, EntryText
from framesmith.frontend.hidden_frames import hidden
from framesmith.frontend.recovery import PartialEntry
from framesmith.frontend.refusal import Refusal
from framesmith.frontend.resuming.native import NativeContinuation
from framesmith.guards.sources import Own


class ContinuationOwner(Protocol):
    """Where the functions are made in which entries go on; the compiled function owns it (ADR 0014)."""

    def function_at(self, target: ResumeTarget) -> Callable[..., object]:
        """The function in which an entry goes on."""
        ...


@final
class EntryBinder:
    """Binds the texts of entries to the continuations of one session, which it holds weakly: entries must not keep them alive."""

    def __init__(self, continuations: ContinuationOwner, *, ends_natively: bool) -> None:
        """`ends_natively`: what follows an operation that raised is not compiled (`fullgraph`)."""
        self._continuations = weakref.ref(continuations)
        self._ends_natively = ends_natively

    def _owner(self) -> ContinuationOwner:
        owner = self._continuations()
        # the compiled function owns them, and a call of it is running (ADR 0014)
        assert owner is not None, "a continuation runs although the compiled function is gone"
        return owner

    def bind(
        self,
        text: EntryText[ResumeTarget],
        own: Mapping[Own, CellType] | None,
        refusal: Refusal | None = None,
        code: EntryCode | None = None,
    ) -> Entry:
        """The entry of a text, which goes on in the continuations of the session, or refuses to go on.

        `own`: the cells of the function, by the source that names each; `code`: that of the same text, compiled before.
        """
        owner = self._owner()
        if refusal is None:
            return text.bind(owner.function_at, code, own)

        # the native form, whatever the target says: only real frames have `finally` and `with` blocks that run
        def refuse(target: ResumeTarget) -> Callable[..., object]:
            if target.is_native:
                return refusal.make_native_function(_native_at(owner, target))
            return refusal.make_function(_native_at(owner, target), raises=target.point.raises)

        return text.bind(refuse, code, own)

    def bind_partial(self, built: BuiltPartialEntry, own: Mapping[Own, CellType] | None) -> PartialEntry:
        """The entry that stops at an operation that raised. With `fullgraph` what follows runs natively: the one
        graph did not do for this call, and a break in a handler or a message must not hide the program's own error."""
        owner = self._owner()

        def run_natively(target: ResumeTarget) -> Callable[..., object]:
            if target.is_native:
                return owner.function_at(target)
            return functools.partial(_run_natively, _native_at(owner, target))

        follow = run_natively if self._ends_natively else owner.function_at
        # no code of an earlier binding: what was traced for a failing call is not shared with other functions
        return PartialEntry(built.text.bind(follow, None, own), built.step, built.replay)


def _native_at(owner: ContinuationOwner, target: ResumeTarget) -> NativeContinuation:
    native = owner.function_at(replace(target, is_native=True))
    # `is_native` decides what `function_at` gives
    assert isinstance(native, NativeContinuation)
    return native


@hidden
def _run_natively(native: Callable[[list[object]], object], *values: object) -> object:
    """Call a native continuation, which takes a list, with the values of a compiled one."""
    return native([*values])
