"""From a recorded graph to a compiled one: clean-up, GraphModule, backend. The result is plain data.

Before: nodes, some unused, and the nodes to return. After: `CompiledSubgraph`, whose `call` takes the values of
its `inputs` in order and returns a tuple. What may be dropped is decided in `prune`.
"""

import weakref
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass, replace
from typing import Final, cast, final

import torch
import torch._guards
from torch import fx
from torch.fx.experimental import _config as fx_config
from torch.fx.passes.runtime_assert import insert_deferred_runtime_asserts

from framesmith.graph.backends.absent_gradients import drop_absent, find_reached
from framesmith.graph.backends.backend import require_values
from framesmith.graph.backends.captured_only import AS_CAPTURED, why_captured
from framesmith.graph.backends.counted_writes import count_as_eager
from framesmith.graph.backends.equal_calls import equal_calls_kept
from framesmith.graph.backends.forbidden_views import (
    find_forbidden_views,
    restore_forbidden_views,
)
from framesmith.graph.backends.kept_values import keep_what_inputs_give
from framesmith.graph.backends.parts import compile_parts
from framesmith.graph.backends.returned_data import find_data, give_own_counters
from framesmith.graph.backends.unused_operations import NOTHING_REPEATED, witness_unused
from framesmith.graph.backends.written_reads import find_reads, keep_reads
from framesmith.graph.breaks.errors import BackendFailed
from framesmith.graph.environment.ambient import Ambient
from framesmith.graph.environment.default_devices import outside_of_blocks
from framesmith.graph.environment.dispatch_state import dispatch_state_kept
from framesmith.graph.environment.inference_blocks import (
    enter_inference_mode,
    leave_inference_mode,
    replace_blocks,
)
from framesmith.graph.environment.module_texts import forget_source, source_name
from framesmith.graph.environment.random_states import unseen_draws
from framesmith.graph.fakes.plain_inputs import BackendContext
from framesmith.graph.inputs.inputs import (
    Input,
    Inputs,
    find_written_inputs,
    for_backend,
    is_subclass,
    let_go,
    needs_plain_form,
    replaces_operations,
)
from framesmith.graph.inputs.lasting_inputs import mark_lasting_inputs
from framesmith.graph.nodes.arguments import EXAMPLE, example
from framesmith.graph.operations.purity import IMPURE
from framesmith.graph.options import BackendCall, GraphOptions
from framesmith.graph.passes.autocast_switches import drop_idle_switches
from framesmith.graph.passes.outline import Group, outline
from framesmith.graph.passes.prune import (
    collapse_grad_switches,
    drop_dead_nodes,
    drop_unused_inputs,
    has_work,
)
from framesmith.graph.passes.verify import verify
from framesmith.graph.python_numbers.plain_numbers import use_plain_numbers
from framesmith.graph.replacing_backends import OperationsReplaced, Reliance
from framesmith.graph.running.captured_module import CapturedModule, run_form
from framesmith.graph.running.failures import Failures, Replay
from framesmith.graph.running.module_calls import make_plain
from framesmith.graph.shapes.shape_env import ShapeEnvAdapter
from framesmith.guards.sources.base import Source

_CLASS: Final = "FramesmithGraph"


@final
@dataclass(frozen=True, slots=True, eq=False)
class CompiledSubgraph:
    """The result of a recording: what the frontend needs to call the compiled graph.

    `call(*values of inputs)` returns a tuple of `outputs` values. The i-th requested output is number
    `positions[i]` of that tuple: an output requested twice is computed once.
    When no operation is left, `call` and `graph_module` are None, and `positions` count the `inputs` instead.
    `failures` serves the case that `call` raises.
    `mutated` are the inputs that the graph writes to, in the order of `inputs`; `touched` those, and such as are written to in a way that no
    version counter shows.
    """

    call: Callable[..., tuple[object, ...]] | None
    inputs: tuple[Source, ...]
    outputs: int
    positions: tuple[int, ...]
    graph_module: fx.GraphModule | None
    mutated: tuple[Source, ...] = ()
    touched: tuple[Source, ...] = ()
    failures: Failures | None = None

    @property
    def marks_leaves(self) -> bool:
        """Whether it changes which inputs require gradients."""
        return self.graph_module is not None and bool(
            self.graph_module.graph.find_nodes(op="call_method", target="requires_grad_", sort=False)
        )


def close(
    graph: fx.Graph,
    outputs: Sequence[fx.Node],
    ambient: Ambient,
    kept: Sequence[fx.Node] = (),
    reliance: Reliance | None = None,
    copies: Mapping[fx.Node, fx.Node] = NOTHING_REPEATED,
) -> tuple[int, ...]:
    """Add the output node and clean the graph; returns the position of each requested output in the tuple.

    `kept` are further values that the graph returns, after the outputs, without their history: AOTAutograd would give zeros to the
    leaves that nothing else reaches, where eager gives them nothing. Blocks of inference mode that are open are left; for a backend
    that replaces the captured operations they become switches of the gradient mode, autocast is as it was at the beginning, and
    what draws or may raise and leads to no result is returned too. `copies`: see `Repetition`.
    """
    if reliance is not None:
        kept = [*kept, *witness_unused(graph, [*outputs, *kept], reliance, copies)]
    distinct = list(dict.fromkeys([*outputs, *kept]))
    if _close_blocks(graph) and reliance is not None and not reliance.ask():
        replace_blocks(graph, ambient.grad)
    _restore_autocast(graph, ambient, reliance)
    asked = set(outputs)
    returned = [node if node in asked else _without_history(graph, node) for node in distinct]
    result = graph.output(tuple(returned))
    result.meta[EXAMPLE] = tuple(example(node) for node in returned)
    drop_dead_nodes(graph)
    collapse_grad_switches(graph, ambient.grad)
    drop_idle_switches(graph, ambient)
    if reliance is not None and reliance.is_certain:
        use_plain_numbers(graph, set(kept) - set(outputs))
    return tuple(distinct.index(node) for node in outputs)


def _without_history(graph: fx.Graph, node: fx.Node) -> fx.Node:
    """The node, or what detaches its tensor, which a backward pass could go through."""
    fake = node.meta.get(EXAMPLE)
    if not isinstance(fake, torch.Tensor) or not fake.requires_grad:
        return node
    detached = graph.call_method("detach", (node,))
    detached.meta[EXAMPLE] = fake.detach()
    return detached


def _close_blocks(graph: fx.Graph) -> bool:
    """Leave at the end of the graph what it has entered; whether it has blocks at all."""
    entered, left = [
        len(graph.find_nodes(op="call_function", target=one, sort=False))
        for one in (enter_inference_mode, leave_inference_mode)
    ]
    for _ in range(entered - left):
        graph.call_function(leave_inference_mode).meta.update({EXAMPLE: None, IMPURE: True})
    return entered + left > 0


def _restore_autocast(graph: fx.Graph, start: Ambient, reliance: Reliance | None) -> None:
    """Turn the switches of autocast back at the end: AOTAutograd refuses a graph that does not. The entry sets them after the graph."""
    now = Ambient.now()
    calls: list[tuple[Callable[..., object], tuple[str | bool | torch.dtype, ...]]] = []
    for (device, enabled, dtype), (_, enabled_now, dtype_now) in zip(
        start.autocast, now.autocast, strict=True
    ):
        if enabled != enabled_now:
            calls.append((torch.set_autocast_enabled, (device, enabled)))
        if dtype != dtype_now:
            calls.append((torch.set_autocast_dtype, (device, dtype)))
    if start.autocast_cache != now.autocast_cache:
        calls.append((torch.set_autocast_cache_enabled, (start.autocast_cache,)))
    if not calls or reliance is None or reliance.ask():
        return
    for setter, arguments in calls:
        graph.call_function(setter, arguments).meta.update({EXAMPLE: None, IMPURE: True})


def without_graph(outputs: Sequence[fx.Node], inputs: Mapping[fx.Node, Input]) -> CompiledSubgraph:
    """The result of a recording that left no operation: all outputs are inputs."""
    nodes = list(dict.fromkeys(outputs))
    sources = tuple(inputs[node].source for node in nodes)
    return CompiledSubgraph(None, sources, len(nodes), tuple(nodes.index(node) for node in outputs), None)


def build_module(
    graph: fx.Graph, root: torch.nn.Module, world: ShapeEnvAdapter, repeated: Iterable[Group] = ()
) -> fx.GraphModule:
    """The GraphModule, with torch's deferred assertions about numbers that only the running graph knows.

    `repeated`: stretches that may run as calls of one function, if the captured operations themselves are run.
    """
    asserts = bool(world.env.deferred_runtime_asserts)
    # The assertions may use inputs that nothing else uses; those are dropped after they are written.
    if not asserts:
        drop_unused_inputs(graph)
    # Assertions are added to the graph below, marks of the profiler to fx's text: the short form has neither.
    form = None if asserts or fx_config.enrich_profiler_metadata else run_form(graph, repeated)
    module = (
        fx.GraphModule(root, graph, class_name=_CLASS)
        if form is None
        else CapturedModule(root, graph, _CLASS, form)
    )
    if asserts:
        insert_deferred_runtime_asserts(module, world.env, "framesmith")
        for node in module.graph.nodes:
            if EXAMPLE not in node.meta:
                # The nodes of torch's assertions, which have to stay though nothing uses them.
                node.meta[EXAMPLE] = None
                node.meta[IMPURE] = True
        drop_unused_inputs(module.graph)
        # The text without the assertions, whose name is replaced by the next line.
        forget_source(source_name(module))
        module.recompile()
    # At exit the caches go by themselves.
    weakref.finalize(module, forget_source, source_name(module)).atexit = False
    problems = verify(module.graph)
    assert not problems, "\n".join(problems)
    return make_plain(module)


def reason_of(
    graph: fx.Graph,
    inputs: Inputs,
    start: Ambient,
    reliance: Reliance,
    copies: Mapping[fx.Node, fx.Node],
) -> Callable[[], str | None]:
    """What says why only the captured operations of a closed graph do what eager does; `call_backend` asks the same of the module."""

    def ask() -> str | None:
        used = inputs.of(graph)
        written = find_written_inputs(used, inputs.versions)
        return _reason(graph, used, written, start, reliance, copies)

    return ask


def _reason(
    graph: fx.Graph,
    used: Sequence[Input],
    written: Sequence[Source],
    start: Ambient,
    reliance: Reliance,
    copies: Mapping[fx.Node, fx.Node],
) -> str | None:
    if reliance.is_certain:
        return None
    return why_captured(graph, used, written, start, keeps_all=reliance.keeps_all, copies=copies)


def call_backend(
    options: GraphOptions,
    module: fx.GraphModule,
    repeated: Iterable[Group],
    copies: Mapping[fx.Node, fx.Node],
    used: Sequence[Input],
    written: Sequence[Source],
    ambient: Ambient,
    context: BackendContext,
    reliance: Reliance,
    reason: str | None = None,
) -> BackendCall:
    """What the backend makes of the module, in the settings in which the trace began. `repeated`: see `outline`; `copies`: see `Repetition`. Raises
    OperationsReplaced where that is not what the graph relies on. The module itself, as it was captured, where only that does what
    eager does: for the `reason` given, or one that is found here."""
    reason = reason or _reason(module.graph, used, written, ambient, reliance, copies)
    if reason is not None and not reliance.ask():
        options = replace(options, backend="eager", mode=None, backend_options={})
        module.meta[AS_CAPTURED] = reason
    reads = [] if options.backend == "eager" else find_reads(module.graph, used, written)
    after = Ambient.now()
    # The trace may end inside of `no_grad`; the graph begins as the trace did.
    ambient.restore()
    try:
        with torch._guards.tracing(context), outside_of_blocks(), dispatch_state_kept():
            if reads and not reliance.ask():
                given = keep_reads(module, used, written)
            else:
                given = outline(module, repeated) if options.shares_subgraphs else module
            if options.backend != "eager":
                mark_lasting_inputs(given, used)
                keep_what_inputs_give(given.graph)
            examples = [for_backend(entry, context) for entry in used]
            with nullcontext() if options.backend == "eager" else _compiling(module.graph):
                made = compile_parts(options, given, [entry.value for entry in used], examples, context)
        reliance.check(options.backend, context, is_broken=False)
    except BackendFailed as failed:
        reliance.check(options.backend, context, is_broken=isinstance(failed.original, OperationsReplaced))
        raise
    finally:
        after.restore()
        let_go(used)
    return made


@contextmanager
def _compiling(graph: fx.Graph) -> Iterator[None]:
    """While a backend other than `eager` is given the graph."""
    with unseen_draws(), equal_calls_kept(graph):
        yield


def count_results(graph: fx.Graph) -> int:
    """How many values a closed graph returns."""
    return len(cast(tuple[object, ...], graph.output_node().args[0]))


def returns_tuple(
    call: Callable[..., Sequence[object]], module: fx.GraphModule, backend: str
) -> Callable[..., tuple[object, ...]]:
    """The call with its result made a tuple: a backend's callable may return a list. The module's own forward needs nothing.

    What is returned raises BackendFailed for a result that is no tuple or list of as many values as the graph has outputs:
    a tensor would be unpacked into its rows.
    """
    count = count_results(module.graph)
    # `module.forward`, which the backend "eager" gives.
    if getattr(call, "__self__", None) is module:
        return cast(Callable[..., tuple[object, ...]], call)

    def run(*values: object) -> tuple[object, ...]:
        result = call(*values)
        if type(result) is tuple and len(result) == count:
            return result
        return require_values(backend, result, count)

    return run


def on_plain_tensors(
    call: Callable[..., tuple[object, ...]], module: fx.GraphModule, used: Sequence[Input]
) -> Callable[..., tuple[object, ...]]:
    """The call for graphs with inputs of subclasses, whose `__torch_function__` the trace has asked; else the call itself.

    The module's own forward takes them as they are, but for those whose class replaces operations. A backend's callable gets
    plain tensors over the same memory: torch's runtimes refuse operands of other classes.
    """
    classes = [type(entry.value) for entry in used]
    # by identity: a look-up would hash the user's classes
    if not any(map(is_subclass, {id(cls): cls for cls in classes}.values())):
        return call
    takes_most = getattr(call, "__self__", None) is module
    places = [
        place
        for place, cls in enumerate(classes)
        if needs_plain_form(cls) and (not takes_most or replaces_operations(cls))
    ]

    def run(*values: object) -> tuple[object, ...]:
        with torch._C.DisableTorchFunctionSubclass():
            if not places:
                return call(*values)
            given = list(values)
            for place in places:
                value = given[place]
                assert isinstance(value, torch.Tensor)
                given[place] = value.as_subclass(torch.Tensor)
            return call(*given)

    return run


def adapt_call(
    call: Callable[..., Sequence[object]],
    module: fx.GraphModule,
    options: GraphOptions,
    used: Sequence[Input],
    written: Collection[Source],
    touched: Sequence[Source],
    versions: Mapping[Source, int],
) -> Callable[..., tuple[object, ...]]:
    """What a backend made, as an entry calls it: with a tuple for its result, with inputs of subclasses, with the views that
    autograd forbids to write to, with the gradients and the version counters that eager gives. `versions`: see `Inputs`."""
    made = returns_tuple(call, module, options.backend_name)
    # `Replay` runs the captured operations too, or gives what they gave and have counted before one of them raised
    if getattr(call, "__self__", None) is not module and not isinstance(options.backend, Replay):
        made = drop_absent(made, find_reached(module.graph, used, written))
        kinds = find_forbidden_views(module.graph)
        made = restore_forbidden_views(made, kinds) if kinds else made
        data = find_data(module.graph)
        made = give_own_counters(made, data) if data else made
        made = count_as_eager(made, used, touched, versions, takes_back=not options.runs_as_captured)
    return on_plain_tensors(made, module, used)


def has_operations(graph: fx.Graph) -> bool:
    """Whether the graph has an operation left, so that a backend is needed."""
    return has_work(graph)
