"""From a graph node to trackers: recording one operation and wrapping its result.

The trackers themselves register a rule for their kind of example value; this module knows none of them. How trackers
become arguments of a node: `graph_nodes.arguments`.
"""

import operator
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from types import FunctionType
from typing import Final

import torch
from torch import fx
from torch._C._functorch import peek_interpreter_stack
from torch.autograd import forward_ad
from torch.utils._device import DeviceContext

from framesmith.graph import BreakKind, FakeFailure, FloatNeeded, GraphBreak, NumbersNeeded, register
from framesmith.graph.backends.masked_gradients import explain_masked_gradient
from framesmith.graph.breaks.break_kinds import (
    BACKEND_LIMIT,
    CHANGING_VALUE,
    MASKED_GRADIENT,
    OPERATION_RAISES,
    RANDOM_STATE,
    TENSOR_ITEM,
    UNSUPPORTED_ARGUMENT,
    UNSUPPORTED_VALUE,
)
from framesmith.graph.environment.default_devices import entered_modes
from framesmith.graph.fakes.infer import CallKind, operation_name, translate
from framesmith.graph.nodes.arguments import example
from framesmith.graph.operations.purity import draws_otherwise_when_spread, may_mutate
from framesmith.graph.python_numbers.number_calls import (
    find_factors,
    find_numbers,
    round_numbers,
    with_numbers,
)
from framesmith.guards.words import a_type
from framesmith.variables.builtin_types.dicts import make_dict_tracker
from framesmith.variables.builtin_types.lists import ListTracker
from framesmith.variables.builtin_types.slices import SliceTracker
from framesmith.variables.builtin_types.tuples import TupleTracker
from framesmith.variables.core import Constant, TraceContext, Tracker, is_constant_type
from framesmith.variables.core.registry import Table
from framesmith.variables.graph_nodes.graph_values import (
    CONVERSIONS,
    GraphValue,
    graph_arguments,
    graph_keywords,
)
from framesmith.variables.graph_nodes.replaced_operations import check_replaced

MODE_ACTIVE = register(
    BreakKind(
        "mode-active",
        "an operation under a transform or mode that sees each operation",
        "Tracing would run the mode's code on values that do not exist, and the graph would run it again.",
        "Compile the function that is transformed; enter the mode inside of the compiled function, with nothing in its block that "
        "breaks the graph.",
    )
)

_HANDING_ON: Final = ("unflatten",)
"""Methods in Python that hand their numbers on to C++ as they are."""
ResultRule = Callable[[TraceContext, fx.Node | None, object], Tracker]
RESULTS: Final = Table[type, ResultRule]("trackers of results")
"""Makes the trackers of example values of exactly this type; of all tensors under `torch.Tensor`."""

_POWERS: Final[frozenset[object]] = frozenset(
    {operator.pow, operator.ipow, torch.pow, "pow", "pow_", "__pow__", "__rpow__", "__ipow__"}
)


def record(
    tx: TraceContext,
    target: Callable[..., object] | str,
    args: Sequence[Tracker],
    kwargs: Mapping[str, Tracker] | None = None,
) -> Tracker:
    """Record a call of a function, or of a method given by name, and wrap its result."""
    return wrap_result(tx, record_node(tx, target, args, kwargs))


def record_node(
    tx: TraceContext,
    target: Callable[..., object] | str,
    args: Sequence[Tracker],
    kwargs: Mapping[str, Tracker] | None = None,
) -> fx.Node:
    """Record a call of a function, or of a method given by name; the node, which has its example value.

    A float from which the operation computes a size, or on which it decides, is specialized. Where the operation reads
    numbers out of tensors, it gets numbers in their place: `torch.zeros(n)`, `x[:n]`. A symbolic base or exponent is specialized
    where a backend would have to differentiate the power, for which AOTAutograd has no rule, and that of integers, for which
    inductor has none.
    """
    keywords = kwargs or {}
    if (
        target in _POWERS
        and not tx.graph.runs_as_captured
        and _needs_plain_numbers((*args, *keywords.values()))
    ):
        args = [_fix_numbers(value, int) for value in args]
        keywords = {name: _fix_numbers(value, int) for name, value in keywords.items()}
        if any(value.realize().is_run_time_number for value in (*args, *keywords.values())):
            raise GraphBreak(
                BACKEND_LIMIT, "the gradient, or the integers, of a power with a number that is not known"
            )
    try:
        return record_once(tx, target, args, keywords)
    except NumbersNeeded as needed:
        read = needed.tensors
    numbers = {name: read_numbers(tx, value, read) for name, value in keywords.items()}
    try:
        return record_once(tx, target, [read_numbers(tx, value, read) for value in args], numbers)
    except NumbersNeeded as needed:
        raise GraphBreak(TENSOR_ITEM, str(needed)) from needed


def read_numbers(tx: TraceContext, value: Tracker, tensors: Collection[object]) -> Tracker:
    """An argument with numbers in place of these tensors, each of which holds one: as `tensor.item()` gives them."""
    value = value.realize()
    if isinstance(value, SliceTracker):
        start, stop, step = (read_numbers(tx, part, tensors) for part in value.members())
        return SliceTracker(start, stop, step)
    if isinstance(value, TupleTracker):
        return TupleTracker([read_numbers(tx, part, tensors) for part in value.items], None, value.cls)
    if isinstance(value, ListTracker):
        return ListTracker([read_numbers(tx, part, tensors) for part in value.items])
    if not issubclass(value.python_type, torch.Tensor) or not isinstance(value, GraphValue):
        return value
    node = value.graph_node(tx)
    # By identity of the fake: only what the operation has read becomes a number.
    if not isinstance(node, fx.Node) or not any(example(node) is tensor for tensor in tensors):
        return value
    # Through the tracker, so that the number of an input is read before the graph.
    return value.attribute(tx, "item").call(tx, (), {})


def record_once(
    tx: TraceContext,
    target: Callable[..., object] | str,
    args: Sequence[Tracker],
    kwargs: Mapping[str, Tracker],
) -> fx.Node:
    """As `record_node`; raises NumbersNeeded where the operation reads numbers out of tensors.

    Where it takes no symbolic truth (`is_causal=n > 1`), it gets the truth that holds in this call, guarded.
    """
    try:
        return _record_with_floats(tx, target, args, kwargs)
    except GraphBreak as reason:
        # Only after a failure: most operators take a symbolic truth, and then no guard is needed.
        if reason.kind is not OPERATION_RAISES or not any(
            _has_number(value, bool) for value in (*args, *kwargs.values())
        ):
            raise
    fixed = {name: _fix_numbers(value, bool) for name, value in kwargs.items()}
    return _record_with_floats(tx, target, [_fix_numbers(value, bool) for value in args], fixed)


def _needs_plain_numbers(values: Iterable[Tracker]) -> bool:
    """Whether a power is differentiated, or of integers."""
    fakes = [getattr(value.realize(), "fake", None) for value in values]
    return any(
        (fake.requires_grad and torch.is_grad_enabled())
        or not (fake.dtype.is_floating_point or fake.dtype.is_complex)
        for fake in fakes
        if isinstance(fake, torch.Tensor)
    )


def _has_number(value: Tracker, cls: type) -> bool:
    """Whether an argument is a symbolic number of this class whose value is known in this call, or a list or tuple with one."""
    value = value.realize()
    if isinstance(value, TupleTracker | ListTracker):
        return any(_has_number(item, cls) for item in value.items)
    return value.is_run_time_number and value.python_type is cls and value.is_python_constant()


def _fix_numbers(value: Tracker, cls: type) -> Tracker:
    """The argument with the symbolic numbers of this class as they are in this call."""
    value = value.realize()
    if not _has_number(value, cls):
        return value
    if isinstance(value, TupleTracker):
        return TupleTracker([_fix_numbers(item, cls) for item in value.items], None, value.cls)
    if isinstance(value, ListTracker):
        return ListTracker([_fix_numbers(item, cls) for item in value.items])
    return Constant(value.as_python_constant())


def _record_with_floats(
    tx: TraceContext,
    target: Callable[..., object] | str,
    args: Sequence[Tracker],
    kwargs: Mapping[str, Tracker],
) -> fx.Node:
    """Record the call; one that needs a float as a number is recorded again with floats specialized."""
    try:
        return _call(tx, target, graph_arguments(tx, args), graph_keywords(tx, kwargs))
    except FloatNeeded:
        # While it is set, floats become arguments by their values (`ComputedNumber.output_node`).
        before, tx.graph.fixes_floats = tx.graph.fixes_floats, True
        try:
            return _call_fixed(tx, target, graph_arguments(tx, args), graph_keywords(tx, kwargs))
        finally:
            tx.graph.fixes_floats = before


def _asks_for_types(target: Callable[..., object] | str) -> bool:
    """Whether this is Python code of torch's, or an operator of `torch.ops`, whose parser takes fewer types than those of functions."""
    function = getattr(torch.Tensor, target, None) if isinstance(target, str) else target
    if isinstance(function, FunctionType):
        return function.__module__.partition(".")[0] == "torch" and target not in _HANDING_ON
    return isinstance(function, torch._ops.OpOverload | torch._ops.OpOverloadPacket)


def check_asked_types(
    tx: TraceContext, target: Callable[..., object] | str, values: Iterable[Tracker]
) -> None:
    """Break the graph for code that may ask for the type of its arguments and is given a number of numpy's own type, which a node would
    hold as Python's: `torch.split(x, np.int64(2))` is an error, as is `torch.ops.aten.add.Scalar(x, np.int64(2))`."""
    if not _asks_for_types(target):
        return
    for value in map(Tracker.realize, values):
        if isinstance(value, TupleTracker | ListTracker):
            check_asked_types(tx, target, value.items)
            continue
        cls = value.python_type
        if cls in tx.registry[CONVERSIONS] and not issubclass(cls, float):
            name = operation_name("call_method" if isinstance(target, str) else "call_function", target)
            raise GraphBreak(UNSUPPORTED_ARGUMENT, f"{name} of a {cls.__name__} of numpy")


def call_node(
    tx: TraceContext,
    target: Callable[..., object] | str,
    args: tuple[object, ...],
    kwargs: dict[str, object] | None = None,
) -> fx.Node:
    """As `record_node`, with arguments that are nodes and constants
    already; breaks where a float would have to be specialized, or a number read out of a tensor."""
    try:
        return _call_fixed(tx, target, args, kwargs or {})
    except NumbersNeeded as needed:
        raise GraphBreak(TENSOR_ITEM, str(needed)) from needed


def _call_fixed(
    tx: TraceContext, target: Callable[..., object] | str, args: tuple[object, ...], kwargs: dict[str, object]
) -> fx.Node:
    try:
        return _call(tx, target, args, kwargs)
    except FloatNeeded as needed:
        raise GraphBreak(CHANGING_VALUE, str(needed)) from needed


def _call(
    tx: TraceContext,
    target: Callable[..., object] | str,
    args: tuple[object, ...],
    kwargs: dict[str, object],
) -> fx.Node:
    # Asked at each operation, since a mode may be entered midway.
    check_modes(tx)
    check_replaced(tx, target)
    if draws_otherwise_when_spread(
        "call_method" if isinstance(target, str) else "call_function", target, args, kwargs
    ):
        raise GraphBreak(RANDOM_STATE, f"{target} of a tensor that is spread over processes")
    _check_gradient(tx, target, args, kwargs)
    try:
        return _call_operation(tx, target, args, kwargs)
    except FakeFailure as failure:
        # It runs for real then, and raises torch's error in the program.
        raise GraphBreak(OPERATION_RAISES, str(failure)) from failure


def _check_gradient(
    tx: TraceContext, target: Callable[..., object] | str, args: tuple[object, ...], kwargs: dict[str, object]
) -> None:
    """Break the graph before a backend would have to compute a gradient of which it cannot know the size."""
    reason = explain_masked_gradient(target, args, kwargs)
    if reason is None or not torch.is_grad_enabled() or tx.graph.options.capture_dynamic_output_shape_ops:
        return
    if not tx.graph.runs_as_captured:
        name = operation_name("call_method" if isinstance(target, str) else "call_function", target)
        raise GraphBreak(MASKED_GRADIENT, f"{name}: {reason}")


def _call_operation(
    tx: TraceContext, target: Callable[..., object] | str, args: tuple[object, ...], kwargs: dict[str, object]
) -> fx.Node:
    """Record it; with Python's numbers, where eager has them and they cannot stay tensors (`graph.number_calls`)."""
    op: CallKind = "call_method" if isinstance(target, str) else "call_function"
    places = find_numbers(target, args, kwargs, tx.graph.runs_as_captured) if tx.graph.keeps_numbers else ()
    if not places:
        try:
            return tx.graph.call(op, target, args, kwargs)
        except (GraphBreak, NumbersNeeded) as reason:
            is_read = isinstance(reason, NumbersNeeded) or reason.kind is TENSOR_ITEM
            places = find_factors(target, args, kwargs) if is_read and tx.graph.runs_as_captured else ()
            if not places:
                raise
    # A backend that traces again would find no number.
    if not tx.graph.runs_as_captured:
        rounded = round_numbers(
            args, kwargs, places, lambda node: tx.graph.call("call_method", "to", (node, torch.float32))
        )
        if rounded is not None:
            return tx.graph.call(op, target, *rounded)
        raise GraphBreak(TENSOR_ITEM, f"{operation_name(op, target)} with a number that an optimizer read")
    function = with_numbers(target, may_mutate(op, target, args, kwargs))
    return tx.graph.call("call_function", function, (places, args, kwargs))


def evaluate(what: str, question: Callable[..., object], *arguments: object, **keywords: object) -> object:
    """The result of a function of a fake or a symbolic number, without a node.

    A decision on a number that is known at run time only breaks the graph.
    """
    try:
        return question(*arguments, **keywords)
    except Exception as error:
        reason = translate(what, error)
        if isinstance(reason, GraphBreak):
            raise reason from error
        raise GraphBreak(OPERATION_RAISES, str(reason)) from error


def check_modes(tx: TraceContext | None = None) -> None:
    """Break the graph under a transform or mode of the user, which would see the operations while tracing too. With `tx`, also where
    the backend runs other operations than those of the graph and something sees what operations save."""
    if peek_interpreter_stack() is not None:
        raise GraphBreak(MODE_ACTIVE, "a functorch transform (vmap, grad ...)")
    # They see what each operation saves; other operations save something else. Those of torch (checkpoints) show nobody what they see.
    hooks = None if tx is None else torch._C._autograd._top_saved_tensors_default_hooks(True)
    if tx is not None and hooks is not None and not _is_of_torch(hooks[0]) and not tx.graph.runs_as_captured:
        raise GraphBreak(MODE_ACTIVE, "hooks of saved tensors, and a backend that replaces operations")
    if torch._C._dispatch_tls_is_dispatch_key_excluded(torch._C.DispatchKey.Python):
        raise GraphBreak(MODE_ACTIVE, "a block in which torch asks no Python code")  # fakes are such code
    if forward_ad._current_level >= 0:
        raise GraphBreak(MODE_ACTIVE, "forward-mode differentiation")
    if torch._C._len_torch_dispatch_stack() > 1:  # the first one is the recorder's fake mode
        raise GraphBreak(MODE_ACTIVE, "a dispatch mode")
    check_function_modes()


def check_function_modes() -> None:
    """Break the graph under a torch-function mode of the program, in front of what such a mode is asked, or would see of the trace."""
    # `torch.set_default_device` pushes one; it only adds a `device=`, which fakes show.
    if not all(isinstance(mode, DeviceContext) for mode in entered_modes()):
        raise GraphBreak(MODE_ACTIVE, "a torch-function mode")


def _is_of_torch(hook: object) -> bool:
    return str(getattr(hook, "__module__", "")).startswith("torch.")


def check_no_mode(tx: TraceContext, what: str) -> None:
    """Break the graph where a mode that the trace has entered would be asked about something that is not passed on to it."""
    if tx.changes.overrides.asks_modes():
        raise GraphBreak(MODE_ACTIVE, f"{what} in a block of a torch-function mode")


def wrap_result(tx: TraceContext, node: fx.Node) -> Tracker:
    """The tracker of a node's value: tensor, symbolic number, constant, or a container of those."""
    return wrap_value(tx, node, example(node))


def wrap_value(tx: TraceContext, node: fx.Node | None, value: object) -> Tracker:
    """As `wrap_result`, for a value that is known to be the result of `node`.

    Only tensors need a node; without one, the value comes from a query of sizes or types.
    """
    cls = type(value)
    # A FakeTensor, or the wrapper of a subclass, is of another type than the tensor that it stands for.
    rule = tx.registry[RESULTS].get(torch.Tensor if isinstance(value, torch.Tensor) else cls)
    if rule is not None:
        return rule(tx, node, value)
    if is_constant_type(tx.registry, cls):
        return Constant(value)
    if isinstance(value, tuple):
        return TupleTracker([_member(tx, node, index, item) for index, item in enumerate(value)], None, cls)
    if cls is list:
        assert isinstance(value, list)
        return ListTracker([_member(tx, node, index, item) for index, item in enumerate(value)])
    if cls is dict:
        assert isinstance(value, dict)
        return make_dict_tracker(
            [(Constant(key), _member(tx, node, key, item)) for key, item in value.items()]
        )
    raise GraphBreak(UNSUPPORTED_VALUE, f"an operation gives {a_type(cls)}")


def _member(tx: TraceContext, node: fx.Node | None, key: object, value: object) -> Tracker:
    # Constants and symbolic numbers need no node to be read from the container.
    holds = isinstance(value, torch.Tensor | tuple | list | dict)
    part = call_node(tx, operator.getitem, (node, key)) if node is not None and holds else None
    return wrap_value(tx, part, value)
