"""How much of a program is captured: operators run by graphs against operators run eagerly, graphs run against breaks hit."""

import contextlib
import io
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import torch
from tests.end_to_end.worlds import load
from torch.overrides import TorchFunctionMode

from framesmith import frontend

QUESTIONS = frozenset({"__get__", "__set__", "__bool__", "item", "__len__", "dim", "_set_grad_enabled"})


class Counting(TorchFunctionMode):
    """Counts the operators that a program runs eagerly; questions and switches are none."""

    def __init__(self) -> None:
        super().__init__()
        self.operators = 0

    def __torch_function__(self, function: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        self.operators += function.__name__ not in QUESTIONS
        return function(*args, **(kwargs or {}))


@dataclass
class Capture:
    """The last of three calls."""

    operators_eagerly: int
    operators: int
    runs: int
    breaks: int


def is_operator(node: torch.fx.Node) -> bool:
    """A node that computes tensors."""
    value = node.meta.get("example_value")
    return node.op in ("call_function", "call_method") and isinstance(value, torch.Tensor)


def capture(source: str, name: str, change: Callable[..., None], mark: str = "p ") -> Capture:
    """Run a program three times each way; a break is a line of output that begins with `mark`."""
    seen = Capture(0, 0, 0, 0)

    def backend(module: torch.fx.GraphModule, inputs: Any) -> Callable[..., Any]:
        size = sum(map(is_operator, module.graph.nodes))

        def run(*args: Any) -> Any:
            seen.runs += 1
            seen.operators += size
            return module(*args)

        return run

    for compiled in (False, True):
        namespace = load(source, name)
        args = namespace["args"]()
        function = frontend.compile(namespace["f"], backend=backend) if compiled else namespace["f"]
        for _ in range(3):
            counting, output = Counting(), io.StringIO()
            seen.runs = seen.operators = 0
            mode = contextlib.nullcontext() if compiled else counting
            with mode, contextlib.redirect_stdout(output):
                function(*args)
            change(*args)
            seen.breaks = output.getvalue().count(mark)
            seen.operators_eagerly = seen.operators_eagerly if compiled else counting.operators
    return seen
