"""Which function runs which operation symbolically, and which writes it as native Python source.

The mechanism only: the rows are in the modules of this package, each with a list of its own; `catalog` puts them together.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Final, TypeVar, final

from framesmith.bytecode.meaning import Kind, Operation
from framesmith.frontend.tracing.machine import Machine
from framesmith.guards.names import PREFIX
from framesmith.variables.core import Tracker

Step = Callable[[Machine, Operation], None]
R = TypeVar("R")

RESULT: Final = f"{PREFIX}r"
"""The variable that holds what a native operation gives."""


@final
@dataclass(frozen=True, slots=True)
class Outcome:
    """What a native operation leads to: where its frame resumes (None: the next operation), and the values that are
    pushed (as expressions; an empty one for NULL).

    `condition` is the Python expression under which this outcome is taken; the last one has none.
    """

    pushes: tuple[str, ...] = ()
    target: int | None = None
    condition: str | None = None


@final
@dataclass(frozen=True, slots=True)
class NativeForm:
    """An operation as Python source: its statements, and its outcomes."""

    statements: tuple[str, ...]
    outcomes: tuple[Outcome, ...] = (Outcome(),)

    @staticmethod
    def of(expression: str) -> "NativeForm":
        """An operation that pushes the value of an expression."""
        return NativeForm((f"{RESULT} = {expression}",), (Outcome((RESULT,)),))


@final
@dataclass(frozen=True, slots=True)
class Bind:
    """`bind(object, hint)` gives the name under which the source text reaches the object.

    `machine` stands at the operation, and has given out its `operands`.
    """

    constant: Callable[[object, str], str]
    machine: Machine
    operands: Sequence[Tracker]

    def __call__(self, value: object, hint: str) -> str:
        return self.constant(value, hint)

    def globals(self) -> str:
        """An expression for the globals of the operation's frame; those of the outermost one are the entry's own."""
        frames = self.machine.frames
        if len(frames) == 1:
            return f"{self.constant(globals, 'read_globals')}()"
        return self.constant(frames[-1].namespace.value, "globals")


NativeWriter = Callable[[Operation, list[str | None], Bind], NativeForm]
"""`write(operation, operands, bind)` writes an operation natively. The operands are the expressions of the slots that it
takes (`bytecode.operation_effects.slots_taken`), deepest first, None for a NULL slot."""


class DuplicateOpcode(Exception):
    """Two rows for one operation kind. Cause: registered twice. Cure: keep one."""


@final
class OpcodeRows:
    """The rows of one family of operations. A module keeps its own, beside their code: importing it changes nothing else."""

    def __init__(self) -> None:
        self.steps = list[tuple[Kind, Step]]()
        self.natives = list[tuple[Kind, NativeWriter]]()

    def opcode(self, *kinds: Kind) -> Callable[[Step], Step]:
        """Decorator: run operations of these kinds with the decorated function."""

        def register(step: Step) -> Step:
            self.steps.extend((kind, step) for kind in kinds)
            return step

        return register

    def native(self, kind: Kind, row: NativeWriter) -> None:
        """Say how an operation of this kind is written as Python source."""
        self.natives.append((kind, row))


@final
class OpcodeTable:
    """The rows of all families. Invariant: it does not change, and no kind has two rows.

    `steps` run operations symbolically. `natives` write them as Python source; for a kind without one only its whole
    frame can run natively.
    """

    __slots__ = ("natives", "steps")

    def __init__(self, families: Iterable[OpcodeRows]) -> None:
        families = tuple(families)
        self.steps: Final = _by_kind(row for family in families for row in family.steps)
        self.natives: Final = _by_kind(row for family in families for row in family.natives)


def _by_kind(rows: Iterable[tuple[Kind, R]]) -> Mapping[Kind, R]:
    """The rows by kind; refuses a second one for a kind."""
    found: dict[Kind, R] = {}
    for kind, row in rows:
        if kind in found:
            raise DuplicateOpcode(
                f"{kind!r} has a row already, {found[kind]}, and gets another, {row}; keep one"
            )
        found[kind] = row
    return MappingProxyType(found)
