"""What a graph break is: a kind from the catalogue and the details of one occurrence.

The rows of the catalogue live in `break_kinds`; what reports a break, and what happens next, is in the frontend.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import final

_KINDS: dict[str, "BreakKind"] = {}


@final
@dataclass(frozen=True, slots=True)
class BreakKind:
    """One reason for which capture can end.

    `id` is stable: it is used in reports, documentation and tests, and is never given a new meaning.
    `explanation` says why the graph cannot go on, `remedy` what the user can do; both are whole sentences.
    `reassurance`: a sentence before the remedy, for a break that goes on in Python; no error has it.
    """

    id: str
    title: str
    explanation: str
    remedy: str
    reassurance: str = ""


class DuplicateBreakKind(Exception):
    """Two rows of the catalogue ask for one id."""

    def __init__(self, known: BreakKind, other: BreakKind) -> None:
        super().__init__(
            f"break kind {known.id!r} is defined twice, as {known.title!r} and as {other.title!r}; "
            "give one of them an id of its own in framesmith.graph.breaks.break_kinds"
        )


class UnknownBreakKind(LookupError):
    """An id that no row of the catalogue has."""

    def __init__(self, identifier: str) -> None:
        super().__init__(
            f"no break kind has the id {identifier!r}; the catalogue has {', '.join(sorted(_KINDS))}"
        )


def register(kind: BreakKind) -> BreakKind:
    """Add a row to the catalogue and return it; DuplicateBreakKind if another row has its id."""
    known = _KINDS.get(kind.id)
    if known is not None and known != kind:
        raise DuplicateBreakKind(known, kind)
    _KINDS[kind.id] = kind
    return kind


def kind_of(identifier: str) -> BreakKind:
    """The row with this id; raises UnknownBreakKind."""
    try:
        return _KINDS[identifier]
    except KeyError:
        raise UnknownBreakKind(identifier) from None


def all_kinds() -> Iterator[BreakKind]:
    """Every row, in the order of registration."""
    yield from _KINDS.values()


def _restore(identifier: str, detail: str, module: str | None) -> "GraphBreak":
    return GraphBreak(kind_of(identifier), detail, module)


@final
class GraphBreak(Exception):
    """Capture ends here. Carries strings only, so it can be stored, compared and shown long after the trace.

    `detail` names the value or operation at hand, e.g. "torch.nonzero on a tensor of unknown content"; `module`, the
    module whose first import the operation is.
    """

    def __init__(self, kind: BreakKind, detail: str = "", module: str | None = None) -> None:
        self.kind = kind
        self.detail = detail
        self.module = module
        super().__init__(kind.id, detail)

    def __str__(self) -> str:
        return self.text(is_error=False)

    def text(self, *, is_error: bool) -> str:
        """What happened, why, and what to do. `is_error`: the program does not go on behind the break."""
        kind = self.kind
        head = f"{kind.title}: {self.detail}" if self.detail else kind.title
        advice = kind.remedy if is_error or not kind.reassurance else f"{kind.reassurance} {kind.remedy}"
        return f"{head}\n  why: {kind.explanation}\n  what to do: {advice}\n  id: {kind.id}"

    def __reduce__(
        self,
    ) -> tuple[Callable[[str, str, str | None], "GraphBreak"], tuple[str, str, str | None]]:
        return _restore, (self.kind.id, self.detail, self.module)
