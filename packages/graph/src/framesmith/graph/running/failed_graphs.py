"""What a message says of a graph that a backend could not compile: where it is in the program, and the file with its text."""

import tempfile
from collections.abc import Iterator
from typing import Final

from torch import fx

from framesmith.graph.nodes.arguments import EXAMPLE

_SEPARATOR: Final = "  File "


def describe_graph(module: fx.GraphModule) -> str:
    """The user's lines where the graph begins and ends, and the file in which it is saved for a report."""
    lines = list(dict.fromkeys(_lines(module.graph)))
    if not lines:
        place = "the graph has no line of the program"
    else:
        place = f"the graph begins at {lines[0]}" + (f"\n  and ends at {lines[-1]}" if lines[1:] else "")
    saved = _save(module)
    return place if saved is None else f"{place}\nfor a report, the graph is saved in {saved}"


def _lines(graph: fx.Graph) -> Iterator[str]:
    """The innermost line of the user of each operation: `program.py:3 in f: y = x.sin()`."""
    for node in graph.nodes:
        _, found, frame = str(node.meta.get("stack_trace", "")).rpartition(_SEPARATOR)
        head, _, source = frame.partition("\n")
        file, _, rest = head.rpartition(", line ")
        if found and file:
            number, _, function = rest.partition(", in ")
            text = source.strip().splitlines()
            shown = f": {text[0]}" if text else ""
            yield f"{file.strip(chr(34))}:{number} in {function}{shown}"


def _save(module: fx.GraphModule) -> str | None:
    """Write the graph to a temporary file, which stays; None where that fails."""
    inputs = (
        f"# {node.name}: {node.meta.get(EXAMPLE)}" for node in module.graph.find_nodes(op="placeholder")
    )
    text = "\n".join([*inputs, module.print_readable(print_output=False)])
    try:
        with tempfile.NamedTemporaryFile(
            "w", prefix="framesmith-graph-", suffix=".py", delete=False, encoding="utf-8"
        ) as file:
            file.write(text)
    except OSError:
        return None
    return file.name
