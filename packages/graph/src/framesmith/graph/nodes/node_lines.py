"""The lines of the program that nodes come from, and the numbers that nodes invented."""

from collections.abc import Iterable
from typing import Final

from torch import fx

_SEPARATOR: Final = "  File "


def user_line(node: fx.Node) -> str | None:
    """The innermost line of the user: `program.py:3 in f: y = x.sin()`; None for a node that no line has made."""
    _, found, frame = str(node.meta.get("stack_trace", "")).rpartition(_SEPARATOR)
    head, _, source = frame.partition("\n")
    file, _, rest = head.rpartition(", line ")
    if not (found and file):
        return None
    number, _, function = rest.partition(", in ")
    text = source.strip().splitlines()
    shown = f": {text[0]}" if text else ""
    return f"{file.strip(chr(34))}:{number} in {function}{shown}"


def explain_unknown(graph: fx.Graph, symbols: Iterable[object]) -> list[str]:
    """Where numbers come from that operations of a graph invented: `u0 comes from program.py:3 in f: n = x.sum().item()`."""
    wanted = {*symbols}
    return [
        f"{symbol} comes from {line}"
        for node in graph.nodes
        for symbol in node.meta.get("unbacked_bindings", ())
        if symbol in wanted and (line := user_line(node)) is not None
    ]
