"""`nn_module_stack` of each operation: paths and classes are those that torch.compile gives it, and so is the program's line."""

import functools
import re
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from typing import Any

import pytest
import torch
from tests.quality.captured_graphs import graphs_of
from torch import fx, nn

from framesmith import frontend
from framesmith.frontend.demo import models

_PLACE = re.compile(r'File "([^"]+)", line (\d+)')


def places(graph: fx.Graph) -> Iterable[tuple[str, tuple[tuple[str, str], ...], tuple[str, str] | None]]:
    """Of each operation the name, the modules and the last line outside of torch."""
    for node in graph.nodes:
        if node.op in ("call_function", "call_method"):
            modules = [(path, str(cls)) for path, cls in node.meta.get("nn_module_stack", {}).values()]
            lines = [one for one in _PLACE.findall(node.meta["stack_trace"]) if "/torch/" not in one[0]]
            yield str(getattr(node.target, "__name__", node.target)), tuple(modules), (lines or [None])[-1]


def captured(
    compiler: Callable[..., Any], call: Callable[..., Any], *args: Any, **keywords: Any
) -> Counter[Any]:
    graphs = graphs_of(compiler, call, *args, **keywords)
    return Counter(place for graph in graphs for place in places(graph))


@pytest.mark.parametrize("name", models.ARCHITECTURES)
def test_models_of_the_demo(name: str) -> None:
    models.require()
    model, inputs = models.ARCHITECTURES[name].build().eval(), models.ARCHITECTURES[name].inputs()
    holder = {"model": model}

    def call(**given: Any) -> Any:
        return holder["model"](**given)

    ours, theirs = captured(frontend.compile, call, **inputs), captured(torch.compile, call, **inputs)
    named = sum(bool(modules) for _, modules, _ in ours.elements())
    # they record more: `to` of what has the dtype, dropout that does nothing
    assert ours - theirs == Counter()
    assert named == ours.total() > 50


class Layer(nn.Module):
    def __init__(self, width: int = 3) -> None:
        super().__init__()
        self.inner = nn.Sequential(nn.Linear(width, width), nn.Tanh())

    def forward(this, x: torch.Tensor, breaks: bool = False) -> torch.Tensor:  # noqa: N805
        y = this.inner(x)
        if breaks:
            print(end="")
        return this.helper(y) + 1

    def helper(self, x: torch.Tensor) -> torch.Tensor:
        return x * 2


def passed_on(forward: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(forward)
    def wrapper(*args: Any, **keywords: Any) -> Any:
        return forward(*args, **keywords)

    return wrapper


class Wrapped(Layer):
    @passed_on
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return super().forward(x).sin()


class Stack(nn.Module):
    def __init__(self, *layers: nn.Module) -> None:
        super().__init__()
        self.layers = nn.ModuleList(layers)
        self.named = nn.ModuleDict({"last": nn.ReLU()})

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        for layer in self.layers:
            x = layer(x)
        return self.named["last"](x)


def hooked() -> nn.Module:
    layer = Layer()
    layer.register_forward_hook(lambda module, given, result: result.exp())
    return layer


MODELS: Mapping[str, Callable[[], nn.Module]] = {
    "different": lambda: Stack(Layer(), Wrapped(), nn.Linear(3, 3)),
    "equal": lambda: Stack(*[Layer() for _ in range(5)]),
    "stages": lambda: Stack(*[Stack(*[Layer() for _ in range(6)]) for _ in range(4)]),
    "with hooks": lambda: Stack(hooked(), Layer()),
}


@pytest.mark.parametrize("name", MODELS)
def test_modules_in_functions(name: str) -> None:
    model = MODELS[name]()

    def call(x: torch.Tensor, held: dict[str, nn.Module]) -> torch.Tensor:
        return held["model"](x) * 3

    ours, theirs = (
        captured(compiler, call, torch.ones(2, 3), {"model": model})
        for compiler in (frontend.compile, torch.compile)
    )
    assert ours == theirs


def test_a_continuation_stands_in_the_same_calls() -> None:
    model, graphs = Stack(Layer()), list[list[Any]]()

    def backend(module: fx.GraphModule, _: object) -> Callable[..., Any]:
        graphs.append(list(places(module.graph)))
        return module.forward

    def call(x: torch.Tensor) -> torch.Tensor:
        return model.named["last"](model.layers[0](x, breaks=True))

    frontend.compile(call, backend=backend)(torch.ones(2, 3))
    classes = [[[cls for _, cls in modules] for _, modules, _ in graph] for graph in graphs]
    inside, linear, tanh, relu = map(str, (Layer, nn.Linear, nn.Tanh, nn.ReLU))
    inner = str(nn.Sequential)
    assert classes == [[[inside, inner, linear], [inside, inner, tanh]], [[inside], [inside], [relu]]]
