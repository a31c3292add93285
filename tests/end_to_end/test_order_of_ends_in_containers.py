"""The values of an existing container that the function empties end in the order in which the container lets go of them."""

from collections import deque
from collections.abc import Callable
from typing import Any

import pytest
import torch

from framesmith import frontend


class Ending:
    def __init__(self, name: int, log: list[int]) -> None:
        self.name, self.log = name, log

    def __del__(self) -> None:
        self.log.append(self.name)


def three(log: list[int]) -> list[Ending]:
    return [Ending(number, log) for number in range(3)]


def nested(log: list[int]) -> list[Any]:
    one, two, three, four, five = (Ending(number, log) for number in range(5))
    return [[one, two], three, (four, five)]


KINDS: dict[str, Callable[[list[int]], Any]] = {
    "list": three,
    "dict": lambda log: dict(enumerate(three(log))),
    "deque": lambda log: deque(three(log)),
    "nested list": nested,
    "nested dict": lambda log: dict(enumerate(nested(log))),
    "list in a list": lambda log: [three(log)],
}
CHANGES = {
    "clear": (KINDS, "d.clear()"),
    "a slice": (("list", "nested list"), "d[1:] = []"),
    "all": (("list", "nested list"), "d[:] = [1, 2]"),
    "deleted": (("list", "nested list"), "del d[1:]"),
    "a part deleted": (("list", "nested list"), "del d[::2]"),
    "a part backwards": (("list",), "del d[::-1]"),
    "a part replaced": (("list", "nested list"), "d[::2] = [None] * len(d[::2])"),
    "none of it": (("list", "nested list"), "d *= 0"),
    "inside": (("list in a list",), "d[0].clear()"),
    "one by one": (("list", "dict", "deque"), "del d[0]; d[1] = None"),
    "taken out": (("list", "dict"), "d.pop(1); d.clear()"),
}


@pytest.mark.parametrize("backend", ["eager", "aot_eager"])
@pytest.mark.parametrize(
    ("change", "kind"), [(change, kind) for change, (kinds, _) in CHANGES.items() for kind in kinds]
)
def test_ends(change: str, kind: str, backend: str) -> None:
    namespace: dict[str, Any] = {}
    exec(f"def f(x, d):\n    {CHANGES[change][1]}\n    return x + 1", namespace)
    logs = []
    for call in (namespace["f"], frontend.compile(namespace["f"], backend=backend)):
        for _ in range(3):
            log, held = list[int](), list[Any]()
            held.append(KINDS[kind](log))
            call(torch.ones(1), held[0])
            logs.append([*log])
    assert logs[:3] == logs[3:]
    assert logs[0]
