"""`explain`: what was captured, where it broke and why, under which guards. As data, and as text.

What it shows was recorded by `events`.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from types import FunctionType, MethodType
from typing import Any, Final, cast, final

import torch

from framesmith.frontend import api
from framesmith.frontend.argument_checks import (
    COMPILE_OPTIONS,
    check_callable,
    make_argument_error,
    refuse_options,
)
from framesmith.frontend.cache.session import Session
from framesmith.frontend.disabled import is_disabled
from framesmith.frontend.events import MOST_GUARDS, BreakRecord, EntryRecord, collapse_repeats
from framesmith.frontend.options import CompileOptions, config
from framesmith.guards.class_lookup import static_lookup
from framesmith.guards.words import write_count


@final
@dataclass(frozen=True, slots=True)
class Explanation:
    """The answer of `explain`. `graphs` are the captured modules in the order of their making."""

    graphs: tuple[torch.fx.GraphModule, ...]
    breaks: tuple[BreakRecord, ...]
    guards: tuple[str, ...]
    operators: int
    recompiles: tuple[str, ...]
    notes: tuple[str, ...]
    trace_seconds: float
    entries: tuple[EntryRecord, ...] = ()

    @property
    def graph_count(self) -> int:
        """How many graphs were captured."""
        return len(self.graphs)

    @property
    def break_count(self) -> int:
        """How many graph breaks there were; those of one kind in one line count once."""
        return len(self.breaks)

    def text(self, most_guards: int | None = MOST_GUARDS) -> str:
        """The answer as text, with at most `most_guards` guards of each entry, or all of them for None."""
        captured = f"{write_count(len(self.graphs), 'graph')} with {write_count(self.operators, 'operator')}"
        total = f" in {len(self.entries)} entries" if self.recompiles else ""
        lines = [
            f"{captured}, {write_count(len(self.breaks), 'graph break')}, {write_count(len(self.guards), 'guard')}{total}"
        ]
        if not self.entries and not self.breaks and not self.notes:
            lines.append(_DISABLED if config.disable else _NOTHING)
        lines += [record.block(number) for number, record in enumerate(self.breaks, 1)]
        if self.recompiles:
            lines += ["recompiled because:", *(f"  {reason}" for reason in collapse_repeats(self.recompiles))]
        lines += [*self.notes]
        known: dict[str, frozenset[str]] = {}
        for number, entry in enumerate(self.entries, 1):
            guards = frozenset(entry.guards)
            lines.append(entry.block(number, known.get(entry.title(), frozenset()), most_guards))
            known[entry.title()] = known.get(entry.title(), frozenset()) | guards
        return "\n".join(line for line in lines if line)

    def __str__(self) -> str:
        """The answer as text, without most guards of a large model."""
        return self.text()


_NOTHING: Final = (
    "nothing was compiled so far, which a call does, unless a stance forbids it: call the function, "
    "or pass arguments: explain(function)(*args)"
)
_DISABLED: Final = (
    "nothing was compiled, since config.disable is on: the program has set it, or TORCH_COMPILE_DISABLE or TORCHDYNAMO_DISABLE is in the "
    "environment"
)
_OF_CLASS: Final = ", whose call makes an instance"
_HINT: Final = (
    "explain() runs a function with an eager backend and the default options: leave it out, or pass that to compile(), call "
    "what that returns, and then explain(compiled)() without arguments"
)


def explain(model: Callable[..., object], *extra_args: object, **extra_kwargs: object) -> Any:
    """What compiling `model` captures. `explain(fn)(*args)` runs it once, with all its effects, with an eager backend, and reports.

    Other backends may break the graph in more places: `explain(compiled)(*args)` runs something that `compile` returned with its own
    backend and options, and `explain(compiled)()` without arguments reports what it has done so far. Further arguments are those of
    the call: `explain(fn, *args)`.
    Raises InvalidArgument for what cannot be called or has no Python code, and for options of `compile`.
    """
    check_callable("explain()", model)
    refuse_options("explain()", model, extra_kwargs, COMPILE_OPTIONS, _HINT)
    if extra_args or extra_kwargs:
        return explain(model)(*extra_args, **extra_kwargs)

    def run(*args: object, **kwargs: object) -> Explanation:
        session = _find_session(model)
        if session is not None and not args and not kwargs:
            return explanation_of([session])
        options = _options_of(session)
        if isinstance(
            model, type
        ):  # its call makes an instance, and what compile() takes is the call of that
            raise make_argument_error("explain()", model, "an instance", hint=_OF_CLASS)
        if isinstance(model, torch.nn.Module):
            # not in place: the module stays uncompiled for all others
            compiled = api.make_compiled_call(type(model), options)
            args = (model, *args)
        else:
            compiled = cast("FunctionType", api.compile_object(model, options))
        own = api.session_of(compiled)
        if own is None:
            hint = "is disabled" if is_disabled(model) else "has no Python code to compile"
            raise make_argument_error(
                "explain()", model, "a function with Python code", hint=f", which {hint}"
            )
        compiled(*args, **kwargs)
        return explanation_of([own])

    return run


def _options_of(session: Session | None) -> CompileOptions:
    """An eager backend; for something that is compiled, its own options, since backends break graphs in places of their own. Breaks are
    reported where they would be errors."""
    if session is None:
        return CompileOptions("eager", shares_entries=False)
    own = session.options
    captures = own.fullgraph or own.captures_unknown
    return replace(own, fullgraph=False, captures_unknown=captures, shares_entries=False)


def _find_session(model: object) -> Session | None:
    """The session behind something that is compiled: itself, the module whose `forward` it is, or its class."""
    own = api.session_of(model)
    if own is not None:
        return own
    if isinstance(model, MethodType):
        holder = model.__self__
        is_forward = isinstance(holder, torch.nn.Module) and model.__func__.__name__ == "forward"
        return _find_session(holder) if is_forward else None
    cls = model if isinstance(model, type) else type(model)
    found = static_lookup(cls, "_call_impl" if issubclass(cls, torch.nn.Module) else "__call__")
    return api.session_of(found) if isinstance(found, FunctionType) else None


def explanation_of(sessions: Sequence[Session]) -> Explanation:
    """Put together what compiled functions went through."""
    histories = [session.history for session in sessions]
    entries = [entry for history in histories for entry in history.entries]
    graphs = tuple(entry.graph for entry in entries if isinstance(entry.graph, torch.fx.GraphModule))
    return Explanation(
        graphs,
        tuple(record for history in histories for record in history.breaks),
        tuple(guard for entry in entries for guard in entry.guards),
        sum(entry.operators for entry in entries),
        tuple(reason for history in histories for reason in history.recompiles),
        tuple(note for history in histories for note in history.notes),
        sum(entry.trace_seconds for entry in entries),
        tuple(entries),
    )
