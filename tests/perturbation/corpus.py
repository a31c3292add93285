"""The programs: sections `=== name` of the files `programs/*.case`, each the source of one world.

A program defines `f` (a function, a method or a module) and `args()`, perhaps `kwargs()`. Each world executes the
source in a namespace of its own, so everything in it may be changed without the other world seeing it.
A line `# limit N` gives the number of mutations of an expensive program in a full run.
"""

import linecache
import random
import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache, cached_property
from pathlib import Path
from types import CodeType
from typing import Any

import torch
from tests.end_to_end.worlds import World

FOLDER = Path(__file__).with_name("programs")
PRELUDE = """\
import collections, contextlib, copy, dataclasses, enum, functools, itertools, math, operator, random, types, typing
import torch
import torch.nn.functional as F
from collections import Counter, OrderedDict, defaultdict, deque, namedtuple
from dataclasses import dataclass, field
from torch import nn
from framesmith import frontend
"""


@dataclass(frozen=True)
class Program:
    """One program by name."""

    name: str
    text: str

    @property
    def source(self) -> str:
        """With the imports that all have."""
        return PRELUDE + self.text

    @property
    def limit(self) -> int | None:
        """How many mutations are enough, where the program says so."""
        found = re.search(r"^# limit (\d+)$", self.text, re.MULTILINE)
        return int(found[1]) if found else None

    @cached_property
    def code(self) -> CodeType:
        """Compiled once; tracebacks find its lines."""
        filename = f"<program {self.name}>"
        linecache.cache[filename] = (len(self.source), None, self.source.splitlines(keepends=True), filename)
        return compile(self.source, filename, "exec")

    def arguments(self, namespace: dict[str, Any]) -> Sequence[object]:
        """What the first call gets."""
        return namespace["args"]() if "args" in namespace else ()

    def world(self) -> tuple[World, dict[str, Any]]:
        """A new world, and the namespace it lives in."""
        namespace: dict[str, Any] = {"__name__": "program"}
        torch.manual_seed(3)
        random.seed(3)
        exec(self.code, namespace)
        args = list(self.arguments(namespace))
        kwargs = namespace["kwargs"]() if "kwargs" in namespace else {}
        return World(namespace["f"], args, kwargs), namespace


@cache
def programs() -> tuple[Program, ...]:
    """All programs, in the order of the files."""
    found: list[Program] = []
    for path in sorted(FOLDER.glob("*.case")):
        parts = re.split(r"^=== (.+)\n", path.read_text(encoding="utf-8"), flags=re.MULTILINE)[1:]
        found += [Program(name.strip(), text) for name, text in zip(parts[::2], parts[1::2], strict=True)]
    names = [one.name for one in found]
    doubled = {name for name in names if names.count(name) > 1}
    assert not doubled, f"two programs have one name: {doubled}"
    return tuple(found)
