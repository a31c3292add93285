"""How an entry ends, as data: source lines, and the resume points to which their tail calls lead.

    y = x.sin()
    print(y)           ->   lines:    print(__fs_o0)
    return y + 1                      return TailCall((__fs_p0_continuation, (__fs_o0, )))
                            targets:  {"__fs_p0_continuation": ResumeTarget(behind the print, ...)}

Nothing here asks for a continuation: the lines name a constant for each target, and the cache, which has the
continuations, binds these constants when the entry is complete (`EntryText.bind`).
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import final

from framesmith.frontend.generated.source_writer import EntryWriter
from framesmith.frontend.generated.tail_calls import TailCall
from framesmith.frontend.tracing.frame_state import ResumeState
from framesmith.frontend.tracing.resume_points import ResumePoint
from framesmith.guards.names import PREFIX


@final
@dataclass(frozen=True, slots=True)
class ResumeTarget:
    """What a tail call leads to: a resume point, in its compiled form or natively to the end of its frames.

    `namespaces` are the globals of each frame. Equal points have equal ones: layouts hold their ids.
    """

    point: ResumePoint
    # not compared: a dict has no hash
    namespaces: tuple[dict[str, object], ...] = field(compare=False)
    is_native: bool = False
    # kept: that of a code object, of which a point has one for each frame, is made of all that is in it
    _hash: int = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "_hash", hash((self.point, self.is_native)))

    def __hash__(self) -> int:
        """Equal targets have equal ones, as equal points and codes do."""
        return self._hash


@final
@dataclass(frozen=True, slots=True, eq=False)
class EntryEnding:
    """The lines with which an entry ends, and the targets whose names they use.

    `leaves`: the lines return a tail call, of a target or of one of our own functions.
    """

    lines: tuple[str, ...]
    targets: Mapping[str, ResumeTarget] = field(default_factory=dict)
    leaves: bool = False


@final
class TailCallWriter:
    """Writes the tail calls of one entry as expressions, and collects their targets: one name for each."""

    def __init__(self, writer: EntryWriter) -> None:
        self._writer = writer
        self._names: dict[ResumeTarget, str] = {}
        self._leaves = False

    def write_call(self, target: ResumeTarget, state: ResumeState[str]) -> str:
        """Go on at a resume point; `state` holds expressions."""
        hint = "natively" if target.is_native else "continuation"
        name = self._names.setdefault(target, f"{PREFIX}p{len(self._names)}_{hint}")
        # a native continuation empties the list that it is given, so that only the frames hold the values
        values = state.flatten()
        return self._write_call(name, [f"[{', '.join(values)}]"] if target.is_native else values)

    def write_function_call(
        self, function: Callable[..., object], hint: str, arguments: Sequence[str]
    ) -> str:
        """Go on in a function of our own."""
        return self._write_call(self._writer.constant(function, hint), arguments)

    def _write_call(self, function: str, arguments: Sequence[str]) -> str:
        self._leaves = True
        listed = "".join(f"{argument}, " for argument in arguments)
        return f"{self._writer.constant(TailCall, 'TailCall')}(({function}, ({listed})))"

    def make_ending(self, lines: Sequence[str]) -> EntryEnding:
        """These lines, with all targets that were written."""
        targets = {name: target for target, name in self._names.items()}
        return EntryEnding(tuple(lines), targets, self._leaves)
