"""Suspended generators that end together, or that an operation takes out of a container, are closed when and in the order in which CPython
closes them: that of the container, or of the slots of the frame, which goes the other way from 3.14 on."""

from collections import deque
from collections.abc import Callable, Iterator
from typing import Any

import pytest
import torch

from framesmith import frontend


def noted(number: int, log: list[Any]) -> Iterator[int]:
    try:
        yield number
    finally:
        log.append(number)


def begun(number: int, log: list[Any]) -> Iterator[int]:
    generator = noted(number, log)
    next(generator)
    return generator


class Noted:
    """Has an end that is seen, and is no generator."""

    def __init__(self, number: int, log: list[Any]) -> None:
        self.number, self.log = number, log

    def __del__(self) -> None:
        self.log.append(self.number)


class Plain:
    pass


@torch.compiler.disable
def clear_natively(container: Any, log: list[Any]) -> None:
    container.clear()
    log.append("cleared")


TABLE: dict[str, Any] = {}
NAMES = {
    "g": begun,
    "N": Noted,
    "noted": noted,
    "clear_natively": clear_natively,
    "deque": deque,
    "TABLE": TABLE,
}
NAMES |= {"Plain": Plain, "graph_break": torch._dynamo.graph_break}

IN_VARIABLES = {
    "two": "a = g(0, log); b = g(1, log)",
    "the second first": "a = None; b = g(0, log); a = g(1, log)",
    "exchanged": "a, b = g(0, log), g(1, log); a, b = b, a",
    "a tuple": "a = (g(0, log), g(1, log))",
    "a list and one": "a = [g(0, log), g(1, log)]; b = g(2, log)",
    "an object": "a = Plain(); a.b = g(0, log); a.a = g(1, log)",
    "a zip": "a = zip(noted(0, log), noted(1, log)); next(a)",
    "a list in a list": "a = [[g(0, log)], g(1, log)]; b = a[0]; b = None",
    "an inner frame": "def h(a, b): pass\n    h(g(0, log), g(1, log)); log.append('x')",
    "an exception": "a = g(0, log); b = g(1, log); raise ValueError",
}
TAKEN_OUT = {
    "an item": "a = [g(0, log)]; a[0] = g(1, log); log.append('x')",
    "a slice": "a = [g(0, log), g(1, log)]; del a[:]; log.append('x')",
    "another slice": "a = [g(i, log) for i in range(3)]; a[1:2] = [g(5, log)]; log.append('x'); a *= 0; log.append('y')",
    "reversed": "a = [g(0, log), g(1, log)]; a.reverse(); log.append('x'); del a",
    "a dict": "a = {1: g(0, log), 2: g(1, log)}; a.clear(); a[3] = g(3, log); log.append('x')",
    "a key": "a = {1: g(0, log)}; a[1] = g(1, log); log.append('x'); a.pop(1); log.append('y')",
    "a set": "a = {g(0, log)}; a.pop(); log.append('x')",
    "a deque": "a = deque(maxlen=2)\n    for i in range(4): a.append(g(i, log)); log.append('x')",
    "an attribute": "a = Plain(); a.b = g(0, log); a.b = g(1, log); log.append('x'); del a.b; log.append('y')",
    "from outside": "TABLE['k'] = [g(0, log)]; TABLE['k'].pop(); log.append('x'); TABLE['k'] = g(1, log); TABLE.clear(); log.append('y')",
    "one by one": "a = []\n    for i in range(3): a.append(g(i, log))\n    while a: a.pop(0)\n    log.append('x')",
    "unpacked": "a, *b = [g(i, log) for i in range(3)]; del b; log.append('x')",
}
NATIVELY = {
    "a list": "clear_natively([g(0, log), g(1, log)], log)",
    "a variable": "a = [g(0, log)]; clear_natively(a, log)",
    "a dict": "clear_natively({1: g(0, log), 2: g(1, log)}, log)",
    "in an inner frame": "def h(a): clear_natively(a, log); log.append('x')\n    h([g(0, log), g(1, log)])",
    "objects": "clear_natively([N(0, log), N(1, log)], log)",
    "a dict of objects": "clear_natively({1: N(0, log), 2: N(1, log)}, log)",
    "behind a break": "a = {1: g(0, log), 2: g(1, log)}; graph_break(); a.clear(); log.append('x')",
}


@pytest.mark.parametrize("backend", ["eager", "aot_eager"])
@pytest.mark.parametrize(
    "body",
    [
        pytest.param(body, id=name)
        for some in (IN_VARIABLES, TAKEN_OUT, NATIVELY)
        for name, body in some.items()
    ],
)
def test_ends(body: str, backend: str) -> None:
    namespace: dict[str, Any] = dict(NAMES)
    exec(f"def f(x, log):\n    {body}\n    return x + 1", namespace)
    function: Callable[..., Any] = namespace["f"]
    compiled = frontend.compile(function, backend=backend)
    logs = []
    for call in (function, compiled, compiled):
        log: list[Any] = []
        TABLE.clear()
        try:
            call(torch.ones(2), log)
        except ValueError:
            log.append("raised")
        log.append("returned")
        logs.append(log)
    assert logs[1:] == logs[:1] * 2


def test_a_manager_around_the_function_costs_no_break() -> None:
    from contextlib import contextmanager

    @contextmanager
    def block(log: list[Any]) -> Iterator[None]:
        try:
            yield
        finally:
            log.append("closed")

    def run(x: torch.Tensor, log: list[Any]) -> torch.Tensor:
        made = {"a": [x]}
        with block(log):
            made["a"].append(x + 1)
            made["b"] = made.pop("a")
        return made["b"][1]

    log = list[Any]()
    result = frontend.compile(run, backend="eager", fullgraph=True)(torch.ones(2), log)
    assert result.equal(torch.full((2,), 2.0)) and log == ["closed"]


MIXED = {
    "an object and a generator": "a = N(1, log); b = g(2, log)",
    "in one dict": "a = {1: N(1, log), 2: g(2, log)}",
    "in one deque": "a = deque([N(1, log), N(2, log)])",
    "an attribute": "a = Plain(); a.b = N(1, log); a.b = N(2, log); log.append('x'); b = g(3, log)",
    "an attribute and a deque": "a = deque([g(1, log), g(2, log)]); b = Plain(); b.a = N(3, log); b.a = g(4, log)",
    "an overwritten tuple": "a = (g(2, log), g(3, log)); b = g(5, log); a = ()",
    "a slice of both": "a = [[g(5, log)], g(6, log)]; graph_break(); a.extend([g(9, log)]); a[:] = []; log.append('x')",
    "appended behind a break": "v = g(1, log); a = deque([noted(2, log)]); graph_break(); a.append(g(4, log))",
}


@pytest.mark.parametrize("backend", ["eager", "aot_eager"])
@pytest.mark.parametrize("name", MIXED)
def test_objects_and_generators(name: str, backend: str) -> None:
    test_ends(MIXED[name], backend)


def test_what_is_returned_outlives_no_trace() -> None:
    def run(x: torch.Tensor, log: list[Any]) -> tuple[torch.Tensor, Noted]:
        kept = Noted(1, log)
        for _ in noted(2, log):
            break
        other = Plain()
        other.a = begun(3, log)  # type: ignore[attr-defined]
        return x + 1, kept

    for call in (run, frontend.compile(run, backend="eager")):
        log = list[Any]()
        result = call(torch.ones(2), log)
        del result
        assert log == [2, 3, 1]
