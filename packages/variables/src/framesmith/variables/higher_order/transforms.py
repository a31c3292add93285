"""`torch.vmap` and `torch.func.grad`, `vjp`, `jvp` and what is made of them: the function becomes a nested graph.

The node calls the transform itself on that graph, with the tensors that the function takes from elsewhere as further
operands. What Python does around it is in `polyfills.function_transforms`. A function that does more than compute breaks
the graph, and the transform runs natively.
"""

import operator
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Final, final

import torch
from torch import fx
from torch._functorch import apis, eager_transforms, vmap
from torch._functorch.predispatch import lazy_load_decompositions

from framesmith.graph import BreakKind, GraphBreak, example, register
from framesmith.graph.backends.unused_operations import count_draws_of
from framesmith.graph.nodes.subgraph import Use
from framesmith.graph.operations import transforms
from framesmith.variables.builtin_types.iterators import unpack
from framesmith.variables.builtin_types.tuples import TupleTracker
from framesmith.variables.callables.polyfill_functions import polyfill_function
from framesmith.variables.callables.polyfill_rows import register_polyfill
from framesmith.variables.core import Constant, TraceContext, Tracker, Writer
from framesmith.variables.core.base import run_pending
from framesmith.variables.core.rows import Rows
from framesmith.variables.graph_nodes.results import call_node, wrap_result
from framesmith.variables.higher_order.bodies import body_input, call_to_end, count_versions, record_body
from framesmith.variables.higher_order.transform_trees import Leaf, leaves_of, with_leaves
from framesmith.variables.polyfills import function_transforms, transform_bodies
from framesmith.variables.tensors.tensors import TensorTracker

ROWS: Final = Rows()
_TRANSFORMED: Final = Use(is_transformed=True)

TRANSFORM_KIND = register(
    BreakKind(
        "unsupported-transform",
        "a function under torch.vmap or torch.func that is more than a computation on tensors",
        "The function is captured once, as a graph that the transform is applied to: it may neither have side effects (but put "
        "what is no tensor of its own into a list, dict or set), nor change its arguments or tensors from elsewhere, nor raise an "
        "exception, and has to give tensors.",
        "Compute new tensors in the function, and do everything else outside of it.",
    )
)


@final
@dataclass(frozen=True, slots=True)
class Body:
    """A traced function: its graph, the operands of a call, the structure of its results and the tensors in them."""

    node: fx.Node
    operands: tuple[fx.Node, ...]
    result: TupleTracker
    leaves: tuple[Leaf, ...]

    @property
    def first(self) -> Tracker:
        """The structure of the first result."""
        return self.result.items[0]


@final
class PullbackTracker(Tracker):
    """The function that `torch.func.vjp` returns, as the graph calls it. It cannot leave the graph."""

    def __init__(self, node: fx.Node) -> None:
        self.node = node

    @property
    def python_type(self) -> type:
        """That of a function."""
        return type(example(self.node))

    def reconstruct(self, writer: Writer) -> str:
        """Break the graph."""
        raise GraphBreak(
            TRANSFORM_KIND, "the function that torch.func.vjp returns is used outside of the graph"
        )


def _register(original: Callable[..., object], replacement: Callable[..., object]) -> None:
    """Trace the polyfill to its end in place of torch's function, which runs natively where that breaks the graph."""
    tracker = polyfill_function(replacement)

    @ROWS.call(original)
    def call(tx: TraceContext, *args: Tracker, **kwargs: Tracker) -> Tracker:
        return call_to_end(tx, tracker, args, kwargs, TRANSFORM_KIND)


register_polyfill(apis._wraps_without_dynamo_attrs, function_transforms.wraps_without_dynamo_attrs, ROWS)
_register(vmap._flat_vmap, function_transforms.flat_vmap)
_register(eager_transforms.grad_and_value_impl, function_transforms.grad_and_value_impl)
_register(eager_transforms._vjp_with_argnums, function_transforms.vjp_with_argnums)
_register(eager_transforms._jvp_with_argnums, function_transforms.jvp_with_argnums)
_register(eager_transforms.linearize, function_transforms.linearize)


@ROWS.call(lazy_load_decompositions)
def load_decompositions(tx: TraceContext) -> Tracker:
    """Load torch's rules for vmap now: the graph will need them."""
    with tx.graph.pause_recording():
        lazy_load_decompositions()
    return Constant(None)


@ROWS.call(transform_bodies.count_draws)
def count_draws(tx: TraceContext) -> Tracker:
    """The number of draws recorded so far."""
    return Constant(count_draws_of(tx.graph.graph))


@ROWS.call(transform_bodies.refuse)
def refuse(tx: TraceContext) -> Tracker:
    """Break the graph."""
    raise GraphBreak(TRANSFORM_KIND, "the arguments are wrong")


@ROWS.call(transform_bodies.map_batched)
def map_batched(
    tx: TraceContext, run: Tracker, tensors: Tracker, in_dims: Tracker, randomness: Tracker
) -> Tracker:
    """A node that calls `torch.vmap`."""
    given = _tensors(tx, tensors)
    dims = [_number(tx, dim) for dim in unpack(tx, in_dims)]
    # Tensors with `in_dims=None` have no slice, and are operands from elsewhere.
    slices = [_slice(one, dim) for one, dim in zip(given, dims, strict=True)]
    body = _trace(tx, run, given, slices, Use(is_transformed=True, is_batched=True))
    first = list(leaves_of(tx, body.first, TRANSFORM_KIND))
    out_dims = [_number(tx, dim) for dim in unpack(tx, body.result.items[1])]
    tensor_dims = [dim for leaf, dim in zip(first, out_dims, strict=True) if isinstance(leaf, TensorTracker)]
    if any(dim is not None for leaf, dim in zip(first, out_dims, strict=True) if isinstance(leaf, Constant)):
        raise GraphBreak(TRANSFORM_KIND, "it gives a value that is no tensor")
    mapped = [dim for dim in dims if dim is not None]
    # The operands are the mapped tensors first, then what the body takes from elsewhere.
    padded = (*mapped, *[None] * (len(body.operands) - len(mapped)))
    name = randomness.realize().as_python_constant()
    values = _call(tx, transforms.map_batched, (body.node, padded, tuple(tensor_dims), name, body.operands))
    return _filled(tx, body.first, iter(values))


@ROWS.call(transform_bodies.differentiate)
def differentiate(tx: TraceContext, run: Tracker, tensors: Tracker, which: Tracker) -> Tracker:
    """A node that calls `torch.func.grad_and_value`."""
    given, chosen = _tensors(tx, tensors), _positions(tx, which)
    body = _trace(tx, run, given, _wrapped(given, chosen))
    values = iter(_call(tx, transforms.differentiate, (body.node, tuple(chosen), body.operands)))
    gradients = TupleTracker([next(values) for _ in chosen])
    return TupleTracker([gradients, _filled(tx, body.result, values)])


@ROWS.call(transform_bodies.pull_back)
def pull_back(tx: TraceContext, run: Tracker, tensors: Tracker, which: Tracker) -> Tracker:
    """A node that calls `torch.func.vjp`; its second value is a function."""
    given, chosen = _tensors(tx, tensors), _positions(tx, which)
    body = _trace(tx, run, given, _wrapped(given, chosen))
    count = _count_tensors(tx, body.first)
    with transforms.keep_dispatch_keys():
        node = call_node(tx, transforms.pull_back, (body.node, count, tuple(chosen), body.operands))
    values = wrap_result(tx, call_node(tx, operator.getitem, (node, 0)))
    assert isinstance(values, TupleTracker)
    pullback = PullbackTracker(call_node(tx, operator.getitem, (node, 1)))
    return TupleTracker([_filled(tx, body.result, iter(values.items)), pullback])


@ROWS.call(transform_bodies.call_pullback)
def call_pullback(tx: TraceContext, pullback: Tracker, gradients: Tracker) -> Tracker:
    """A node that calls that function."""
    function = pullback.realize()
    assert isinstance(function, PullbackTracker)
    given = tuple(one.graph_node(tx) for one in _tensors(tx, gradients))
    return TupleTracker(_call(tx, transforms.call_pullback, (function.node, given)))


@ROWS.call(transform_bodies.push_forward)
def push_forward(
    tx: TraceContext, run: Tracker, tensors: Tracker, which: Tracker, tangents: Tracker, strict: Tracker
) -> Tracker:
    """A node that calls `torch.func.jvp`."""
    given, chosen = _tensors(tx, tensors), _positions(tx, which)
    derived = tuple(one.graph_node(tx) for one in _tensors(tx, tangents))
    # A tangent does not show in what the function sees: no tensor requires a gradient.
    body = _trace(tx, run, given, _wrapped(given, []), Use(is_transformed=True, is_pushed_forward=True))
    count = _count_tensors(tx, body.first)
    flag = strict.realize().as_python_constant()
    arguments = (body.node, count, tuple(chosen), body.operands, derived, flag)
    values = iter(_call(tx, transforms.push_forward, arguments))
    first = _filled(tx, body.first, values)
    tangent = _filled(tx, body.first, values)
    return TupleTracker([first, tangent, _filled(tx, body.result.items[1], values)])


def _trace(
    tx: TraceContext,
    run: Tracker,
    given: Sequence[TensorTracker],
    fakes: Sequence[torch.Tensor | None],
    use: Use = _TRANSFORMED,
) -> Body:
    """Trace `run` into a nested graph. A tensor with a fake becomes an input of it; any other is one from elsewhere."""
    shown = [fake for fake in fakes if fake is not None]
    versions = count_versions(tx, [*shown, *(one.fake for one in given)], TRANSFORM_KIND)
    with record_body(tx, [run, *given], TRANSFORM_KIND, use, restores=True, runs_once=True) as recording:
        inner = [
            outer if fake is None else body_input(tx, recording, fake, index)
            for index, (outer, fake) in enumerate(zip(given, fakes, strict=True))
        ]
        result = run_pending(tx, run.begin_call(tx, inner, {})).realize()
        assert isinstance(result, TupleTracker)
        leaves = tuple(leaves_of(tx, result, TRANSFORM_KIND))
        # Within the nested graph, so that a tensor from outside is lifted into it.
        nodes = [leaf.graph_node(tx) for leaf in leaves if isinstance(leaf, TensorTracker)]
        if not nodes:
            raise GraphBreak(TRANSFORM_KIND, "it gives no tensor")
    if recording.writes_outside(versions):
        raise GraphBreak(TRANSFORM_KIND, "it changes a tensor from elsewhere")
    graph = recording.finish(nodes, name="transformed")
    operands = [one.graph_node(tx) for one, fake in zip(given, fakes, strict=True) if fake is not None]
    return Body(graph.node, (*operands, *graph.lifted), result, leaves)


def _slice(tensor: TensorTracker, dim: int | None) -> torch.Tensor | None:
    """What `torch.vmap` shows of a tensor; None for one that is not mapped."""
    if dim is None:
        return None
    with torch.no_grad():
        if tensor.fake.shape[dim] == 0:  # there is no first slice
            place = dim % tensor.fake.dim()
            sizes, strides = (
                [*some[:place], *some[place + 1 :]] for some in (tensor.fake.shape, tensor.fake.stride())
            )
            return tensor.fake.new_empty_strided(sizes, strides)
        # Without history: gradients flow through the node, not through this view.
        return tensor.fake.detach().select(dim, 0)


def _wrapped(tensors: Sequence[TensorTracker], which: Sequence[int]) -> list[torch.Tensor | None]:
    """What a differentiating transform shows of tensors: those in `which` require gradients. Breaks the graph if one cannot."""
    for index in which:
        if not (tensors[index].fake.is_floating_point() or tensors[index].fake.is_complex()):
            raise GraphBreak(TRANSFORM_KIND, "it differentiates a tensor of integers")
        if tensors[index].fake.is_inference():
            raise GraphBreak(TRANSFORM_KIND, "it differentiates a tensor that was made in inference mode")
    # Leaves, as functorch shows them: what came before belongs to another level.
    return [tensor.fake.detach().requires_grad_(index in which) for index, tensor in enumerate(tensors)]


def _call(tx: TraceContext, target: Callable[..., object], args: tuple[object, ...]) -> Sequence[Tracker]:
    with transforms.keep_dispatch_keys():
        node = call_node(tx, target, args)
    found = wrap_result(tx, node)
    assert isinstance(found, TupleTracker)
    return found.items


def _filled(tx: TraceContext, structure: Tracker, values: Iterator[Tracker]) -> Tracker:
    return with_leaves(tx, structure, lambda leaf: leaf if isinstance(leaf, Constant) else next(values))


def _tensors(tx: TraceContext, value: Tracker) -> list[TensorTracker]:
    found = [one.realize() for one in unpack(tx, value)]
    if not all(isinstance(one, TensorTracker) for one in found):
        raise GraphBreak(TRANSFORM_KIND, "an argument is no tensor")
    return [one for one in found if isinstance(one, TensorTracker)]


def _positions(tx: TraceContext, value: Tracker) -> list[int]:
    return [number for one in unpack(tx, value) if isinstance(number := _number(tx, one), int)]


def _number(tx: TraceContext, value: Tracker) -> int | None:
    found = value.realize().as_python_constant()
    if found is not None and type(found) is not int:
        raise GraphBreak(TRANSFORM_KIND, f"the dimension {found!r}")
    return found


def _count_tensors(tx: TraceContext, value: Tracker) -> int:
    return sum(isinstance(leaf, TensorTracker) for leaf in leaves_of(tx, value, TRANSFORM_KIND))
