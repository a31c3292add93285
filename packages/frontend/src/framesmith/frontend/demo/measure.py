"""What compiling and calling cost, for framesmith and for torch.compile, in the same process and by the same rule.

Trace time: the first call with a backend that hands the graph back as it is, less the time inside that backend, and less
a later call, both without the time inside their graphs. Overhead: a call less its bare graphs, that is less the captured
`gm.forward` called with the flat inputs that the call handed to it. The least of interleaved rounds; seconds throughout.
"""

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import final

import torch
from torch import fx

from framesmith import frontend
from framesmith.frontend.demo.cases import DemoProgram

Call = Callable[[], object]
Compiled = Callable[..., object]
Backend = Callable[[fx.GraphModule, Sequence[object]], Compiled]


@final
@dataclass(frozen=True, slots=True)
class Peer:
    """A compiler that takes a callable and a backend, and can forget all it compiled."""

    name: str
    compile: Callable[[Compiled, Backend], Compiled]
    reset: Callable[[], object]


FRAMESMITH = Peer(
    "framesmith",
    lambda function, backend: frontend.compile(function, backend=backend),
    lambda: frontend.reset(),
)
TORCH = Peer(
    "torch.compile",
    lambda function, backend: torch.compile(function, backend=backend),
    lambda: torch.compiler.reset(),
)


@final
@dataclass(slots=True)
class Capture:
    """A backend that keeps the graphs it is given. With `recording` on, each run of a graph is kept with its inputs; with
    `timing` on, its time is added to `in_graphs`.
    """

    recording: bool = False
    timing: bool = False
    graphs: list[fx.GraphModule] = field(default_factory=list)
    runs: list[tuple[Compiled, tuple[object, ...]]] = field(default_factory=list)
    grad_enabled: bool = True
    seconds: float = 0.0
    in_graphs: float = 0.0

    def __call__(self, graph: fx.GraphModule, inputs: Sequence[object]) -> Compiled:
        """Keep the graph; hand back its own forward, or one that records."""
        start = time.perf_counter()
        self.graphs.append(graph)
        forward: Compiled = graph.forward
        result = self.recorder(forward) if self.recording else forward
        result = self.timer(result) if self.timing else result
        self.seconds += time.perf_counter() - start
        return result

    def timer(self, forward: Compiled) -> Compiled:
        """A function that calls the graph and adds the time to `in_graphs`."""

        def run(*inputs: object) -> object:
            start = time.perf_counter()
            try:
                return forward(*inputs)
            finally:
                self.in_graphs += time.perf_counter() - start

        return run

    def recorder(self, forward: Compiled) -> Compiled:
        """A function that calls the graph, and keeps the call while `recording` is on."""

        def record(*inputs: object) -> object:
            if self.recording:
                self.runs.append((forward, inputs))
                self.grad_enabled = torch.is_grad_enabled()
            return forward(*inputs)

        return record

    @property
    def operators(self) -> int:
        """How many calls the graphs hold."""
        return operators(self.graphs)

    def replay(self) -> None:
        """Run the recorded graphs again, with nothing around them."""
        for forward, inputs in self.runs:
            forward(*inputs)


def operators(graphs: Sequence[fx.GraphModule]) -> int:
    """How many calls the graphs hold together."""
    return sum(node.op.startswith("call_") for graph in graphs for node in graph.graph.nodes)


def bind(program: DemoProgram, function: Compiled) -> Call:
    """A call without arguments of the program's function."""
    arguments, keywords = program.arguments, program.keywords
    return lambda: function(*arguments, **keywords)


def record(peer: Peer, build: Callable[[], DemoProgram]) -> Capture:
    """The graphs of the program, and the runs of its second call."""
    peer.reset()
    program = build()
    capture = Capture(recording=True)
    once = bind(program, peer.compile(program.target, capture))
    once()
    capture.runs.clear()
    once()
    capture.recording = False
    return capture


def trace_seconds(peer: Peer, build: Callable[[], DemoProgram], repeats: int = 3) -> float:
    """Least time to trace the program when the compiler itself is warm; backend and execution left out."""
    found = []
    for _ in range(repeats):
        peer.reset()
        program, capture = build(), Capture(timing=True)
        once = bind(program, peer.compile(program.target, capture))
        first = elapsed_outside(capture, once)
        later = min(elapsed_outside(capture, once) for _ in range(3))
        found.append(first - later - capture.seconds)
    return min(found)


def elapsed_outside(capture: Capture, function: Call) -> float:
    """Seconds of a call without those inside its graphs."""
    before = capture.in_graphs
    return elapsed(function) - (capture.in_graphs - before)


def elapsed(function: Call, loops: int = 1) -> float:
    """Seconds a call takes, over `loops` calls."""
    start = time.perf_counter()
    for _ in range(loops):
        function()
    return (time.perf_counter() - start) / loops


def fastest(functions: Sequence[Call], budget: float = 0.5, rounds: int = 60) -> list[float]:
    """The least seconds of each function; rounds alternate between them, so that drift hits all alike.

    The least and not the median, as `timeit` advises: what other processes take is only ever added, and the overhead of a
    call is the difference of two times ten times as long.
    """
    for function in functions:
        elapsed(function, 3)
    slowest = max(elapsed(function, 3) for function in functions)
    loops = max(1, int(budget / rounds / len(functions) / max(slowest, 1e-7)))
    taken = [[elapsed(function, loops) for function in functions] for _ in range(rounds)]
    return [min(column) for column in zip(*taken, strict=True)]


@final
@dataclass(frozen=True, slots=True)
class Overhead:
    """Seconds of a call and of what it is measured against."""

    call: float
    base: float

    @property
    def seconds(self) -> float:
        """What the compiler adds to each call."""
        return self.call - self.base


def overhead(
    peer: Peer, build: Callable[[], DemoProgram], above_eager: bool = False, budget: float = 0.5
) -> Overhead:
    """What a call costs above its bare graphs, or above eager for a program of which part runs natively."""
    capture = record(peer, build)
    peer.reset()
    program, reference = build(), build()
    once = bind(program, peer.compile(program.target, Capture()))
    once()
    if above_eager:
        call, base = fastest((once, bind(reference, reference.target)), budget)
    else:
        with torch.set_grad_enabled(capture.grad_enabled):
            call, base = fastest((once, capture.replay), budget)
    return Overhead(call, base)
