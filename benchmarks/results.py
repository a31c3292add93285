"""What a benchmark yields, as a table for people and as JSON for comparison. No timing happens here."""

import json
import platform
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TypeVar

import torch
from rich.table import Table

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Result:
    """One figure for each side; None where there is none. `goal` is what the design asks for, in words.

    `ours_note` and `theirs_note` hold counts (graphs, compiles) or the reason why a figure is missing.
    """

    family: str
    case: str
    unit: str
    ours: float | None
    theirs: float | None
    eager: float | None = None
    goal: str = ""
    ours_note: str = ""
    theirs_note: str = ""

    @property
    def ratio(self) -> float | None:
        """Ours over theirs; None where one is missing or within the noise around zero."""
        if self.ours is None or self.theirs is None or self.theirs <= 0:
            return None
        return self.ours / self.theirs


def attempt(measure: Callable[[], tuple[T, str]]) -> tuple[T | None, str]:
    """The figure and its note, or no figure and the exception's last line: one failure must not stop the rest."""
    try:
        return measure()
    except Exception as failure:
        lines = str(failure).strip().splitlines() or [""]
        return None, f"{type(failure).__name__}: {lines[0][:80]}"


def number(value: float | None) -> str:
    """Three digits, or a dash."""
    return "-" if value is None else f"{value:.3g}" if abs(value) < 1000 else f"{value:.0f}"


def table(results: Sequence[Result]) -> Table:
    """All results, a section for each family."""
    made = Table(
        title=f"torch {torch.__version__}, Python {platform.python_version()}, 1 thread", title_justify="left"
    )
    for column in ("benchmark", "case", "unit"):
        made.add_column(column)
    for column in ("eager", "torch.compile", "framesmith", "ratio"):
        made.add_column(column, justify="right")
    for column in ("goal", "notes (torch.compile / framesmith)"):
        made.add_column(column)
    previous = ""
    for one in results:
        if previous not in ("", one.family):
            made.add_section()
        figures = [number(value) for value in (one.eager, one.theirs, one.ours, one.ratio)]
        notes = " / ".join((one.theirs_note, one.ours_note)) if one.theirs_note or one.ours_note else ""
        made.add_row(
            one.family if one.family != previous else "", one.case, one.unit, *figures, one.goal, notes
        )
        previous = one.family
    return made


def save(results: Sequence[Result], path: Path) -> None:
    """Write the results as JSON, with the versions they belong to."""
    path.parent.mkdir(parents=True, exist_ok=True)
    header = {"torch": torch.__version__, "python": platform.python_version(), "machine": platform.machine()}
    rows = [asdict(one) | {"ratio": one.ratio} for one in results]
    path.write_text(json.dumps(header | {"results": rows}, indent=1) + "\n", encoding="utf-8")
