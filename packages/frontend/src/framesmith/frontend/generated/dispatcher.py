"""The function that a user calls: it tries the entries, then takes the slow path.

`Dispatcher.make_function` makes a plain Python function that never changes; adding an entry exchanges one cell after the other,
each of which is atomic. Entries are immutable. The newest one is tried first, until an older one has served a few calls.
"""

import inspect
import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from types import CellType, CodeType, FunctionType
from typing import Final, Protocol, TypeAlias, final
from weakref import WeakValueDictionary

from framesmith.frontend.generated.alternation import AlternatingRuns
from framesmith.frontend.generated.entry import Entry
from framesmith.frontend.generated.functions import (
    Identity,
    Template,
    bind_families,
    generate_code,
    generate_template,
    spelling,
)
from framesmith.frontend.generated.tail_calls import run_tail_calls, strip_our_frames
from framesmith.frontend.generated.verification import check_guards
from framesmith.frontend.stances import PROBE
from framesmith.graph.running.failures import GraphFailed
from framesmith.guards import MISSES, compile_guards
from framesmith.guards.names import PREFIX, Constants

GuardedEntry: TypeAlias = Callable[..., object]
"""Guards, then the entry; `ABSENT` where they do not hold."""


class Miss(Protocol):
    """The slow path: no entry fits."""

    def __call__(self, *values: object) -> object:
        """The result of the call; `values` are the local variables in the order of `Signature.names`."""
        ...


class Recover(Protocol):
    """The graph of an entry raised."""

    def __call__(self, failure: GraphFailed, *values: object) -> object:
        """The result of the call, which may be the exception that the program raises."""
        ...


@final
@dataclass(frozen=True, slots=True)
class Signature:
    """The parameters of a dispatcher, and the code object whose name and first line it takes.

    `is_owned`: the dispatcher's function is stored on its own first argument, so it holds that argument weakly; else the
    two would form a cycle.
    """

    code: CodeType
    names: tuple[str, ...]
    text: str
    freevars: tuple[str, ...] = ()
    is_owned: bool = False

    @property
    def spellings(self) -> dict[str, str]:
        """How generated text spells the parameters; `text` is written with these."""
        return {name: spelling(name) for name in self.names}

    @staticmethod
    def of_function(code: CodeType) -> "Signature":
        """The user's own signature."""
        names = code.co_varnames
        positional = list(names[: code.co_argcount])
        keyword_only = list(names[code.co_argcount : code.co_argcount + code.co_kwonlyargcount])
        rest = list(names[code.co_argcount + code.co_kwonlyargcount :])
        parts = [spelling(name) for name in positional]
        if code.co_posonlyargcount:
            parts.insert(code.co_posonlyargcount, "/")
        used = [*positional, *keyword_only]
        if code.co_flags & inspect.CO_VARARGS:
            used.append(rest[0])
            parts.append(f"*{spelling(rest.pop(0))}")
        elif keyword_only:
            parts.append("*")
        parts += [spelling(name) for name in keyword_only]
        if code.co_flags & inspect.CO_VARKEYWORDS:
            used.append(rest[0])
            parts.append(f"**{spelling(rest[0])}")
        return Signature(code, tuple(used), ", ".join(parts), code.co_freevars)

    def with_owner(self) -> "Signature":
        """The same, for a function that its own first argument holds: it gets a weak reference to that argument."""
        text = self.text.replace(spelling(self.names[0]), OWNER, 1)
        return replace(self, text=text, is_owned=True)

    @staticmethod
    def of_names(code: CodeType, names: Sequence[str]) -> "Signature":
        """Plain positional parameters, for a continuation of `code`."""
        return Signature(code, tuple(names), ", ".join(map(spelling, names)))


class GuardsMissed:
    """What a guarded entry returns if its guards do not hold; `misses`: exceptions that mean the same."""

    __slots__ = ()
    misses = MISSES  # here and not in a closure cell, each of which costs every call


ABSENT = GuardsMissed()
_ABSENT, _FIRST, _REST = _CELLS = tuple(f"{PREFIX}{name}" for name in ("absent", "first", "rest"))
_STANCE_MODULE, _STANCE = _STANCE_CELLS = (f"{PREFIX}stance_module", f"{PREFIX}stance")
OWNER = f"{PREFIX}owner"
_ENTRY = f"{PREFIX}bound_entry"
# Calls that an entry serves before it is tried first. Tuning only: two entries that serve in turn should not be swapped at
# each call (a swap takes a lock), and a phase of a program is longer than a few calls.
_CALLS_BEFORE_PROMOTION = 4


_codes: "WeakValueDictionary[tuple[Identity, str, tuple[str, ...], bool], CodeType]" = WeakValueDictionary()
# functions that are compiled anew in each round have one code object, by which guards know them


def _give_up(failure: GraphFailed, *values: object) -> object:
    """The `Recover` of a dispatcher that was given none: the exception as it is."""
    raise failure.error


def _no_entry(*values: object) -> GuardsMissed:
    """What is tried while there is no entry."""
    return ABSENT


@final
@dataclass(slots=True, eq=False)
class SlowPath:
    """What the function of a dispatcher needs where the first guarded entry does not serve.

    It is one closure cell instead of many, each of which costs every call.
    """

    dispatcher: "Dispatcher"
    miss: Miss
    recover: Recover
    failed: type[GraphFailed] = GraphFailed
    strip: Callable[[BaseException], None] = strip_our_frames
    agrees: Callable[[], bool] = PROBE.agrees
    # the text names no builtin: a global variable of the program may have its name
    anything: type[BaseException] = BaseException


@final
class Dispatcher:
    """Holds the entries of one function or continuation; makes the function that tries them.

    Each entry has a generated function of its own, the guarded entry: guards inlined, then a direct call of the entry.
    Guarded entries are reached through closure cells behind the user's own ones: what a code object holds in its
    constants is invisible to the garbage collector, so a compiled function would never be freed (ADR 0007).
    The function holds the dispatcher, which does not hold the function: what the user drops dies at once (ADR 0014).
    With `follows` (the function that the user calls) tail calls of an entry are run here, outside the entry's frame.
    With `asks` the stance of the process decides first whether entries may serve (ADR 0012).
    """

    def __init__(
        self,
        signature: Signature,
        namespace: dict[str, object],
        *,
        follows: bool = False,
        asks: bool = False,
    ) -> None:
        self.signature = signature
        self.entries: tuple[Entry, ...] = ()
        self.lock = threading.RLock()
        self._namespace = namespace
        self._follows = follows
        self._asks = asks
        self.others: tuple[GuardedEntry, ...] = ()  # those that are tried after the first one
        self._first = CellType(_no_entry)
        self._attempts: tuple[GuardedEntry, ...] = ()
        self._preferred: tuple[GuardedEntry, ...] = ()
        self._served: dict[GuardedEntry, int] = {}

    def make_function(
        self,
        miss: Miss,
        closure: tuple[CellType, ...] | None = None,
        *,
        recover: Recover | None = None,
    ) -> FunctionType:
        """The function that tries the entries, then `miss`; the caller keeps it. `recover` is called if a graph raises."""
        rest = SlowPath(self, miss, recover or _give_up)
        cells = {_ABSENT: CellType(ABSENT), _FIRST: self._first, _REST: CellType(rest)}
        cells.update({_STANCE_MODULE: PROBE.module, _STANCE: PROBE.known})
        cells.update(zip(map(spelling, self.signature.freevars), closure or (), strict=True))
        code = self._compile_code()
        held_cells = tuple(cells[name] for name in code.co_freevars)
        return FunctionType(_with_own_names(code, self.signature), self._namespace, closure=held_cells)

    def add(self, entry: Entry) -> None:
        """Add an entry, which is tried before the older ones: what was true of a first call often never is again.

        Calls that run meanwhile see the old guarded entries or the new ones, some of them twice.
        """
        attempt = self._compile_guarded_entry(entry)
        with self.lock:
            self.entries = (*self.entries, entry)
            self._order((attempt, *self._attempts))

    def clear(self) -> None:
        """Forget all entries."""
        with self.lock:
            self.entries = ()
            self._served.clear()
            self._preferred = ()
            self._order(())

    @property
    def has_preferred(self) -> bool:
        """Whether an entry is tried before all others."""
        return bool(self._preferred)

    def prefer(self, entry: Entry | None) -> None:
        """Try an entry without guards before all others in every second phase of calls, from now on; None: no more."""
        preferred = () if entry is None else (AlternatingRuns(self._compile_guarded_entry(entry), ABSENT),)
        with self.lock:
            self._preferred = preferred
            self._order(self._attempts)

    def _order(self, attempts: tuple[GuardedEntry, ...]) -> None:
        """Try them in this order from now on."""
        self._attempts = attempts
        tried = (*self._preferred, *attempts)
        self.others = tried  # until the next line one is tried twice, but none is left out
        self._first.cell_contents = tried[0] if tried else _no_entry
        self.others = tried[1:]

    def promote(self, attempt: GuardedEntry) -> None:
        """A guarded entry that was not the first has served a call; after a few it becomes the first."""
        with self.lock:
            if attempt not in self._attempts:  # cleared meanwhile
                return
            served = self._served[attempt] = self._served.get(attempt, 0) + 1
            if served % _CALLS_BEFORE_PROMOTION == 0:
                self._order((attempt, *(other for other in self._attempts if other is not attempt)))

    def _compile_guarded_entry(self, entry: Entry) -> FunctionType:
        """Guards, then the entry. The code is that of the first function for which it was made."""
        template = None if entry.code is None else entry.code.guarded
        if template is None:
            template = self._guarded_template(entry)
            if entry.code is not None:
                entry.code.guarded = template
        called = {_ENTRY: entry.function} if entry.body is None else None
        return template.bind(self._namespace, entry.own, called)

    def _guarded_template(self, entry: Entry) -> Template:
        spellings = self.signature.spellings
        names = tuple(spellings.values())
        program = compile_guards(entry.guards, entry.loads, local_names=spellings, dispatcher_locals=names)
        check_guards(entry.guards, program, names, self.signature.code.co_qualname)
        identity = Identity.of(self.signature.code)
        if entry.body is None or entry.is_forwarding:
            identity = identity.as_hidden()  # another frame represents the user's function (ADR 0016)
        constants = Constants(kind="d")
        absent = constants(ABSENT, "absent")
        # a path that is gone raises on the way to a value: that is a miss like any guard that does not hold
        lines = [
            "try:",
            f"  if not ({program.condition}): return {absent}",
            f"except {absent}.misses: return {absent}",
        ]
        numbered = [(text, identity.firstlineno) for text in lines]
        if entry.body is None:
            call = f"{_ENTRY}({', '.join(program.loads)})"
            if self._follows and entry.leaves:
                call = f"{constants(run_tail_calls, 'run_tail_calls')}({write_forgetting_call(call, program.temporaries)})"
            numbered.append((f"return {call}", identity.firstlineno))
        else:
            loads = dict(zip(entry.body.parameters, program.loads, strict=True))
            numbered += entry.body.inline_lines(loads, names, identity.firstlineno)
        bound = {
            **bind_families(program.constants, identity),
            **constants.values,
            **(entry.body.constants if entry.body else {}),
        }
        more = (_ENTRY,) if entry.body is None else ()
        return generate_template(", ".join(names), numbered, bound, identity, more)

    def _compile_code(self) -> CodeType:
        """Try each entry, then the slow path. The same code for every number of entries."""
        signature = self.signature
        identity = Identity.of(signature.code).as_hidden()
        key = (identity, signature.text, signature.freevars, self._asks)
        known = _codes.get(key)
        if known is None:
            names = (*map(spelling, signature.freevars), *_CELLS, *(_STANCE_CELLS if self._asks else ()))
            numbered = [(text, identity.firstlineno) for text in self._write_lines()]
            known = _codes[key] = generate_code(signature.text, numbered, identity, names)
        return known

    def _write_lines(self) -> list[str]:
        given = ", ".join(self.signature.spellings.values())
        result, attempt, failure = f"{PREFIX}result", f"{PREFIX}attempt", f"{PREFIX}failure"
        asked = f"  if {_STANCE_MODULE}._stance is not {_STANCE} and not {_REST}.agrees(): return {_REST}.miss({given})"
        return [
            *([f"{spelling(self.signature.names[0])} = {OWNER}()"] if self.signature.is_owned else ()),
            "try:",
            " try:",
            *([asked] if self._asks else []),
            f"  {result} = {_FIRST}({given})",
            f"  if {result} is not {_ABSENT}: return {result}",
            f"  for {attempt} in {_REST}.dispatcher.others:",
            f"    {result} = {attempt}({given})",
            f"    if {result} is not {_ABSENT}:",
            f"      {_REST}.dispatcher.promote({attempt})",
            f"      return {result}",
            f"  return {_REST}.miss({given})",
            # the handler ends before `recover`: the failure must not be the context of what the program raises there
            f" except {_REST}.failed as {failure}x: {failure} = {failure}x",
            f" return {_REST}.recover({', '.join([failure, *self.signature.spellings.values()])})",
            f"except {_REST}.anything as {failure}:",
            f" {_REST}.strip({failure})",
            " raise",
        ]


#: CPython's parser gives up at 200 nested parentheses.
_LONGEST_CHAIN: Final = 50


def write_forgetting_call(call: str, temporaries: Sequence[str]) -> str:
    """A call after which the frame holds nothing in temporaries: what the entry dropped is gone in what comes next."""
    if not temporaries:
        return call
    chains = [
        temporaries[start : start + _LONGEST_CHAIN] for start in range(0, len(temporaries), _LONGEST_CHAIN)
    ]
    forgotten = [f"{' := '.join(f'({name}' for name in chain)} := None{')' * len(chain)}" for chain in chains]
    return f"({call}, {', '.join(forgotten)})[0]"


def _with_own_names(code: CodeType, signature: Signature) -> CodeType:
    """The code with the user's parameter names where the text spells them otherwise: calls by keyword need them."""
    original = {spelling(name): name for name in (*signature.names, *signature.freevars)}
    if all(name == spelled for spelled, name in original.items()):
        return code
    varnames, freevars = (
        tuple(original.get(name, name) for name in names) for names in (code.co_varnames, code.co_freevars)
    )
    return code.replace(co_varnames=varnames, co_freevars=freevars)
