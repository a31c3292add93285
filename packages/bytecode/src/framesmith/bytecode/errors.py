"""The errors of the bytecode package.

None of them is an error of the user's program: each means that a code object cannot be
read, or that a caller asked for code that cannot be written.
"""

import difflib
from collections.abc import Collection
from types import CodeType
from typing import Final, final

from framesmith.bytecode.opcodes import SUPPORTED

_MOST_SHOWN: Final = 120
_MOST_NAMES: Final = 20


class BytecodeError(Exception):
    """Base of every error raised by framesmith.bytecode."""


@final
class UnknownOpcode(BytecodeError):
    """An instruction this version of framesmith has no table row for.

    Cause: a code object of an interpreter version that is not supported, or damaged bytecode.
    Cure: add the row to the table of that version (`operation_tables`).
    """

    def __init__(self, name: str, where: str, code: str) -> None:
        versions = ", ".join(f"{major}.{minor}" for major, minor in SUPPORTED)
        super().__init__(
            f"unknown opcode {name} at {where} of {code}; CPython {versions} are supported, add a row for it to operation_tables"
        )
        self.name = name


@final
class DisassembleError(BytecodeError):
    """A code object whose bytes do not form instructions (jump into the middle of one, and so on)."""


@final
class AssembleError(BytecodeError):
    """Instructions that cannot be encoded: unknown name, missing target, overlapping regions."""


@final
class TextError(BytecodeError):
    """The text form of a code object could not be read back."""


@final
class ResumeError(BytecodeError):
    """A continuation was asked for at an operation or with a layout that does not fit the code."""


def make_unknown_instruction(name: str, qualname: str) -> AssembleError:
    """The error for a name that no instruction of the Python that runs has."""
    return AssembleError(f"{qualname}: {describe_unknown_instruction(name)}")


def describe_unknown_instruction(name: object) -> str:
    """What is said of such a name, without the function."""
    return f"no instruction {name!r} in this version of CPython; the functions in `emitting` know what to write on each"


def describe_no_way_back(name: str, index: int, target: int) -> str:
    """What is said of a jump to an earlier instruction that has no backward form, as conditional ones from 3.12 on."""
    remedy = "lead it to a JUMP_BACKWARD further on, or let `emitting.jumps` write the jump"
    said = f"{name} at {index} cannot jump back to {target}"
    return f"{said}: {remedy}" if name.startswith("POP_JUMP") else f"{said}, it leads further on alone"


def require_code(call: str, value: object) -> None:
    """Raises TypeError, which names the call and says how to get at the code, for what is no code object."""
    if not isinstance(value, CodeType):
        has_code = isinstance(getattr(value, "__code__", None), CodeType)
        remedy = "pass its __code__" if has_code else "pass a code object, such as the __code__ of a function"
        raise make_wrong_argument(call, value, "no code object", remedy)


def require_argument(call: str, value: object, kind: type, wrong: str, remedy: str) -> None:
    """Raises the TypeError of `make_wrong_argument` for what is not of the type `kind`."""
    if not isinstance(value, kind):
        raise make_wrong_argument(call, value, wrong, remedy)


def require_count(call: str, value: object, least: int = 0, most: int | None = None) -> None:
    """Raises TypeError for what is no int, AssembleError for one below `least` or above `most`."""
    wanted = f"{least} or more" if most is None else f"{least} to {most}"
    require_argument(call, value, int, "no number", f"pass {wanted}")
    if isinstance(value, int) and (value < least or (most is not None and value > most)):
        raise AssembleError(f"{call} got {value}; pass {wanted}")


def require_names(call: str, value: object) -> None:
    """Raises TypeError for what is no tuple of strings: a string would count as the names of its letters."""
    remedy = f"pass ({value!r},)" if isinstance(value, str) else "pass a tuple of strings"
    require_items(call, value, (tuple, str), "no tuple of names", remedy)


def require_choice(call: str, value: object, choices: Collection[str], what: str) -> None:
    """Raises AssembleError for what is none of `choices`, which it names; `what` they are."""
    # A list or another value without a hash is none of them either.
    if not isinstance(value, str) or value not in choices:
        shown = ", ".join(repr(one) if one in ("", "is not", "not in") else one for one in choices)
        raise AssembleError(f"{call} got {value!r}, which is no {what}; pass one of {shown}")


def describe_close(name: object, known: Collection[str]) -> str:
    """The ending of an error about a name that is not there: which it may be meant for, and which there are."""
    close = difflib.get_close_matches(name, known, 1) if isinstance(name, str) else []
    meant = f"; did you mean {close[0]!r}?" if close else ""
    shown = ", ".join(list(known)[:_MOST_NAMES]) + ", ..." * (len(known) > _MOST_NAMES)
    return f"{meant} (there is {shown or 'none'})"


def require_items(call: str, value: object, kinds: tuple[type, type], wrong: str, remedy: str) -> None:
    """The same for a collection: `kinds` are its type and that of its items."""
    collection, item = kinds
    values = value if isinstance(value, Collection) and isinstance(value, collection) else [None]
    if not all(isinstance(one, item) for one in values):
        raise make_wrong_argument(call, value, wrong, remedy)


def make_wrong_argument(call: str, value: object, wrong: str, remedy: str) -> TypeError:
    """The error for an argument of a wrong type: the call, the value, what it is not, and what to pass."""
    shown = repr(value)
    # parts are shown with all their instructions
    if len(shown) > _MOST_SHOWN:
        shown = f"{shown[:_MOST_SHOWN]}..."
    return TypeError(f"{call} got {shown}, which is {wrong}; {remedy}")
