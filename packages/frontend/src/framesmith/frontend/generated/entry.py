"""One entry: as text whose targets are open, and bound to the functions in which it goes on.

    def f(__fs_l0_x):
        __fs_o0, = __fs_k0_graph(__fs_l0_x)
        print(__fs_o0)
        return TailCall((__fs_p0_continuation, (__fs_o0, )))       targets: {"__fs_p0_continuation": a resume point}

An entry is written before it is known which functions its tail calls lead to: what they are is for the cache to say
(`bind`). A target is data of any kind here; nothing in this subpackage knows how an entry was traced.
"""

import re
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field
from typing import Final, Generic, TypeVar, final

from framesmith.frontend.generated.functions import Identity, Line, generated_function
from framesmith.guards import GuardSet, Source

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
    is to call the user's code, so that its frame represents none of the user's functions.
    """

    guards: GuardSet
    loads: tuple[Source, ...]
    function: Callable[..., object]
    source: str
    leaves: bool = False
    body: EntryBody | None = None
    is_forwarding: bool = False


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

    def bind(self, function_at: Callable[[Target], Callable[..., object]]) -> Entry:
        """Compile the text; `function_at` gives the function for each target."""
        identity = self.identity.as_hidden() if self.is_forwarding else self.identity
        functions = {name: function_at(target) for name, target in self.targets.items()}
        constants = {**self.constants, **functions}
        parameters = ", ".join(self.parameters)
        function = generated_function(parameters, self.lines, constants, identity, self.namespace)
        body = None
        if not self.leaves and len(self.lines) <= _SHORT:
            body = EntryBody(self.parameters, self.lines, constants)
        return Entry(
            self.guards,
            self.loads,
            function,
            self.source,
            self.leaves,
            body,
            is_forwarding=self.is_forwarding,
        )

    @property
    def source(self) -> str:
        """The text as a function, for logs and reports."""
        head = f"def {self.identity.name}({', '.join(self.parameters)}):"
        return "\n".join([head, *(f"    {line}" for line, _ in self.lines)])
