"""What becomes of a program: source, operations, breaks, and of each entry the graph, the guards and the code.

A `.case` file holds them as sections (`=== title`). Operations differ between Python versions, so their section names
the version, and so do the guards of programs that run Python code of torch (`FOLLOWS_TORCH`), with its release; all others
are the same for all versions. `python -m tests.golden.update` writes the files.
"""

import re
import sys
from pathlib import Path

import torch

from framesmith import frontend
from framesmith.bytecode.meaning import read
from framesmith.graph.passes.text import text as graph_text

CASES = sorted((Path(__file__).parent / "cases").glob("*.case"))
VERSION = f"{sys.version_info.major}.{sys.version_info.minor}"
TORCH = ".".join(torch.__version__.split(".")[:2])
FOLLOWS_TORCH = "# guards follow the release of torch"
OTHER_VERSION = re.compile(r"(?:operations \d+\.\d+|.*: guards, Python \d+\.\d+ with torch \d+\.\d+)")
_TORCH = str(Path(torch.__file__).parent)
_NEUTRAL = [  # what differs between machines and releases of torch
    (re.compile(r"0x[0-9a-f]+"), "0x..."),
    (re.compile(r"(<slot wrapper '\w+') of '\w+' objects>"), r"\1>"),  # the repr before Python 3.15
    (re.compile(r" from '.*?(?:\.\.\.|'>)"), " from ...>"),
    (re.compile(re.escape(_TORCH) + r"(\S*?\.py):\d+"), r"torch\1"),
    (re.compile(r"/\S*/(framesmith/\w+/\S*?\.py):\d+"), r"\1"),
]


def sections(text: str) -> dict[str, str]:
    """The sections of a file, by title."""
    parts = re.split(r"^=== (.*)\n", text, flags=re.MULTILINE)[1:]
    return {title: body.strip("\n") for title, body in zip(parts[::2], parts[1::2], strict=True)}


def written(found: dict[str, str]) -> str:
    """A file with these sections."""
    return "\n\n".join(f"=== {title}\n{body}" for title, body in found.items()) + "\n"


def stages(name: str, source: str) -> dict[str, str]:
    """Every section for a program that defines `f` and `args()`, as it is on the running version."""
    namespace: dict[str, object] = {"__name__": "program"}
    exec(compile(source, f"{name}.py", "exec"), namespace)
    function, arguments = namespace["f"], namespace["args"]
    frontend.reset()
    explanation = frontend.explain(function)(*arguments())
    found = {"source": source, f"operations {VERSION}": operations(function)}
    if explanation.breaks:
        found["breaks"] = "\n".join(
            f"line {one.line}: {one.kind}" + (f", {one.detail}" if one.detail else "")
            for one in explanation.breaks
        )
    for number, entry in enumerate(explanation.entries, 1):
        found[f"entry {number}, {entry.title()}: graph"] = (
            "none" if entry.graph is None else graph_text(entry.graph.graph)
        )
        release = f", Python {VERSION} with torch {TORCH}" if source.startswith(FOLLOWS_TORCH) else ""
        found[f"entry {number}: guards{release}"] = "\n".join(entry.guard_lines())
        found[f"entry {number}: code"] = entry.source
    return {neutral(title): neutral(body) for title, body in found.items()}


def neutral(text: str) -> str:
    """The text without addresses, folders and lines of torch."""
    for pattern, replacement in _NEUTRAL:
        text = pattern.sub(replacement, text)
    return text


def operations(function: object) -> str:
    """The version-neutral reading of a function, or of a module's `forward`: one line an operation."""
    code = getattr(function, "__code__", None) or type(function).forward.__code__
    lines = []
    for index, operation in enumerate(read(code).operations):
        argument = operation.argument
        shown = "" if argument is None else f" {argument if isinstance(argument, str) else repr(argument)}"
        target = "" if operation.target is None else f" -> {operation.target}"
        lines.append(f"{index:3} {operation.kind.name}{shown}{target}")
    return "\n".join(lines)


def renewed(path: Path) -> str:
    """The text of a file with the sections of the running version; operations of other versions are kept."""
    known = sections(path.read_text())
    made = stages(path.stem, known["source"])
    others = {title: body for title, body in known.items() if OTHER_VERSION.fullmatch(title)}
    versioned = others | {title: body for title, body in made.items() if OTHER_VERSION.fullmatch(title)}
    reading = {title: body for title, body in sorted(versioned.items()) if title.startswith("operations ")}
    rest = {title: body for title, body in made.items() if title not in versioned and title != "source"}
    guards = {title: body for title, body in sorted(versioned.items()) if title not in reading}
    return written({"source": made["source"], **reading, **rest, **guards})
