"""Run programs in forked children, so that a crash, a hang and a leak of state are results of one program only.

A child tells over a pipe which episode it starts; when it dies, the episode it was in is the finding and another child
goes on behind it.
"""

import faulthandler
import logging
import multiprocessing
import random
import resource
import signal
import time
import warnings
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from multiprocessing.connection import Connection, wait
from typing import Any

import torch
from tests.perturbation import episode, sides
from tests.perturbation.corpus import Program, programs

from framesmith import frontend

FORK = multiprocessing.get_context("fork")
PATIENCE = 120
MEMORY = 6 << 30


@dataclass
class Result:
    """What became of one program."""

    program: str
    calls: int = 0
    raised: int = 0
    graphs: int = 0
    mutations: int = 0
    findings: list[tuple[list[str], episode.Finding]] = field(default_factory=list)


def episodes(program: Program, seed: int, limit: int, wanted: str | None = None) -> list[list[str]]:
    """The mutations of a run: a sample, in groups of up to three of which some concern the same thing."""
    dice = random.Random(f"{seed} {program.name}")
    every = episode.identifiers(program)
    if wanted is not None:
        return [[one] for one in every if wanted in one]
    chosen = dice.sample(every, min(limit, program.limit or limit, len(every)))
    if dice.random() < 0.5:
        chosen.sort(key=lambda one: one.partition(": ")[0])
    groups: list[list[str]] = []
    while chosen:
        size = dice.choice((1, 2, 2, 3))
        groups.append(chosen[:size])
        chosen = chosen[size:]
    return groups


def minimal(program: Program, group: Sequence[str]) -> tuple[list[str], episode.Finding] | None:
    """The finding of a group with as few mutations as show it."""
    found = episode.run(program, group)
    if found is None:
        return None
    best, smallest = found, list(group)
    for smaller in ([found.mutation], [group[0], found.mutation]):
        again = (
            episode.run(program, smaller)
            if found.mutation in group and len(smaller) < len(smallest)
            else None
        )
        if again is not None:
            return smaller, again
    return smallest, best


def _child(program: Program, pipe: Connection, groups: list[list[str]]) -> None:
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    faulthandler.enable()
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
    warnings.simplefilter("ignore")
    logging.disable()
    with frontend.config.patch(raise_bugs=True, verify_code=True):
        for index, group in enumerate(groups):
            pipe.send(("start", index))
            tally = sides.Tally()
            try:
                finding = episode.run(program, group, tally)
                if finding is not None:
                    shown = minimal(program, group) or (list(group), finding)
                    pipe.send(("finding", shown))
            except BaseException as error:
                text = f"the battery failed: {type(error).__name__}: {error}{sides.origin(error)}"
                pipe.send(("finding", (group, episode.Finding(group[0], "", text))))
            pipe.send(("tally", (tally.calls, tally.raised, tally.graphs, len(group))))
    pipe.send(("end", None))


class _Worker:
    """One program being run by a child."""

    def __init__(self, program: Program, seed: int, limit: int, wanted: str | None) -> None:
        self.program = program
        self.result = Result(program.name)
        self.groups: list[list[str]] | None = None
        self.index = 0
        self._plan = (seed, limit, wanted)
        self.start()

    def start(self) -> None:
        """Fork a child for what is left."""
        self.pipe, other = FORK.Pipe(duplex=False)
        self.began = time.monotonic()
        self.process = FORK.Process(target=self._main, args=(other,), daemon=True)
        self.process.start()
        other.close()

    def _main(self, pipe: Connection) -> None:
        torch.set_num_threads(1)  # makes a new pool of threads; two threads that do so at once crash in torch
        if self.groups is None:
            try:
                self.groups = episodes(self.program, *self._plan)
            except Exception as error:
                pipe.send(("finding", ([], episode.Finding("", "", f"not a program: {error!r}"))))
                self.groups = []
            pipe.send(("plan", self.groups))
        _child(self.program, pipe, self.groups[self.index :])

    def receive(self) -> bool:
        """Take one message; whether the program is finished."""
        try:
            kind, data = self.pipe.recv()
        except EOFError:
            return self._died("died")
        self.began = time.monotonic()
        if kind == "plan":
            self.groups = data
        elif kind == "start":
            self.current = self.index
            self.index += 1
        elif kind == "finding":
            self.result.findings.append(data)
        elif kind == "tally":
            self.result.calls += data[0]
            self.result.raised += data[1]
            self.result.graphs += data[2]
            self.result.mutations += data[3]
        if kind == "end":
            self.process.join()
            return True
        return False

    def _died(self, how: str) -> bool:
        self.process.join()
        group = (self.groups or [[]])[max(self.index - 1, 0)] if self.groups else []
        message = f"the process {how} (exit code {self.process.exitcode})"
        self.result.findings.append((group, episode.Finding(group[-1] if group else "", "", message)))
        if self.groups is None or self.index >= len(self.groups):
            return True
        self.start()
        return False

    def check_time(self) -> bool:
        """Kill a child that hangs; whether the program is finished."""
        if time.monotonic() - self.began < PATIENCE:
            return False
        self.process.kill()
        return self._died("hung")


def warm_up() -> None:
    """Compile and call in the parent what takes torch's slow imports in, or each child would import them anew.

    No backward: a child cannot use an autograd engine that was started before the fork.
    """
    for program in (one for one in programs() if one.name in ("einops rearrange", "size as a number")):
        for dynamic in (None, True):
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                world, _ = program.world()
                compiled = frontend.compile(world.function, backend=_as_it_is, dynamic=dynamic)
                compiled(*world.args, **world.kwargs)
    frontend.reset()


def _as_it_is(module: torch.fx.GraphModule, example_inputs: list[Any]) -> Callable[..., Any]:
    return module.forward


def run_all(
    programs: Sequence[Program], *, seed: int, limit: int, workers: int = 2, wanted: str | None = None
) -> Iterator[Result]:
    """The result of each program, as they come."""
    warm_up()
    waiting, running = list(programs), list[_Worker]()
    while waiting or running:
        while waiting and len(running) < workers:
            running.append(_Worker(waiting.pop(0), seed, limit, wanted))
        ready: list[Any] = wait([one.pipe for one in running], timeout=5)
        for worker in list(running):
            finished = worker.receive() if worker.pipe in ready else worker.check_time()
            if finished:
                running.remove(worker)
                yield worker.result
