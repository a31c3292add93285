"""`torch.autograd.Function`: a call of `apply` is one node, which runs the user's `forward` and `backward` as they are.

That is correct if both only compute, or write to arguments (marked as dirty or not): then the graph may hold the class itself, and
autograd (and AOTAutograd) treats it as in eager. To check that, both are traced first, into a graph that is discarded: this guards
everything they read, and finds side effects, tensors they get from elsewhere, and whatever else cannot be captured.
The values that `backward` reads are those of the time of the call, also for a backend that compiles it. Both run before the changes of
the trace are replayed, so what they read must not be changed by it (`state_reads`). A call that autograd keeps nothing of is traced
as `forward` alone (`undifferentiated`).
"""

import inspect
from collections.abc import Callable, Mapping, Sequence
from types import BuiltinFunctionType
from typing import Final

import torch
from torch import fx
from torch.autograd.function import Function
from torch.autograd.grad_mode import _unsafe_preserve_version_counter
from torch.nn.modules._functions import BackwardHookFunction

from framesmith.graph import BreakKind, GraphBreak, example, register
from framesmith.graph.backends.unused_operations import mark_draws
from framesmith.graph.breaks.break_kinds import BACKEND_LIMIT
from framesmith.graph.environment.dual_levels import open_levels
from framesmith.graph.nodes.arguments import tensors_in
from framesmith.graph.nodes.subgraph import Use
from framesmith.guards.class_lookup import class_name
from framesmith.variables.builtin_types.tuples import TupleTracker
from framesmith.variables.callables.functions import FunctionTracker
from framesmith.variables.callables.polyfill_functions import polyfill_function
from framesmith.variables.core import Constant, TraceContext, Tracker
from framesmith.variables.core.base import run_pending
from framesmith.variables.core.observed import ObservedException
from framesmith.variables.core.reach import reachable
from framesmith.variables.core.registry import Table
from framesmith.variables.core.rows import Rows
from framesmith.variables.graph_nodes.arguments import exact_target
from framesmith.variables.graph_nodes.graph_values import GraphValue, graph_arguments
from framesmith.variables.graph_nodes.results import call_node, wrap_result
from framesmith.variables.higher_order.state_reads import StateReads
from framesmith.variables.higher_order.undifferentiated import (
    Context,
    Differentiable,
    keeps_nothing,
    trace_forward,
)
from framesmith.variables.symbolic_numbers.changing_scalars import ChangingScalar
from framesmith.variables.tensors.tensors import TensorTracker

ROWS: Final = Rows()

APPLICATIONS: Final = Table[type[Function], Callable[..., Tracker]]("autograd functions of torch")
"""What `apply` of a function of torch's own does, in place of running its passes."""
FUNCTION_KIND = register(
    BreakKind(
        "unsupported-autograd-function",
        "a torch.autograd.Function that is more than a computation on its arguments",
        "The graph holds the function as a whole and may run it at another time: forward and backward may neither have "
        "side effects, nor change or use tensors that are no arguments, nor read what the compiled function has changed. A "
        "backend that differentiates the graph runs backward at once, which has to give gradients "
        "of the arguments.",
        "Pass every tensor as an argument, and keep everything else outside of the function.",
    )
)


def run_both_passes(
    function: Differentiable, needs: tuple[bool, ...], args: Sequence[object], setup: bool, backward: bool
) -> tuple[object, object]:
    """Call forward and backward, and return what they give; this function is traced to check them."""
    context = Context(needs)
    # Autograd runs `forward` without gradients, and `backward` too, unless `create_graph=True` is given.
    with torch.no_grad():
        if setup:
            output = function.forward(*args)
            function.setup_context(context, tuple(args), output)
        else:
            output = function.forward(context, *args)
        if backward:
            # The structure that autograd gives: one gradient for each result, none for what is no tensor.
            outputs = output if isinstance(output, tuple) else (output,)
            gradients = [torch.ones_like(one) if isinstance(one, torch.Tensor) else None for one in outputs]
            return output, function.backward(context, *gradients)
    return output, None


_UNCHANGING: Final = (Constant, GraphValue, TupleTracker)
_REHEARSAL: Final = polyfill_function(run_both_passes)
_STORED: Final = inspect.getattr_static(Function, "apply")
# a class method, in Python up to torch 2.13 and in C since
_APPLY: Final = getattr(_STORED, "__func__", _STORED)


@ROWS.call(_APPLY)
def apply(tx: TraceContext, function: Tracker, *args: Tracker, **kwargs: Tracker) -> Tracker:
    """`Function.apply(*args)`: one node, once `_trace_and_discard` has found that the function only computes; the operations of
    `forward` where `backward` can never run."""
    cls = function.as_python_constant()
    if not isinstance(cls, type) or not issubclass(cls, Function):
        return function.unsupported("apply()")
    application = tx.registry[APPLICATIONS].get(cls)
    if application is not None:
        return application(tx, *args, **kwargs)
    # `nn.Module` puts it around modules with full backward hooks.
    if cls is BackwardHookFunction and not tx.graph.runs_as_captured:
        raise GraphBreak(
            BACKEND_LIMIT, "a backward hook of a module, which looks for its own node in the history"
        )
    if kwargs:
        raise GraphBreak(FUNCTION_KIND, f"{class_name(cls)}.apply() with keywords")
    _refuse_rules(tx, function, cls)
    operands = [argument.realize() for argument in args]
    # torch asks in the same way whether `forward` gets the context.
    setup = cls.setup_context is not getattr(Function, "setup_context")  # noqa: B009  # unknown to typing
    if keeps_nothing(tx, operands):

        def refuse(reason: str) -> GraphBreak:
            return GraphBreak(FUNCTION_KIND, f"{class_name(cls)} {reason}")

        return trace_forward(tx, function, operands, setup, refuse)
    # A node has a scalar of numpy as it is, which a number that differs from call to call is not.
    operands = [
        Constant(one.as_python_constant()) if isinstance(one, ChangingScalar) else one for one in operands
    ]
    functions = {place: _function_of(tx, operand) for place, operand in enumerate(operands)}
    held = {place: one for place, one in functions.items() if one is not None}
    for place, operand in enumerate(operands):
        if place not in held and not isinstance(operand, GraphValue) and not operand.is_python_constant():
            raise GraphBreak(FUNCTION_KIND, f"{class_name(cls)}.apply() of {operand.describe()}")
    # What the check lifts into its nested graph is an input of this one, and goes with a roll-back.
    marker = tx.graph.marker()
    try:
        reads, writes, mark = _trace_and_discard(tx, function, cls, operands, setup)
    except GraphBreak:
        tx.graph.rollback(marker)
        raise
    given = [operand for place, operand in enumerate(operands) if place not in held]
    target = exact_target(tx, make_node_target(cls, held, writes=writes), given)
    node = call_node(tx, target, graph_arguments(tx, given))
    mark(node)
    # The graph has a list or a dict as it is now, and a compiled backward pass has all that it reads.
    copied = not all(isinstance(one, _UNCHANGING) for one in reachable(operands).values())
    stops = copied or not tx.graph.runs_as_captured
    reads.keep(tensors_in(example(node)), step=tx.graph.step if stops else None)
    return wrap_result(tx, node)


def _refuse_rules(tx: TraceContext, function: Tracker, cls: type[Function]) -> None:
    """Break the graph if `torch.vmap` or forward-mode differentiation would call a rule of the class: it is not traced, so what it
    reads would have no guard."""
    use, called = tx.graph.use, []
    # What an operator repeats may be batched, and differentiated in both ways.
    if use.is_batched or use.is_repeated:
        called = ["vmap"]
        function.attribute(tx, "generate_vmap_rule")
    if use.is_pushed_forward or use.is_repeated or open_levels():
        called.append("jvp")
    for name in called:
        function.attribute(tx, name)  # guards that it is the one that is asked for here
        if getattr(cls, name) is not getattr(Function, name):
            raise GraphBreak(FUNCTION_KIND, f"{class_name(cls)}.{name}() under a transform")


def _function_of(tx: TraceContext, operand: Tracker) -> Callable[..., object] | None:
    """A function that is given as an argument, which no node can hold; guarded to be this one. None for anything else, and for
    functions that the program may make anew for each call."""
    if isinstance(operand, FunctionTracker):
        value = operand.value
        if value.__closure__ is not None or "<" in value.__qualname__:
            return None
        operand.hash_key(tx)
        return value
    if not isinstance(operand, GraphValue) and operand.is_python_constant():
        known = operand.as_python_constant()
        return known if isinstance(known, BuiltinFunctionType) else None
    return None


def make_node_target(
    cls: type[Function], held: Mapping[int, Callable[..., object]] | None = None, *, writes: bool = False
) -> Callable[..., object]:
    """A function for the node, since fx writes methods of torch's classes with the name of their class in torch. `held`: the
    arguments that it adds, by their places. `writes`: it changes arguments, and is named as torch names what does."""

    def apply_function(*given: object) -> object:
        args = list(given)
        for place, function in sorted((held or {}).items()):
            args.insert(place, function)
        # The class, not its `forward`: autograd and AOTAutograd treat the call as in eager. Not `cls.apply`: where a
        # class method of the program replaces it, that one was traced.
        result: object = _STORED.__get__(None, cls)(*args)
        return result

    apply_function.__name__ = f"apply_{class_name(cls)}{'_' if writes else ''}"
    return apply_function


def _trace_and_discard(
    tx: TraceContext, function: Tracker, cls: type[Function], operands: Sequence[Tracker], setup: bool
) -> tuple[StateReads, bool, Callable[[fx.Node], None]]:
    """Trace the function and discard the recording; returns what it reads, whether it changes arguments, and what marks the node as
    one that draws random numbers. Breaks the graph where it does more than compute, or than to write to arguments."""
    tensors = [operand for operand in operands if isinstance(operand, TensorTracker)]
    needs = tuple(isinstance(one, TensorTracker) and one.fake.requires_grad for one in operands)
    # the version counter of a tensor grows with each in-place change
    counted = [tensor.fake for tensor in tensors if not tensor.fake.is_inference()]
    # Read before the passes, and compared with what it is behind them.
    versions, forms = [fake._version for fake in counted], [_form(one.fake) for one in tensors]
    # Else `backward` is never called, and may be missing.
    differentiated = torch.is_grad_enabled() and any(needs)
    given = (
        function,
        TupleTracker([Constant(need) for need in needs]),
        TupleTracker(operands),
        Constant(setup),
        Constant(differentiated),
    )
    # a change of one of these is a side effect; a change of an object created inside is none
    outside = reachable([*given, *tx.changes.changed_trackers()])
    reads = StateReads(tx)
    with (
        # The node will make the changes that are traced here.
        _unsafe_preserve_version_counter(tuple(counted)),
        tx.graph.subgraph(Use(is_discarded=True)) as recording,
        tx.changes.watch_changes() as noted,
        tx.changes.watch_reads(reads),
    ):
        try:
            result = run_pending(tx, _REHEARSAL.bind(tx, given, {}))
            found = reachable([result])
            nodes = [one.graph_node(tx) for one in found.values() if isinstance(one, TensorTracker)]
            results = list(map(recording.body.local, nodes))
        except ObservedException:
            # Natively it raises in the program's own frames; the check may have stopped in the midst of a pass.
            raise GraphBreak(FUNCTION_KIND, f"{class_name(cls)} raises an exception") from None
        written = [fake for fake, version in zip(counted, versions, strict=True) if fake._version != version]
    if any(one.source is not None or id(one) in outside for one in noted):
        raise GraphBreak(FUNCTION_KIND, f"{class_name(cls)} has side effects")
    if reads.has_unwritten_changes():
        raise GraphBreak(FUNCTION_KIND, f"{class_name(cls)} reads what the graph has not written yet")
    if len(counted) < len(tensors) and recording.may_write():  # those of inference mode have no counter
        raise GraphBreak(FUNCTION_KIND, f"{class_name(cls)} may change a tensor of inference mode")
    assert isinstance(result, TupleTracker)
    gradients = result.items[1].realize()
    if forms != [_form(one.fake) for one in tensors]:  # the node would change it once more
        raise GraphBreak(FUNCTION_KIND, f"{class_name(cls)} changes the form of a tensor")
    if differentiated and not tx.graph.runs_as_captured:
        _check_gradients(cls, operands, gradients)
    # An operand that was given twice, or is given back by an operation, has one fake and maybe other nodes.
    own = {operand.graph_node(tx) for operand in operands if isinstance(operand, GraphValue)}
    fakes = {id(tensor.fake) for tensor in tensors}
    if any(node not in own and id(example(node)) not in fakes for node in recording.lifted):
        raise GraphBreak(
            FUNCTION_KIND, f"{class_name(cls)} uses a tensor or symbolic number that is no argument"
        )
    return reads, bool(written), lambda node: mark_draws(node, recording.body.graph, results)


def _form(tensor: torch.Tensor) -> tuple[object, ...]:
    """What a tensor is but for its content."""
    layout = (tensor.stride(), tensor.storage_offset()) if tensor.layout is torch.strided else ()
    return tensor.shape, *layout, tensor.dtype, tensor.requires_grad, tensor.grad_fn


def _check_gradients(cls: type[Function], operands: Sequence[Tracker], gradients: Tracker) -> None:
    """Break the graph where autograd refuses what `backward` gives: in eager it does when a backward pass runs, and a backend that
    differentiates the graph runs it at once. As python_function.cpp and engine.cpp of torch do."""
    given = gradients.items if isinstance(gradients, TupleTracker) else (gradients,)
    found = [one.realize() for one in given]
    none = [isinstance(one, Constant) and one.value is None for one in found]
    count = len(operands)
    is_sound = len(found) >= count and all(none[count:])
    for operand, gradient, is_none in zip(operands, found, none, strict=False):
        if not is_none and not (
            isinstance(operand, TensorTracker)
            and isinstance(gradient, TensorTracker)
            and (not operand.fake.requires_grad or _is_expandable(operand.fake, gradient.fake))
        ):
            is_sound = False
    if not is_sound:
        raise GraphBreak(
            FUNCTION_KIND, f"{class_name(cls)}.backward() gives what is no gradient of the arguments"
        )


def _is_expandable(tensor: torch.Tensor, gradient: torch.Tensor) -> bool:
    """Whether the gradient has the size of the tensor, or one that can be summed to it."""
    sizes, wanted = list(gradient.shape), list(tensor.shape)
    return len(sizes) >= len(wanted) and all(
        size in (1, other) for size, other in zip(reversed(wanted), reversed(sizes), strict=False)
    )
