"""Which callables become one node of the graph. One rule decides, by the real object; tables hold the exceptions.

A builtin function belongs in the graph when torch's generated tables hold it, a Python function when its *globals*
are those of a module listed here (`functools.wraps` cannot change those), an operator of `torch.ops` always. What
such a call does is in `torch_functions.graph_calls`; functions with a row of their own, in `torch_functions.recipes`.
"""

import functools
from collections.abc import Callable, Hashable
from itertools import chain
from types import BuiltinFunctionType, FunctionType, ModuleType
from typing import Final, final

import torch
import torch._jit_internal
import torch.functional
import torch.nn.functional
from torch._library.custom_ops import CustomOpDef

from framesmith.graph import BreakKind, GraphBreak
from framesmith.graph.breaks.break_kinds import (
    BACKEND_LIMIT,
    DATA_DEPENDENT_OUTPUT,
    NATIVE_CALL,
    RANDOM_STATE,
    TENSOR_INTERNALS,
)
from framesmith.guards import Source
from framesmith.guards.kinds import Identical
from framesmith.variables.core import (
    Arguments,
    Constant,
    Keywords,
    PendingCall,
    TraceContext,
    Tracker,
    Writer,
)
from framesmith.variables.core.registry import Priority
from framesmith.variables.core.rows import Rows
from framesmith.variables.core.table import row_of
from framesmith.variables.graph_nodes.results import check_no_mode, record
from framesmith.variables.tensors.tensors import TensorTracker
from framesmith.variables.torch_functions.graph_calls import graph_call, is_operator_type, record_function

ROWS: Final = Rows()

_BUILTIN_NAMESPACES: Final = (
    torch._C._VariableFunctions,
    *(
        getattr(torch._C, name)  # torch's stubs do not list all of them
        for name in ("_nn", "_fft", "_linalg", "_special", "_sparse", "_nested")
    ),
)
_PYTHON_MODULES: Final[tuple[ModuleType, ...]] = (torch.functional, torch.nn.functional)

_QUESTIONS: Final = ("_canonical_mask", "_none_or_dtype")
"""Functions of those modules that ask about a mask, which there may not be: they are traced as any function of the program."""
_RECURRENT: Final = ("lstm", "gru", "rnn_tanh", "rnn_relu")
# AOTAutograd makes a graph without writes, for which torch has no rule (SGD, Adagrad), or none with an empty list (Adam).
_FUSED_STEPS: Final = ("_fused_sgd_", "_fused_adagrad_", "_fused_adam_", "_fused_adamw_")
# Functions of those namespaces that cannot be a node.
_BREAKS: Final[dict[BreakKind, tuple[str, ...]]] = {
    TENSOR_INTERNALS: (
        "from_numpy", "frombuffer", "from_file", "_from_blob", "asarray", "is_same_size", "_debug_has_internal_overlap",
        "_print", "_cufft_set_plan_cache_max_size", "_cufft_clear_plan_cache",
    ),
    BACKEND_LIMIT: (
        "resize_as_", "resize_as_sparse_", "_resize_output_", "_make_dual", "_unpack_dual", "_add_batch_dim",
        "_remove_batch_dim", "_propagate_xla_data", "_sync",
    ),
    DATA_DEPENDENT_OUTPUT: ("is_nonzero",),
}  # fmt: skip


def _builtins_by_name() -> dict[str, list[object]]:
    """The builtin functions of these namespaces, by name."""
    found: dict[str, list[object]] = {}
    for module in _BUILTIN_NAMESPACES:
        for name in dir(module):
            value = getattr(module, name)
            if isinstance(value, BuiltinFunctionType) and not name.startswith("__"):
                found.setdefault(name, []).append(value)
    return found


@functools.cache
def builtin_functions() -> frozenset[object]:
    """All builtin functions of those namespaces."""
    return frozenset(chain.from_iterable(_builtins_by_name().values()))


def _register_break(function: object, kind: BreakKind, name: str) -> None:
    def refuse(tx: TraceContext, *args: Tracker, **kwargs: Tracker) -> Tracker:
        raise GraphBreak(kind, f"torch.{name}()")

    ROWS.call(function, priority=Priority.LISTED)(refuse)


def _register_limited(function: Callable[..., object], name: str, with_gradients_only: bool) -> None:
    """Add a row that breaks the graph for a backend that replaces operations, maybe only where gradients are recorded."""

    def record_call(tx: TraceContext, *args: Tracker, **kwargs: Tracker) -> Tracker:
        # The switch is turned while tracing, so it is that of this point of the program.
        if (torch.is_grad_enabled() or not with_gradients_only) and not tx.graph.runs_as_captured:
            raise GraphBreak(
                BACKEND_LIMIT, f"torch.{name}(){' with gradients' if with_gradients_only else ''}"
            )
        if name in _RECURRENT:
            _check_dropout(args, name)
        return graph_call(tx, function, args, kwargs)

    ROWS.call(function)(record_call)


def _check_dropout(args: tuple[Tracker, ...], name: str) -> None:
    """Break the graph for a recurrent network with dropout on CUDA. The operation on fakes fails, and before that it takes note that
    cuDNN has got the new seed: the next real one would draw old numbers."""
    tensors = (arg for arg in args if isinstance(arg, TensorTracker))
    known = [arg.value for arg in args if isinstance(arg, Constant)]
    # Both forms of the call have the probability, the only float, just before `train`.
    place = next((place for place, value in enumerate(known) if isinstance(value, float)), None)
    drops = place is None or (bool(known[place]) and bool(known[place + 1]))
    if drops and any(tensor.fake.device.type == "cuda" for tensor in tensors):
        raise GraphBreak(RANDOM_STATE, f"torch.{name}() with dropout on CUDA")


def _install() -> None:
    builtins = _builtins_by_name()
    for name in _RECURRENT:
        for function in builtins[name]:
            assert isinstance(function, BuiltinFunctionType)
            _register_limited(function, name, with_gradients_only=True)
    for name in _FUSED_STEPS:
        packet = getattr(torch.ops.aten, name)
        # A program may call the function, the packet or an overload: each is a key of its own.
        for step in (
            *builtins[name],
            packet,
            *(getattr(packet, overload) for overload in packet.overloads()),
        ):
            _register_limited(step, name, with_gradients_only=False)
    for kind, names in _BREAKS.items():
        for name in names:
            for function in builtins.get(name, ()):
                _register_break(function, kind, name)
    for function in dict.fromkeys(chain.from_iterable(builtins.values())):  # some have several names
        # GENERAL priority: rows of its own, and the breaks above, count before it.
        record_function(ROWS, function)  # type: ignore[arg-type]  # builtin functions, see `_builtins_by_name`
    for module in _PYTHON_MODULES:
        for value in dict.fromkeys(v for v in vars(module).values() if isinstance(v, FunctionType)):
            if _lives_in(value, module) and value.__name__ not in _QUESTIONS:
                record_function(ROWS, value)


def _lives_in(function: FunctionType, module: ModuleType) -> bool:
    """Whether the function was defined in that module, or is one of its `boolean_dispatch` pairs."""
    if function.__globals__ is vars(module):
        return True
    # `boolean_dispatch` makes both functions of a pair (`max_pool2d`) in
    # `torch._jit_internal`, and sets their `__module__`.
    return function.__globals__ is vars(torch._jit_internal) and function.__module__ == module.__name__


_install()


@final
class OperatorTracker(Tracker):
    """An operator of `torch.ops`, or one created by `torch.library.custom_op`."""

    def __init__(self, value: object, source: Source | None) -> None:
        self.value = value
        self.source = source

    @property
    def python_type(self) -> type:
        """The class of the operator."""
        return type(self.value)

    def begin_call(self, tx: TraceContext, args: Arguments, kwargs: Keywords) -> Tracker | PendingCall:
        """A call of its row if it has one, else a node of the graph."""
        check_no_mode(tx, f"{self.value}()")
        row = row_of(tx.registry, self.value)
        if row is not None:
            return row.begin(tx, args, kwargs)
        # The object of `custom_op` is Python code around the operator, which alone dispatches to fakes.
        operator = self.value._opoverload if isinstance(self.value, CustomOpDef) else self.value
        assert callable(operator)
        return graph_call(tx, operator, args, kwargs)

    def begin_attribute(self, tx: TraceContext, name: str) -> Tracker:
        """An overload of the operator; other attributes break the graph."""
        found = getattr(self.value, name, None)
        if not is_operator_type(type(found)):
            return self.unsupported(f"reading attribute {name!r}")
        # No guard: an overload is fixed by the operator, which is guarded.
        return OperatorTracker(found, None)

    def is_same(self, tx: TraceContext, other: Tracker) -> bool:
        """`self is other`: whether they are the same operator."""
        return isinstance(other, OperatorTracker) and other.value is self.value

    def hash_key(self, tx: TraceContext) -> Hashable:
        """No two operators are equal."""
        return ("object", self.value)

    def truth(self, tx: TraceContext) -> bool:
        """An operator is true."""
        return True

    def reconstruct(self, writer: Writer) -> str:
        """The operator itself, as a constant of the entry."""
        return writer.constant(self.value, "operator")


@ROWS.wrap_when(20, lambda _, cls: is_operator_type(cls) or issubclass(cls, CustomOpDef))
def wrap_operator(tx: TraceContext, value: object, source: Source) -> Tracker:
    """An existing operator, guarded by identity."""
    tx.guard(source, Identical(value))
    return OperatorTracker(value, source)


@ROWS.call(torch._C._VariableFunctions.unique_dim)
def unique_dim(tx: TraceContext, *args: Tracker, **kwargs: Tracker) -> Tracker:
    """The operator: fx finds no name for the function, which is in no module."""
    return record(tx, torch.ops.aten.unique_dim.default, args, kwargs)


@ROWS.call(torch.manual_seed, torch.seed, torch.initial_seed, torch.get_rng_state, torch.set_rng_state)
def random_state(tx: TraceContext, *args: Tracker, **kwargs: Tracker) -> Tracker:
    """Break the graph: the order of seeding and drawing must be kept, so it runs between two graphs."""
    raise GraphBreak(RANDOM_STATE, "the state of torch's random number generator")


def _refuse_in_graphs(function: Callable[..., object]) -> None:
    def refuse(tx: TraceContext, *args: Tracker, **kwargs: Tracker) -> Tracker:
        """Break the graph: compilers and files have no place in it."""
        raise GraphBreak(NATIVE_CALL, f"torch.{function.__name__}")

    ROWS.call(function)(refuse)


for _function in (torch.compile, torch.save, torch.load):
    _refuse_in_graphs(_function)
