"""From a recorded graph to a compiled one: clean-up, GraphModule, backend. The result is plain data.

Before: nodes, some unused, and the nodes to return. After: `CompiledSubgraph`, whose `call` takes the values of
its `inputs` in order and returns a tuple.
"""

import linecache
import weakref
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final, cast, final

import torch
from torch import fx
from torch.fx.graph_module import _loader
from torch.fx.passes.runtime_assert import insert_deferred_runtime_asserts

from framesmith.graph.ambient import Ambient
from framesmith.graph.arguments import EXAMPLE, example
from framesmith.graph.failures import Failures
from framesmith.graph.prune import collapse_grad_switches, drop_dead_nodes, drop_unused_inputs, has_work
from framesmith.graph.purity import IMPURE
from framesmith.graph.shape_env import ShapeWorld
from framesmith.graph.verify import verify
from framesmith.guards.sources.base import Source

_CALL: Final = "_wrapped_call"  # what `GraphModule.__call__` runs


@final
@dataclass(frozen=True, slots=True, eq=False)
class CompiledSubgraph:
    """What the graph layer hands over.

    `call(*values of inputs)` returns a tuple of `outputs` values. The i-th output asked for is number
    `positions[i]` of that tuple: an output asked for twice is computed once.
    When no operation is left, `call` and `graph_module` are None, and `positions` count the `inputs` instead.
    `failures` serves the case that `call` raises.
    `mutated` are the inputs that the graph writes to, in the order of `inputs`.
    """

    call: Callable[..., tuple[object, ...]] | None
    inputs: tuple[Source, ...]
    outputs: int
    positions: tuple[int, ...]
    graph_module: fx.GraphModule | None
    mutated: tuple[Source, ...] = ()
    failures: Failures | None = None


def close(
    graph: fx.Graph, outputs: Sequence[fx.Node], ambient: Ambient, kept: Sequence[fx.Node] = ()
) -> tuple[int, ...]:
    """Add the output and clean the graph; returns where each output asked for stands in the tuple."""
    distinct = list(dict.fromkeys([*outputs, *kept]))
    result = graph.output(tuple(distinct))
    result.meta[EXAMPLE] = tuple(example(node) for node in distinct)
    drop_dead_nodes(graph)
    collapse_grad_switches(graph, ambient.grad)
    return tuple(distinct.index(node) for node in outputs)


def build_module(graph: fx.Graph, root: torch.nn.Module, world: ShapeWorld) -> fx.GraphModule:
    """The GraphModule, with the assertions that tracing owes about numbers known at run time only."""
    asserts = bool(world.env.deferred_runtime_asserts)
    if not asserts:
        drop_unused_inputs(graph)
    module = fx.GraphModule(root, graph, class_name="FramesmithGraph")
    if asserts:
        insert_deferred_runtime_asserts(module, world.env, "framesmith")
        for node in module.graph.nodes:
            if EXAMPLE not in node.meta:
                node.meta[EXAMPLE] = None
                node.meta[IMPURE] = True
        drop_unused_inputs(module.graph)
        forget_source(source_name(module))
        module.recompile()
    weakref.finalize(module, forget_source, source_name(module)).atexit = False
    problems = verify(module.graph)
    assert not problems, "\n".join(problems)
    # fx's own prints, and takes the traceback off the exception
    setattr(type(module), _CALL, staticmethod(module_call))
    return module


def source_name(module: fx.GraphModule) -> str:
    """The name under which fx keeps the text of a module for tracebacks."""
    return module.forward.__code__.co_filename


def forget_source(name: str) -> None:
    """fx keeps the text of every module for the life of the process; it is needed as long as the module lives."""
    _loader.eval_cache.pop(name, None)
    linecache.cache.pop(name, None)


def module_call(module: fx.GraphModule, *values: object) -> object:
    """`module(*values)`."""
    return torch.nn.Module.__call__(module, *values)


def returns_tuple(
    call: Callable[..., Sequence[object]], module: fx.GraphModule
) -> Callable[..., tuple[object, ...]]:
    """A backend may return a list; the caller is promised a tuple. The module itself gives one."""
    if getattr(call, "__self__", None) is module:
        return cast(Callable[..., tuple[object, ...]], call)

    def run(*values: object) -> tuple[object, ...]:
        result = call(*values)
        return result if type(result) is tuple else tuple(result)

    return run


def works(graph: fx.Graph) -> bool:
    """Whether a backend is needed at all."""
    return has_work(graph)
