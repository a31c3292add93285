"""The function that a user calls: guard checks of every entry inlined, then the slow path.

`Dispatcher.function` is a plain Python function; adding an entry replaces its code object, which
is atomic. Entries are immutable.
"""

import inspect
import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from types import CellType, CodeType, FunctionType
from typing import Protocol, final

from framesmith.guards import MISSES, GuardSet, Source, compile_guards

from framesmith.frontend.writer import PREFIX, Constants, compile_function


@final
@dataclass(frozen=True, slots=True, eq=False)
class Entry:
    """One compiled specialisation: the guards under which it holds, the values it loads, its code."""

    guards: GuardSet
    loads: tuple[Source, ...]
    function: Callable[..., object]
    source: str


class Miss(Protocol):
    """The slow path: no entry fits."""

    def __call__(self, *values: object) -> object:
        """The result of the call; `values` are the local variables in the order of `Signature.names`."""
        ...


@final
@dataclass(frozen=True, slots=True)
class Signature:
    """The parameters of a dispatcher, and the code object whose name and place it takes."""

    code: CodeType
    names: tuple[str, ...]
    text: str
    freevars: tuple[str, ...] = ()

    @staticmethod
    def of_function(code: CodeType) -> "Signature":
        """The user's own signature."""
        names = code.co_varnames
        positional = list(names[: code.co_argcount])
        keyword_only = list(names[code.co_argcount : code.co_argcount + code.co_kwonlyargcount])
        rest = list(names[code.co_argcount + code.co_kwonlyargcount :])
        parts = list(positional)
        if code.co_posonlyargcount:
            parts.insert(code.co_posonlyargcount, "/")
        used = [*positional, *keyword_only]
        if code.co_flags & inspect.CO_VARARGS:
            used.append(rest[0])
            parts.append(f"*{rest.pop(0)}")
        elif keyword_only:
            parts.append("*")
        parts += keyword_only
        if code.co_flags & inspect.CO_VARKEYWORDS:
            used.append(rest[0])
            parts.append(f"**{rest[0]}")
        return Signature(code, tuple(used), ", ".join(parts), code.co_freevars)

    @staticmethod
    def of_names(code: CodeType, names: Sequence[str]) -> "Signature":
        """Plain positional parameters, for a continuation of `code`."""
        return Signature(code, tuple(names), ", ".join(names))


@final
class Dispatcher:
    """Holds the entries of one function or continuation and the function that checks them."""

    def __init__(
        self,
        signature: Signature,
        namespace: dict[str, object],
        miss: Miss,
        closure: tuple[CellType, ...] | None = None,
    ) -> None:
        self.signature = signature
        self.entries: tuple[Entry, ...] = ()
        self.lock = threading.RLock()
        self._miss = miss
        self.function: FunctionType = FunctionType(self._generate(), namespace, closure=closure)

    def add(self, entry: Entry) -> None:
        """Append an entry; callers that run meanwhile see the old code or the new."""
        with self.lock:
            self.entries = (*self.entries, entry)
            self.function.__code__ = self._generate()

    def clear(self) -> None:
        """Forget all entries."""
        with self.lock:
            self.entries = ()
            self.function.__code__ = self._generate()

    def _generate(self) -> CodeType:
        """The code of the dispatcher over the present entries."""
        code = self.signature.code
        constants = Constants()
        bound: dict[str, object] = {}
        lines: list[str] = []
        for number, entry in enumerate(self.entries):
            program = compile_guards(entry.guards, entry.loads, prefix=f"{PREFIX}g{number}_")
            bound.update(program.constants)
            function = constants(entry.function, f"entry{number}")
            hit = f"{PREFIX}hit"
            misses = constants(MISSES, "misses")
            lines += [
                "try:",
                f"    {hit} = {program.condition}",
                f"except {misses}:",
                f"    {hit} = False",
                f"if {hit}:",
                f"    return {function}({', '.join(program.loads)})",
            ]
        missed = constants(self._miss, "miss")
        lines.append(f"return {missed}({', '.join(self.signature.names)})")
        line = code.co_firstlineno
        return compile_function(
            [self.signature.text] if self.signature.text else [],
            [(text, line) for text in lines],
            {**bound, **constants.values},
            name=code.co_name,
            qualname=code.co_qualname,
            filename=code.co_filename,
            firstlineno=line,
            freevars=self.signature.freevars,
        )
