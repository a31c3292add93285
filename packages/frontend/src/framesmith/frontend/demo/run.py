"""One case of the demo after the other: compile, compare with eager, measure. The table itself is made in `report`."""

import os
import shutil
import traceback
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from typing import final

import torch

from framesmith import frontend
from framesmith.frontend.demo import compare, measure
from framesmith.frontend.demo.cases import Case, DemoProgram
from framesmith.frontend.demo.compare import Difference
from framesmith.frontend.demo.measure import FRAMESMITH, TORCH, Overhead
from framesmith.frontend.errors import TracingBugWarning


@final
@dataclass(frozen=True, slots=True)
class Cost:
    """What one compiler costs on one case: warm trace time in seconds, and the overhead of a call."""

    trace: float
    overhead: Overhead


@final
@dataclass(frozen=True, slots=True)
class Counts:
    """What `explain` counted in one program."""

    graphs: int = 0
    breaks: int = 0
    operators: int = 0
    guards: int = 0


@final
@dataclass(frozen=True, slots=True)
class CaseRow:
    """What came out of one case. `failure` holds the text of an exception that framesmith raised, `cost` and `peer` are
    None where nothing was measured."""

    name: str
    above_eager: bool = False
    differences: tuple[Difference, ...] = ()
    failure: str = ""
    counts: Counts = Counts()
    cost: Cost | None = None
    peer: Cost | None = None

    @property
    def passed(self) -> bool:
        """Whether the compiled program did exactly what eager does."""
        return not self.differences and not self.failure


def cpp_compiler() -> str | None:
    """The C++ compiler that inductor would find, or None."""
    return next(
        filter(None, map(shutil.which, (os.environ.get("CXX") or "g++", "g++", "clang++", "cl"))), None
    )


def choose_backend() -> str:
    """`inductor` where a C++ compiler exists, else `aot_eager`."""
    return "inductor" if cpp_compiler() else "aot_eager"


def check(case: Case, backend: str) -> tuple[Difference, ...]:
    """Where the program compiled for the backend differs from eager."""
    reference = case.build()
    expected = compare.observe(reference, reference.target)
    frontend.reset()
    program = case.build()
    found = compare.observe(program, frontend.compile(program.target, backend=backend))
    return tuple(compare.differences(expected, found))


def count(build: Callable[[], DemoProgram]) -> Counts:
    """Graphs, breaks, operators and guards of the program, as `explain` counts them."""
    program = build()
    account = frontend.explain(program.target)(*program.arguments, **program.keywords)
    operators = measure.operators(account.graphs)
    return Counts(len(account.graphs), len(account.breaks), operators, len(account.guards))


def cost(peer: measure.Peer, case: Case) -> Cost:
    """Measure one compiler on the case, on one thread."""
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        return Cost(measure.trace_seconds(peer, case.build), measure.overhead(peer, case.build, case.native))
    finally:
        torch.set_num_threads(threads)


def run(case: Case, backend: str, measured: bool = True) -> CaseRow:
    """The row of one case; an exception of framesmith becomes a row that failed, with its text.

    A warning of a bug is such an exception too: after it the program runs uncompiled, and does what eager does.
    """
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error", TracingBugWarning)
            differences = check(case, backend)
            counts = count(case.build)
            ours = cost(FRAMESMITH, case) if measured else None
    except Exception:
        return CaseRow(case.name, case.native, failure=traceback.format_exc())
    theirs = cost(TORCH, case) if measured else None
    return CaseRow(case.name, case.native, differences, counts=counts, cost=ours, peer=theirs)
