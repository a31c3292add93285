"""A graph compiled in parts, one after the other: each is a graph of its own for the backend.

    h = layer1(x, a)                    part 0 (x, a) -> (h,)
    y = layer2(h, b)      ->            part 1 (b, h) -> (y,)
    return (y,)

Each part has a backward pass of its own, so gradients of the last part are there before those of the first are computed.
"""

import weakref
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final, cast, final

import torch
import torch._guards
from torch import fx

from framesmith.graph.backends.backend import compile_with, require_values
from framesmith.graph.backends.gradient_buckets import crossing, find_borders, is_number, needed, stretches
from framesmith.graph.environment.module_texts import forget_source, source_name
from framesmith.graph.fakes.plain_inputs import BackendContext
from framesmith.graph.inputs.inputs import layout_of
from framesmith.graph.inputs.lasting_inputs import copy_marks
from framesmith.graph.nodes.arguments import EXAMPLE, example, tensors_in
from framesmith.graph.options import BackendCall, GraphOptions, is_symbolic
from framesmith.graph.running.module_calls import make_plain

_CLASS: Final = "FramesmithPart"
_NUMBERS: Final = (torch.SymInt, torch.SymFloat, torch.SymBool)


@final
@dataclass(frozen=True, slots=True, eq=False)
class GraphPart:
    """One part. `inputs` and `outputs` are nodes of the whole graph, `module` takes the ones and returns the others."""

    module: fx.GraphModule
    inputs: tuple[fx.Node, ...]
    outputs: tuple[fx.Node, ...]


@final
@dataclass(frozen=True, slots=True)
class _Step:
    """A compiled part: where its inputs are, where its outputs go, and which values nothing needs behind it."""

    call: BackendCall
    inputs: tuple[int, ...]
    outputs: tuple[int, ...]
    freed: tuple[int, ...]


@final
class PartsCall:
    """The parts, called like the whole graph. It holds no value between two calls."""

    def __init__(self, backend: str, steps: Sequence[_Step], results: Sequence[int]) -> None:
        self._backend = backend
        self._steps = tuple(steps)
        self._results = tuple(results)

    def __len__(self) -> int:
        return len(self._steps)

    def __call__(self, *values: object) -> tuple[object, ...]:
        """The results of the graph."""
        held: dict[int, object] = dict(enumerate(values))
        for step in self._steps:
            given = [held[place] for place in step.inputs]
            for place in step.freed:
                del held[place]
            found = require_values(self._backend, step.call(*given), len(step.outputs))
            del given
            held.update(zip(step.outputs, found, strict=True))
        return tuple(held[place] for place in self._results)


def compile_parts(
    options: GraphOptions,
    module: fx.GraphModule,
    inputs: Sequence[object],
    examples: Sequence[object],
    context: BackendContext,
) -> BackendCall:
    """What the backend makes of the module, in parts where `options.gradient_buckets` says so. `inputs` are the existing objects."""
    parts = _divide(module, inputs, options)
    if len(parts) < 2:
        return compile_with(options, module, examples)
    shown = dict(zip(module.graph.find_nodes(op="placeholder"), examples, strict=True))
    calls = list[BackendCall]()
    for part in parts:
        given = [shown[node] if node in shown else _stand_in(node, context) for node in part.inputs]
        # what AOTAutograd notes about one graph must not meet what it notes about another
        with torch._guards.tracing(context.copy()):
            calls.append(compile_with(options, part.module, given))
    return PartsCall(options.backend_name, *_plan(module, parts, calls))


def _divide(module: fx.GraphModule, inputs: Sequence[object], options: GraphOptions) -> list[GraphPart]:
    """The parts; none where the graph stays whole."""
    buckets = options.gradient_buckets
    is_trained = torch.is_grad_enabled() and not options.verify_correctness
    if buckets is None or options.runs_as_captured or not is_trained:
        return []
    placeholders = module.graph.find_nodes(op="placeholder")
    nodes = [node for node in module.graph.nodes if node.op not in ("placeholder", "output")]
    borders = find_borders(nodes, dict(zip(placeholders, inputs, strict=True)), buckets)
    places = {node: place for place, node in enumerate(nodes)}
    results = module.graph.output_node().all_input_nodes
    parts: list[GraphPart] = []
    for begin, end in stretches(len(nodes), borders):
        own = nodes[begin:end]
        known = set(own)
        if end < len(nodes):
            outputs = [node for node in crossing(nodes, end, places) if node in known]
        else:
            outputs = [one for one in results if one in known or one.op == "get_attr" or is_number(one)]
        parts.append(_cut(module, own, outputs, placeholders))
    return parts if all(map(_binds_symbols, parts)) else []


def _cut(
    module: fx.GraphModule,
    own: Sequence[fx.Node],
    outputs: Sequence[fx.Node],
    placeholders: Sequence[fx.Node],
) -> GraphPart:
    """The graph of a stretch of operations."""
    known = set(own)
    used = dict.fromkeys(
        one for node in (*own, *filter(is_number, outputs)) for one in needed(node) if one not in known
    )
    symbols = {symbol for node in used for symbol in _symbols(example(node))}
    given = [
        node
        for node in placeholders
        if node in used or (is_symbolic(example(node)) and not symbols.isdisjoint(_symbols(example(node))))
    ]
    given += [node for node in used if node.op != "placeholder"]
    graph = fx.Graph()
    made: dict[fx.Node, fx.Node] = {}
    for node in given:
        made[node] = graph.placeholder(node.name)
        made[node].meta.update(node.meta)

    def local(node: fx.Node) -> fx.Node:
        if node not in made:
            assert node in known or node.op == "get_attr" or is_number(node), node
            made[node] = graph.node_copy(node, local)
        return made[node]

    for node in own:
        local(node)
    graph.output(tuple(map(local, outputs))).meta[EXAMPLE] = tuple(map(example, outputs))
    part = make_plain(fx.GraphModule(module, graph, class_name=_CLASS))
    weakref.finalize(part, forget_source, source_name(part)).atexit = False
    copy_marks(module, part, zip(given, (made[node] for node in given), strict=True))
    return GraphPart(part, tuple(given), tuple(outputs))


def _symbols(value: object) -> set[object]:
    """The symbols in a number, or in sizes, strides and offsets of tensors."""
    numbers = [value]
    for tensor in tensors_in(value):
        places = layout_of(tensor)
        numbers += [*places[0], *places[1], places[2]]
    return {symbol for one in numbers if isinstance(one, _NUMBERS) for symbol in one.node.expr.free_symbols}


def _binds_symbols(part: GraphPart) -> bool:
    """Whether each symbol is the value of an input, or the size of one: a backend computes the others from those."""
    bound = {
        number.node.expr
        for node in part.inputs
        for number in _numbers_given(example(node))
        if isinstance(number, _NUMBERS) and number.node.expr.is_symbol
    }
    asked = {symbol for node in part.module.graph.nodes for symbol in _symbols(node.meta.get(EXAMPLE))}
    return asked <= bound


def _numbers_given(value: object) -> Iterable[object]:
    return value.shape if isinstance(value, torch.Tensor) else (value,)


def _stand_in(node: fx.Node, context: BackendContext) -> torch.Tensor:
    """The fake of a value of an earlier part, in the mode of the backend."""
    fake = example(node)
    assert isinstance(fake, torch.Tensor) and context.fake_mode is not None
    with context.fake_mode, torch.no_grad():
        made = torch.empty_strided(fake.shape, fake.stride(), dtype=fake.dtype, device=fake.device)
    return made.requires_grad_(fake.requires_grad)


def _plan(
    module: fx.GraphModule, parts: Sequence[GraphPart], calls: Sequence[BackendCall]
) -> tuple[list[_Step], list[int]]:
    """The steps, and where the results of the graph are in the end."""
    results = cast(Sequence[fx.Node], module.graph.output_node().args[0])
    placeholders = module.graph.find_nodes(op="placeholder")
    values = dict.fromkeys([*placeholders, *(node for part in parts for node in part.outputs)])
    place: Mapping[fx.Node, int] = {node: number for number, node in enumerate(values)}
    last: dict[fx.Node, int] = {}
    for number, part in enumerate(parts):
        last.update(dict.fromkeys((*part.inputs, *part.outputs), number))
    for node in results:
        last.pop(node, None)
    steps = [
        _Step(
            call,
            tuple(place[node] for node in part.inputs),
            tuple(place[node] for node in part.outputs),
            tuple(place[node] for node in part.inputs if last.get(node) == number),
        )
        for number, (part, call) in enumerate(zip(parts, calls, strict=True))
    ]
    return steps, [place[node] for node in results]
