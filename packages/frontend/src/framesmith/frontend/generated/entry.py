"""One entry: as text whose targets are open, and bound to the functions in which it goes on.

    def f(__fs_l0_x):
        __fs_o0, = __fs_k0_graph(__fs_l0_x)
        print(__fs_o0)
        return TailCall((__fs_p0_continuation, (__fs_o0, )))       targets: {"__fs_p0_continuation": a resume point}

An entry is written before it is known which functions its tail calls lead to: what they are is for the cache to say
(`bind`). A target is data of any kind here; nothing in this subpackage knows how an entry was traced. The text is compiled
once (`EntryCode`) and bound to each of the functions that share it: to their continuations, cells and so on.
"""

import re
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field
from types import CellType
from typing import Final, Generic, TypeVar, final

from framesmith.frontend.generated.functions import Identity, Line, Template, generate_template
from framesmith.guards import GuardSet, Source
from framesmith.guards.sources import Own

Target = TypeVar("Target")
_NAME: Final = re.compile(r"\w+")
_SHORT: Final = 24  # lines of an entry that are compiled behind its guards as well


@final
@dataclass(frozen=True, slots=True, eq=False)
class EntryBody:
    """The text of an entry's function, to be put behind its guards: a parameter for each load, lines, constants."""

    parameters: tuple[str, ...]
    lines: tuple[Line, ...]
    constants: Mapping[str, object]

    def inline_lines(self, loads: Mapping[str, str], arguments: Collection[str], line: int) -> list[Line]:
        """The lines, for a function with these arguments; `loads` says what each parameter of the entry is there.

        A load that is an argument is used under the argument's name, because a copy costs every call. Not where the
        lines have string literals, in which a parameter's name might occur.
        """
        plain = not any(mark in text for text, _ in self.lines for mark in "'\"")
        same = {each: load for each, load in loads.items() if plain and load in arguments}
        copies = [(f"{each} = {load}", line) for each, load in loads.items() if each not in same]
        if not same:
            return [*copies, *self.lines]
        return [*copies, *((_NAME.sub(lambda m: same.get(m[0], m[0]), text), at) for text, at in self.lines)]


@final
@dataclass(frozen=True, slots=True, eq=False)
class Entry:
    """One compiled specialization: the guards under which it holds, the values it loads, its code.

    `leaves`: its function may return a `TailCall`. `body`: where the text of the function is short and it does not
    leave, the text is compiled a second time, behind the guards, which saves a frame in each call. (An entry that leaves
    keeps a frame of its own, since what it holds has to be let go of before the tail call.) `is_forwarding`: all it does
    is to call the user's code, so that its frame represents none of the user's functions. `code`: what it shares with
    the entries of other functions, `own`: the cells of the function to which it is bound.
    """

    guards: GuardSet
    loads: tuple[Source, ...]
    function: Callable[..., object]
    source: str
    leaves: bool = False
    body: EntryBody | None = None
    is_forwarding: bool = False
    code: "EntryCode | None" = None
    own: Mapping[Own, CellType] | None = None


@final
@dataclass(slots=True, eq=False)
class EntryCode:
    """The code of an entry, compiled once. `guarded`: the guards with what follows them, which the first dispatcher makes."""

    function: Template
    guarded: Template | None = None


@final
@dataclass(frozen=True, slots=True, eq=False)
class EntryText(Generic[Target]):
    """An entry as text, complete but for the functions of its targets.

    `targets`: what the entry goes on in, by the name that the text has for it. `parameters` are the names of `loads`.
    """

    identity: Identity
    namespace: dict[str, object]
    guards: GuardSet
    loads: tuple[Source, ...]
    parameters: tuple[str, ...]
    lines: tuple[Line, ...]
    constants: Mapping[str, object]
    targets: Mapping[str, Target] = field(default_factory=dict)
    leaves: bool = False
    is_forwarding: bool = False

    def compile(self) -> EntryCode:
        """Compile the text, for `bind`."""
        identity = self.identity.as_hidden() if self.is_forwarding else self.identity
        parameters = ", ".join(self.parameters)
        return EntryCode(generate_template(parameters, self.lines, self.constants, identity, self.targets))

    def bind(
        self,
        function_at: Callable[[Target], Callable[..., object]],
        code: EntryCode | None = None,
        own: Mapping[Own, CellType] | None = None,
    ) -> Entry:
        """The entry of one function: `function_at` gives the function for each target, `own` has its cells.

        `code`: what `compile` gave, where the text is bound more than once.
        """
        code = self.compile() if code is None else code
        functions = {name: function_at(target) for name, target in self.targets.items()}
        body = None
        if not self.leaves and not self.targets and len(self.lines) <= _SHORT:
            body = EntryBody(self.parameters, self.lines, self.constants)
        return Entry(
            self.guards,
            self.loads,
            code.function.bind(self.namespace, own, functions),
            self.source,
            self.leaves,
            body,
            is_forwarding=self.is_forwarding,
            code=code,
            own=own,
        )

    @property
    def source(self) -> str:
        """The text as a function, for logs and reports."""
        head = f"def {self.identity.name}({', '.join(self.parameters)}):"
        return "\n".join([head, *(f"    {line}" for line, _ in self.lines)])
