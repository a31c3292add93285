"""Which function runs which operation symbolically, and which writes it as native Python source.

The mechanism only: the rows are in the modules of this package, `catalog` imports them all.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final, final

from framesmith.bytecode.meaning import Kind, Operation
from framesmith.frontend.tracing.machine import Machine
from framesmith.guards.names import PREFIX

Step = Callable[[Machine, Operation], None]

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


Bind = Callable[[object, str], str]
"""`bind(object, hint)` gives the name under which the source text reaches the object."""

NativeWriter = Callable[[Operation, list[str | None], Bind], NativeForm]
"""`write(operation, operands, bind)` writes an operation natively. The operands are the expressions of the slots that it
takes (`bytecode.operation_effects.slots_taken`), deepest first, None for a NULL slot."""


class DuplicateOpcode(Exception):
    """Two rows for one operation kind. Cause: registered twice. Cure: keep one."""


_STEPS: dict[Kind, Step] = {}
_NATIVES: dict[Kind, NativeWriter] = {}


def opcode(*kinds: Kind) -> Callable[[Step], Step]:
    """Decorator: run operations of these kinds with the decorated function."""

    def register(step: Step) -> Step:
        for kind in kinds:
            if kind in _STEPS:
                raise DuplicateOpcode(f"{kind} has a row already: {_STEPS[kind]}")
            _STEPS[kind] = step
        return step

    return register


def native(kind: Kind, row: NativeWriter) -> None:
    """Say how an operation of this kind is written as Python source."""
    if kind in _NATIVES:
        raise DuplicateOpcode(f"{kind} has a native form already")
    _NATIVES[kind] = row


def step_of(kind: Kind) -> Step:
    """The row of a kind."""
    return _STEPS[kind]


def steps() -> dict[Kind, Step]:
    """All rows (a copy)."""
    return dict(_STEPS)


def native_of(kind: Kind) -> NativeWriter | None:
    """How to write an operation natively, or None when only its whole frame can run natively."""
    return _NATIVES.get(kind)
