"""What a message says of a graph that a backend could not compile: where it is in the program, and the file with its text.

The files stay, since a report needs them when the process is gone, in one folder for each user; the newest ones.
"""

import os
import tempfile
from contextlib import suppress
from pathlib import Path
from typing import Final

from torch import fx

from framesmith.graph.nodes.node_lines import user_line
from framesmith.graph.running.runnable_text import write_runnable

_MOST: Final = 20
"""So many files are kept."""


def describe_graph(module: fx.GraphModule) -> str:
    """The user's lines where the graph begins and ends, and the file in which it is saved for a report."""
    lines = list(dict.fromkeys(line for node in module.graph.nodes if (line := user_line(node)) is not None))
    if not lines:
        place = "the graph has no line of the program"
    else:
        place = f"the graph begins at {lines[0]}" + (f"\n  and ends at {lines[-1]}" if lines[1:] else "")
    saved = _save(module)
    return place if saved is None else f"{place}\nfor a report, the graph is saved in {saved}"


def graph_folder() -> Path:
    """The folder for graphs that a backend could not compile: `framesmith-graphs-<user id>` among the temporary files."""
    user = getattr(os, "getuid", lambda: "user")()
    return Path(tempfile.gettempdir(), f"framesmith-graphs-{user}")


def _save(module: fx.GraphModule) -> str | None:
    """Write the graph, as a file that runs; None where that fails."""
    folder = graph_folder()
    try:
        folder.mkdir(mode=0o700, exist_ok=True)
        if not _is_own(folder):
            return None
        with tempfile.NamedTemporaryFile(
            "w", dir=folder, prefix="graph-", suffix=".py", delete=False, encoding="utf-8"
        ) as file:
            file.write(write_runnable(module))
        _remove_oldest(folder)
    except OSError:
        return None
    return file.name


def _is_own(folder: Path) -> bool:
    """Whether it is a folder of this user: another one may have made it, or a link, to see what is written or to send it elsewhere."""
    user = getattr(os, "getuid", None)
    return not folder.is_symlink() and (user is None or folder.stat().st_uid == user())


def _remove_oldest(folder: Path) -> None:
    with suppress(OSError):  # another process may remove some at the same time
        saved = sorted(folder.glob("graph-*.py"), key=lambda path: path.stat().st_mtime)
        for path in saved[:-_MOST]:
            path.unlink(missing_ok=True)
