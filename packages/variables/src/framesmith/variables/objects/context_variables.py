"""`contextvars.ContextVar`: what a context variable holds, `set` and `reset`, which are replayed after the graph (PEP 567).

token = scale.set(2)          after the graph: token = scale.set(2)
y = x * scale.get()           nothing: the trace knows the 2
scale.reset(token)            the variable is as it was, and neither is replayed
"""

import datetime
from collections.abc import Hashable, Iterator
from contextvars import ContextVar, Token
from typing import Final, final

from framesmith.graph import GraphBreak
from framesmith.graph.breaks.break_kinds import NATIVE_CALL
from framesmith.guards import Guard, Reason, Source
from framesmith.guards.kinds import AmbientValue, Identical
from framesmith.guards.sources import CallResult, Pinned
from framesmith.variables.core.base import TraceContext, Tracker, Writer
from framesmith.variables.core.builtin_methods import BoundBuiltin
from framesmith.variables.core.constant import Constant
from framesmith.variables.core.known_value import KnownValue
from framesmith.variables.core.rows import Rows

ROWS: Final = Rows()
_CAPSULE: Final = type(datetime.datetime_CAPI)
_METHODS: Final = {name: getattr(ContextVar, name) for name in ("get", "set", "reset")}
# None may be the value of a variable.
_UNSET: Final = object()
_ASKED: Final = Reason("the trace read a context variable")


def is_set(variable: ContextVar[object]) -> bool:
    """Whether the present context has a value of its own for the variable."""
    return variable.get(_UNSET) is not _UNSET


def read_value(variable: ContextVar[object]) -> object:
    """The value of the present context, else the default of the variable; LookupError without one."""
    return variable.get()


@final
class ContextVariableTracker(KnownValue[ContextVar[object]]):
    """An existing context variable. `sets` are the tokens of the values that the trace has set and not taken back, in order."""

    tells_changes = False

    def __init__(self, value: ContextVar[object], source: Source) -> None:
        super().__init__(value, source)
        self.sets: list[TokenTracker] = []

    def begin_attribute(self, tx: TraceContext, name: str) -> Tracker:
        """A method, or the name of the variable."""
        if name in _METHODS:
            return BoundBuiltin(self, _METHODS[name])
        return (
            Constant(self.value.name) if name == "name" else self.unsupported(f"reading attribute {name!r}")
        )

    def children(self) -> Iterator[Tracker]:
        """What was set."""
        return iter(self.sets)

    def hash_key(self, tx: TraceContext) -> Hashable:
        """Context variables hash by identity."""
        return ("object", self.value)

    def replay(self, writer: Writer) -> None:
        """Set the values again."""
        for token in self.sets:
            # The token's own text is the call of `set`: writing the value makes the change.
            writer.value(token)


@final
class TokenTracker(Tracker):
    """What `set` returned in the trace. Invariant: it is among the `sets` of its variable until `reset` has used it."""

    source = None

    def __init__(self, variable: ContextVariableTracker, value: Tracker) -> None:
        self.variable = variable
        self.value = value

    @property
    def python_type(self) -> type:
        """`contextvars.Token`."""
        return Token

    def children(self) -> Iterator[Tracker]:
        """The variable and the value."""
        return iter((self.variable, self.value))

    def truth(self, tx: TraceContext) -> bool:
        """A token is true."""
        return True

    def hash_key(self, tx: TraceContext) -> Hashable:
        """Tokens hash by identity."""
        return ("object", self)

    def reconstruct(self, writer: Writer) -> str:
        """`variable.set(value)`, after those that came before it. Breaks the graph for a token that was used."""
        sets = self.variable.sets
        if self not in sets:
            return self.unsupported("a token that was used, outside of the trace,")
        # Written first, since each real token remembers the value that was there before it.
        for earlier in sets[: sets.index(self)]:
            writer.value(earlier)
        assert self.variable.source is not None
        return f"{writer.load(self.variable.source)}.set({writer.value(self.value)})"


@ROWS.call(ContextVar.get)
def get(tx: TraceContext, self: Tracker, default: Tracker | None = None, /) -> Tracker:
    """`variable.get()`, `variable.get(default)`: guarded as any value that is read."""
    variable = _require_variable(self)
    if variable.sets:
        return variable.sets[-1].value
    assert variable.source is not None
    has_value = is_set(variable.value)
    # Where there is a value, reading it is guarded below; whether there is one decides about the default.
    if default is not None:
        claim = AmbientValue(is_set, (variable.value,), has_value)
        tx.guards.add(Guard.relation(claim, _ASKED))
        if not has_value:
            return default
    try:
        value = read_value(variable.value)
    except LookupError:
        return variable.unsupported("get() without a value and a default")
    return tx.wrap(value, CallResult(variable.source, read_value))


@ROWS.call(ContextVar.set)
def set_value(tx: TraceContext, self: Tracker, value: Tracker, /) -> Tracker:
    """`variable.set(value)`, replayed after the graph. Breaks the graph for a capsule, which C code reads unseen: numpy's functions,
    which the trace asks for their results, do what `numpy.errstate` has set."""
    variable = _require_variable(self)
    if value.python_type is _CAPSULE:
        raise GraphBreak(NATIVE_CALL, f"setting the context variable {variable.value.name!r} of C code")
    tx.changes.note(variable)
    variable.sets.append(TokenTracker(variable, value))
    return variable.sets[-1]


@ROWS.call(ContextVar.reset)
def reset(tx: TraceContext, self: Tracker, token: Tracker, /) -> Tracker:
    """`variable.reset(token)` of the value that was set last. Breaks the graph for other tokens, some of which CPython refuses."""
    variable, token = _require_variable(self), token.realize()
    if not variable.sets or variable.sets[-1] is not token:
        return variable.unsupported("reset() with a token that is not the last one")
    tx.changes.note(variable)
    variable.sets.pop()
    if not variable.sets:
        # The variable is as it was, so nothing has to be replayed; an export counts it as no side effect.
        tx.changes.forget(variable)
    return Constant(None)


def _require_variable(tracker: Tracker) -> ContextVariableTracker:
    tracker = tracker.realize()
    return (
        tracker
        if isinstance(tracker, ContextVariableTracker)
        else tracker.unsupported("a method of ContextVar")
    )


@ROWS.wrap(ContextVar)
def wrap_context_variable(tx: TraceContext, value: object, source: Source) -> Tracker:
    """An existing context variable, guarded by identity."""
    assert isinstance(value, ContextVar)
    if not isinstance(source, Pinned):
        tx.guard(source, Identical(value))
    return ContextVariableTracker(value, source)
