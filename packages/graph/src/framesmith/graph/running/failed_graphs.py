"""What a message says of a graph that a backend could not compile: where it is in the program, and the file with its text."""

import tempfile

from torch import fx

from framesmith.graph.nodes.node_lines import user_line
from framesmith.graph.running.runnable_text import write_runnable


def describe_graph(module: fx.GraphModule) -> str:
    """The user's lines where the graph begins and ends, and the file in which it is saved for a report."""
    lines = list(dict.fromkeys(line for node in module.graph.nodes if (line := user_line(node)) is not None))
    if not lines:
        place = "the graph has no line of the program"
    else:
        place = f"the graph begins at {lines[0]}" + (f"\n  and ends at {lines[-1]}" if lines[1:] else "")
    saved = _save(module)
    return place if saved is None else f"{place}\nfor a report, the graph is saved in {saved}"


def _save(module: fx.GraphModule) -> str | None:
    """Write the graph, as a file that runs, to a temporary file, which stays; None where that fails."""
    try:
        with tempfile.NamedTemporaryFile(
            "w", prefix="framesmith-graph-", suffix=".py", delete=False, encoding="utf-8"
        ) as file:
            file.write(write_runnable(module))
    except OSError:
        return None
    return file.name
