"""A sweep works through names in child processes: a crash is a result like any other, and the next child goes on behind it."""

import argparse
import json
import subprocess
import sys
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, final

Result = dict[str, Any]
"""What a child says in a line of JSON. One with `begun` only says where a crash would be."""


@final
@dataclass(frozen=True)
class Sweep:
    """What a sweep is made of. `of_one` gives the results for a name and a number of samples; `kind_of` sorts a result, and
    those of the kinds in `expected` are counted but not shown."""

    module: str
    description: str
    samples: int
    names: Callable[[], Sequence[str]]
    prepare: Callable[[], None]
    of_one: Callable[[str, int], Iterator[Result]]
    kind_of: Callable[[Result], str]
    expected: frozenset[str]

    def main(self) -> Counter[str]:
        """The command line: how many results of each kind there are."""
        parser = argparse.ArgumentParser(description=self.description)
        parser.add_argument("--only", default="", help="names that contain this text")
        parser.add_argument("--slice", default="1/1", help="every n-th name, as in 2/4")
        parser.add_argument("--samples", type=int, default=self.samples, help="samples for each operator")
        parser.add_argument("--child", action="store_true", help=argparse.SUPPRESS)
        given = parser.parse_args()
        counts: Counter[str] = Counter()
        if given.child:
            self._child(sys.stdin.read().split("\n"), given.samples)
            return counts
        number, of = map(int, given.slice.split("/"))
        names = [name for name in self.names() if given.only in name][number - 1 :: of]
        for one in self._parent(names, given.samples):
            kind = next((key for key in ("crash", "skipped") if key in one), None) or self.kind_of(one)
            counts[kind] += 1
            counts["calls"] += int(one.get("tried", 0))
            if kind not in self.expected:
                print(json.dumps(one), flush=True)
        print(dict(counts))
        return counts

    def _child(self, names: Sequence[str], count: int) -> None:
        self.prepare()
        for name in names:
            print(json.dumps({"name": name, "begun": True}), flush=True)
            try:
                for result in self.of_one(name, count):
                    print(json.dumps(result), flush=True)
            except Exception as error:  # the database's own samples may need what is not installed
                said = f"{type(error).__name__}: {error}"[:200]
                print(json.dumps({"name": name, "skipped": said}), flush=True)
            print(json.dumps({"name": name, "done": True}), flush=True)

    def _parent(self, names: list[str], count: int) -> Iterator[Result]:
        while names:
            command = [sys.executable, "-m", self.module, "--child", "--samples", str(count)]
            process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
            assert process.stdin is not None and process.stdout is not None
            process.stdin.write("\n".join(names))
            process.stdin.close()
            last: Result = {}
            for line in process.stdout:
                if not line.startswith('{"name"'):
                    continue
                last = json.loads(line)
                if "done" in last:
                    names.remove(last["name"])
                elif "begun" not in last:
                    yield last
            if process.wait() and names:
                yield {**last, "name": names.pop(0), "crash": process.returncode}
