"""Run wild programs by seed, each in both worlds; shrink what differs.

`python -m tests.end_to_end.fuzz.wild_runs --seeds 0:1000` forks a child for some seeds at a time, so that a crash is a
finding; `--show 17` prints a program, `--shrink 17` its smallest form that still differs in the same way.
"""

import argparse
import faulthandler
import gc
import logging
import multiprocessing
import random
import re
import signal
import sys
import time
import warnings
from collections import defaultdict
from collections.abc import Iterator, Sequence
from contextlib import nullcontext
from multiprocessing.connection import Connection
from typing import Any

import torch
from tests.end_to_end.compare import Difference
from tests.end_to_end.fuzz.wild import CALLS, WildComposer
from tests.perturbation.corpus import Program
from tests.perturbation.sides import Sides, origin

from framesmith import frontend

FORK = multiprocessing.get_context("fork")
BATCH = 100
VERIFIED = 5
WARM = range(-3, 0)
PATIENCE = 60
HANDLER = re.compile(r"(except|else|finally)\b")


class WildProgram(Program):
    """A program whose worlds get their arguments call by call."""

    @property
    def source(self) -> str:
        """The text is complete."""
        return self.text

    def arguments(self, namespace: dict[str, Any]) -> Sequence[object]:
        """Those of the first call."""
        return namespace["args"](0)


def source(seed: int) -> str:
    """The program of a seed."""
    return WildComposer(random.Random(seed)).program()


def difference(text: str, dynamic: bool | None, calls: int = CALLS) -> str | None:
    """What is not as eagerly, None if all is."""
    number = -1
    try:
        sides = Sides(WildProgram("wild", text), dynamic)
        for number in range(calls):
            for world, names in ((sides.eager, sides.eager_names), (sides.compiled, sides.compiled_names)):
                names["change"](number)
                world.args[:] = names["args"](number)
            sides.call(nullcontext(), None)
    except Difference as error:
        return f"call {number}: {error}{origin(error.__cause__)}"
    return None


def dynamic_of(seed: int) -> bool | None:
    """Every fourth program is compiled with `dynamic=True`."""
    return True if seed % 4 == 3 else None


def prepare() -> None:
    """What every process needs before it runs programs."""
    faulthandler.enable()
    torch.set_num_threads(1)
    warnings.simplefilter("ignore")
    logging.disable()
    frontend.config.raise_bugs = frontend.config.verify_code = True


def warm_up() -> None:
    """Fill the caches of torch and of ours, and keep the collector off all that stands by now: children start from here."""
    prepare()
    for seed in WARM:
        difference(source(seed), None)
    gc.collect()
    gc.freeze()


def _child(seeds: range, pipe: Connection) -> None:
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    # One thread has to make torch's pool of the child; where threads of autograd come first, torch aborts the process.
    torch.set_num_threads(1)
    for seed in seeds:
        pipe.send((seed, "start", None))
        frontend.config.verify_code = seed % VERIFIED == 0
        try:
            found = difference(source(seed), dynamic_of(seed))
        except BaseException as error:
            found = f"the generator failed: {type(error).__name__}: {error}{origin(error)}"
        pipe.send((seed, "end", found))


def run(seeds: range) -> Iterator[tuple[int, str | None]]:
    """Each seed with its difference, one batch of seeds a child; emitted code is verified in one program of five."""
    warm_up()
    position = seeds.start
    while position < seeds.stop:
        pipe, other = FORK.Pipe(duplex=False)
        child = FORK.Process(
            target=_child, args=(range(position, min(position + BATCH, seeds.stop)), other), daemon=True
        )
        child.start()
        other.close()
        last = position
        while True:
            try:
                if not pipe.poll(PATIENCE):
                    child.kill()
                    child.join()
                    yield last, "the process hung"
                    position = last + 1
                    break
                last, kind, found = pipe.recv()
            except EOFError:
                child.join()
                if child.exitcode:
                    yield last, f"the process died (exit code {child.exitcode})"
                    position = last + 1
                break
            position = last + 1
            if kind == "end":
                yield last, found


def key(message: str) -> str:
    """Findings with one key have, most likely, one cause."""
    text = re.sub(r"^call \d+: ", "", message).splitlines()[0]
    return re.sub(r"tensor\(.*?\)|\[[^\]]*\]|\d+|'[^']*'|\"[^\"]*\"|nan|inf", "N", text)[:120]


def shrink(text: str, dynamic: bool | None, wanted: str) -> str:
    """Take lines away (a line with the block under it, or only the line) as long as the difference stays."""
    changed = True
    while changed:
        changed = False
        lines = text.splitlines()
        for index in range(len(lines) - 1, -1, -1):
            for candidate in _without(lines, index):
                if _still(candidate, dynamic, wanted):
                    text, changed = candidate, True
                    lines = text.splitlines()
                    break
    return text


def _without(lines: list[str], index: int) -> Iterator[str]:
    if index >= len(lines) or not lines[index].strip():
        return
    depth = len(lines[index]) - len(lines[index].lstrip())
    end = index + 1
    while end < len(lines) and lines[end].strip() and len(lines[end]) - len(lines[end].lstrip()) > depth:
        end += 1
    whole = end  # a `try` goes with its handlers
    while whole < len(lines) and HANDLER.match(lines[whole][depth:]):
        whole += 1
        while whole < len(lines) and lines[whole].strip() and not lines[whole][: depth + 1].strip():
            whole += 1
    if whole > end:
        yield "\n".join(lines[:index] + lines[whole:])
        yield "\n".join(lines[:index] + [line[4:] for line in lines[index + 1 : end]] + lines[whole:])
    yield "\n".join(lines[:index] + lines[end:])
    if end > index + 1:
        yield "\n".join(lines[:index] + [" " * depth + "pass", *lines[end:]])
        yield "\n".join(lines[:index] + [line[4:] for line in lines[index + 1 : end]] + lines[end:])


def _still(text: str, dynamic: bool | None, wanted: str) -> bool:
    try:
        compile(text, "candidate", "exec")
        found = difference(text, dynamic)
    except BaseException:
        return False
    return found is not None and key(found) == wanted


def main() -> int:
    """Run what the command line says; 1 if there is a difference."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--seeds", default="0:300", help="first:last (not included)")
    parser.add_argument("--show", type=int)
    parser.add_argument("--shrink", type=int)
    options = parser.parse_args()
    if options.show is not None:
        print(source(options.show))
        return 0
    if options.shrink is not None:
        prepare()
        found = difference(source(options.shrink), dynamic_of(options.shrink))
        if found is None:
            print("no difference")
            return 0
        print(shrink(source(options.shrink), dynamic_of(options.shrink), key(found)), "\n#", found)
        return 1
    return _report(options.seeds)


def _report(seeds: str) -> int:
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))
    first, _, last = seeds.partition(":")
    clusters: defaultdict[str, list[tuple[int, str]]] = defaultdict(list)
    done, began = 0, time.monotonic()
    try:
        for seed, found in run(range(int(first), int(last))):
            done += 1
            if found is not None:
                clusters[key(found)].append((seed, found))
    except (KeyboardInterrupt, SystemExit):
        signal.signal(signal.SIGTERM, signal.SIG_DFL)
        print("stopped before the end; so far:")
    for name, cases in sorted(clusters.items(), key=lambda item: -len(item[1])):
        print(f"\n## {len(cases)}x {name}")
        for seed, found in cases[:4]:
            print(f"   seed {seed}: {found[:400]}")
    count = sum(map(len, clusters.values()))
    print(
        f"\n{done} programs, {count} differences in {len(clusters)} clusters, {time.monotonic() - began:.0f} s"
    )
    return min(count, 1)


if __name__ == "__main__":
    sys.exit(main())
