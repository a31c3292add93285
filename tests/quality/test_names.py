"""Names of inputs and operations, and `stack_trace`: those that torch.compile gives."""

import re
from collections import Counter
from collections.abc import Callable, Iterable
from types import SimpleNamespace
from typing import Any

import pytest
import torch
from tests.quality.captured_graphs import graphs_of
from torch import fx, nn
from torch.fx.passes.utils.source_matcher_utils import get_source_partitions
from torch.torch_version import TorchVersion

from framesmith import frontend
from framesmith.frontend.demo import models

_NUMBER = re.compile(r"(_\d+)+$")
_HAS_MARKS = TorchVersion(torch.__version__) >= (2, 15)
"""Before, torch.compile's marks went to the end of the line, since it did not tell where an expression ends."""


def operations(graphs: Iterable[fx.Graph]) -> list[fx.Node]:
    return [node for graph in graphs for node in graph.nodes if node.op.startswith("call_")]


def inputs(graphs: Iterable[fx.Graph]) -> list[str]:
    return [node.name for graph in graphs for node in graph.nodes if node.op == "placeholder"]


def operator(node: fx.Node) -> str:
    return str(getattr(node.target, "__name__", node.target))


def stack(node: fx.Node) -> list[str]:
    """The lines of its `stack_trace`, but for marks that older releases put elsewhere."""
    return [line for line in node.stack_trace.splitlines() if _HAS_MARKS or line.strip(" ^~")]


def place(node: fx.Node) -> str:
    """The file and line of the innermost frame."""
    return [line for line in node.stack_trace.splitlines() if line.startswith("  File ")][-1]


@pytest.mark.parametrize("name", models.ARCHITECTURES)
def test_models_of_the_demo(name: str) -> None:
    models.require()
    model, given = models.ARCHITECTURES[name].build().eval(), models.ARCHITECTURES[name].inputs()
    holder = {"model": model}

    def call(**given: Any) -> Any:
        return holder["model"](**given)

    ours, theirs = (graphs_of(compiler, call, **given) for compiler in (frontend.compile, torch.compile))
    assert Counter(inputs(ours)) == Counter(inputs(theirs))
    # they record more: `to` of what has the dtype, dropout that does nothing
    texts, more = (
        Counter((operator(node), *stack(node)) for node in operations(one)) for one in (ours, theirs)
    )
    assert texts - more == Counter()
    # where `y = x.reshape(...).contiguous()` does nothing for the second, the first is `y` here. So numbers may differ, too.
    named, more = (
        Counter((_NUMBER.sub("", node.name), place(node)) for node in operations(one))
        for one in (ours, theirs)
    )
    assert named - more == Counter()
    same = [node for node in operations(ours) if _NUMBER.sub("", node.name) != operator(node)]
    assert len(same) > 20  # named after variables


@pytest.mark.parametrize("name", models.ARCHITECTURES)
def test_models_that_are_compiled_themselves(name: str) -> None:
    models.require()
    given = models.ARCHITECTURES[name].inputs()
    ours, theirs = (
        graphs_of(compiler, models.ARCHITECTURES[name].build().eval(), **given)
        for compiler in (frontend.compile, torch.compile)
    )
    assert Counter(inputs(ours)) == Counter(inputs(theirs))
    described, more = (
        Counter(
            (operator(node), *stack(node), made_by(node), *node.meta.get("nn_module_stack", {}).values())
            for node in operations(one)
        )
        for one in (ours, theirs)
    )
    assert described - more == Counter()


def made_by(node: fx.Node) -> str:
    """Of `source_fn_stack`: the class of the layer, or the operation."""
    return re.sub(" at 0x.*", "", str(node.meta["source_fn_stack"][-1][1]))


def test_layers_are_found_by_their_classes() -> None:
    found = []
    for compiler in (frontend.compile, torch.compile):
        model = nn.Sequential(nn.Linear(2, 2), nn.BatchNorm1d(2), *[nn.Linear(2, 2) for _ in range(4)])
        (graph,) = graphs_of(compiler, model, torch.ones(3, 2))
        parts = get_source_partitions(graph, [nn.Linear, nn.BatchNorm1d])
        found.append({kind: [len(part.nodes) for part in parts[kind]] for kind in parts})
    assert found[0] == found[1] and len(found[0][nn.Linear]) == 5


TABLE = torch.ones(2)
HOLDER = SimpleNamespace(
    a_b=torch.ones(2), inner=SimpleNamespace(W2=torch.ones(2)), l=[{"q": (torch.ones(2),)}]
)


class Members(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.fc = nn.Linear(2, 2)
        self.layers = nn.ModuleList([nn.Linear(2, 2)])
        self.register_buffer("Buffer", torch.ones(2))
        self.plain = torch.ones(2)
        self.listed = nn.ParameterList([torch.ones(2)])
        self.named = nn.ParameterDict({"aB": torch.ones(2)})

    def forward(self, x: torch.Tensor) -> Any:
        return self.layers[0](self.fc(x)) + self.Buffer + self.plain + self.listed[0] + self.named["aB"]


MEMBERS = Members()
ONES = [torch.ones(2) for _ in range(6)]


def closure() -> Callable[..., Any]:
    cell = torch.ones(2)
    return lambda x: x + cell


PROGRAMS: dict[str, Callable[[], tuple[Callable[..., Any], tuple[Any, ...], dict[str, Any]]]] = {
    "locals": lambda: (lambda myValue, X, x_, _y, __z: myValue + X + x_ + _y + __z, tuple(ONES[:5]), {}),
    "globals": lambda: (lambda x: x + TABLE + ONES[1], (ONES[0],), {}),
    "attributes": lambda: (
        lambda x: x + HOLDER.a_b + HOLDER.inner.W2 + HOLDER.l[0]["q"][0],
        (ONES[0],),
        {},
    ),
    "arguments": lambda: (
        lambda *args, **rest: args[0] + args[1] + rest["kk"],
        (ONES[0], ONES[1]),
        {"kk": ONES[2]},
    ),
    "keys": lambda: (
        lambda d: d["k"] + d[3] + d["a b"] + d[1, 2],
        ({"k": ONES[0], 3: ONES[1], "a b": ONES[2], (1, 2): ONES[3]},),
        {},
    ),
    "closure": lambda: (closure(), (ONES[0],), {}),
    "members": lambda: (lambda module, x: module(x), (MEMBERS, ONES[0]), {}),
    "own members": lambda: (Members.forward, (MEMBERS, ONES[0]), {}),
    "nested": lambda: (lambda l: l[0][1]["z"] + l[1], ([[0, {"z": ONES[0]}], ONES[1]],), {}),
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_inputs(name: str) -> None:
    call, args, keywords = PROGRAMS[name]()
    ours, theirs = (
        inputs(graphs_of(compiler, call, *args, **keywords)) for compiler in (frontend.compile, torch.compile)
    )
    assert sorted(ours) == sorted(theirs)
    assert ours


def bound(x: torch.Tensor, w: torch.Tensor) -> Any:
    y = x + 1
    y += w
    y *= 2
    y.add_(3)
    z = y.mul_(2)
    a, b = z.chunk(2)
    x += 1

    def inner(t: torch.Tensor) -> torch.Tensor:
        r = t * a
        return r

    c = inner(x)
    d = inner(c) + b
    input = c + d  # noqa: A001
    for number in range(3):
        input = input + number  # noqa: A001
    if (last := input.sin()) is not None:
        last = torch.stack([input, last])
    return [one + 1 for one in (last, d)], lambda: last


def test_operations() -> None:
    ours, theirs = (
        operations(graphs_of(compiler, bound, torch.ones(2, 2), torch.ones(2, 2)))
        for compiler in (frontend.compile, torch.compile)
    )
    assert [node.name for node in ours] == [node.name for node in theirs]
    assert [*map(stack, ours)] == [*map(stack, theirs)]


class Layer(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.linear = nn.Linear(2, 2)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        inside = self.linear(x).relu()
        return inside + x


class Stack(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.layers = nn.ModuleList([Layer() for _ in range(5)])

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        first = self.layers[0](x)
        second = self.layers[1](first)
        for layer in list(self.layers)[2:]:
            second = layer(second)
        return second.sin()


def test_equal_layers_that_are_traced_once() -> None:
    ours, theirs = (
        operations(graphs_of(compiler, Stack(), torch.ones(2, 2)))
        for compiler in (frontend.compile, torch.compile)
    )
    assert [node.name for node in ours] == [node.name for node in theirs]
    assert [*map(stack, ours)] == [*map(stack, theirs)]
