"""Bodies of operators that run them many times: each run gives flat tensors and ints, on inputs of the body's own.

The operators are in `loops`. The tensors that a body takes from elsewhere become further operands, as for all bodies.
"""

import os
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, TypeAlias, final

import torch
from torch import fx
from torch._subclasses.fake_tensor import FakeTensor
from torch.fx.experimental.symbolic_shapes import free_unbacked_symbols, statically_known_true

from framesmith.graph import BreakKind, GraphBreak, NestedRecording, example, register
from framesmith.graph.breaks.break_kinds import NATIVE_CALL
from framesmith.graph.nodes.subgraph import Use
from framesmith.guards.words import with_article
from framesmith.variables.builtin_types.iterators import unpack
from framesmith.variables.builtin_types.tuples import TupleTracker
from framesmith.variables.callables.polyfill_functions import polyfill_function
from framesmith.variables.core import Constant, TraceContext, Tracker
from framesmith.variables.core.base import run_pending
from framesmith.variables.graph_nodes.results import evaluate, wrap_value
from framesmith.variables.higher_order.bodies import body_input, count_versions, record_body
from framesmith.variables.operations.truth import known_truth
from framesmith.variables.polyfills import operator_bodies
from framesmith.variables.symbolic_numbers.symbolic import SymbolicNumber
from framesmith.variables.tensors.tensors import TensorTracker

REPEATED_BODY: Final = register(
    BreakKind(
        "unsupported-body-of-operator",
        "a function under while_loop, map, scan, associative_scan or flex_attention that is more than a computation on tensors",
        "The function is captured once, and run once for each step: it may neither have side effects, nor change or return "
        "(a view of) a tensor that it was given, nor raise an exception; a value that is carried has to keep its kind and size.",
        "Compute new tensors in the function, and do everything else outside of it.",
    )
)
FLAT_RESULTS: Final = polyfill_function(operator_bodies.flat_results)
FLAT_STEPS: Final = polyfill_function(operator_bodies.flat_steps)
_NESTED: Final = polyfill_function(operator_bodies.nested)
_IS_SAME: Final = polyfill_function(operator_bodies.is_same_structure)

_REPEATED: Final = Use(is_transformed=True, is_repeated=True)
_TORCH: Final = os.path.join(os.path.dirname(torch.__file__), "")

Leaf: TypeAlias = TensorTracker | SymbolicNumber | Constant


@final
@dataclass(frozen=True, slots=True, eq=False)
class FlatBody:
    """A traced body: its recording, the number of its own inputs, the leaves of its result and their structure."""

    recording: NestedRecording
    inputs: int
    leaves: tuple[Leaf, ...]
    structure: Tracker
    outputs: tuple[fx.Node | int | None, ...]

    def check(self, lifted: Sequence[fx.Node], more: Sequence[torch.Tensor] = ()) -> None:
        """Break the graph as `check_operands`; also for a body that gives memory of an operand, or one memory twice."""
        inputs = self.check_operands(lifted, more)
        found = [_memory(leaf.fake) for leaf in self.leaves if isinstance(leaf, TensorTracker)]
        if not inputs.isdisjoint(found):
            raise GraphBreak(REPEATED_BODY, "it returns memory of an operand")
        if len(set(found)) != len(found):
            raise GraphBreak(REPEATED_BODY, "it returns two tensors that share memory")

    def check_operands(self, lifted: Sequence[fx.Node], more: Sequence[torch.Tensor] = ()) -> set[int]:
        """Break the graph if two operands share memory, those that it was given in Python (`more`) among them; the memories."""
        own = [example(node) for node in self.recording.body.order if node.op == "placeholder"]
        known = {id(one) for one in more}
        taken = [one for one in map(example, lifted) if id(one) not in known]
        inputs = [
            _memory(one) for one in (*own[: self.inputs], *more, *taken) if isinstance(one, torch.Tensor)
        ]
        if len(set(inputs)) != len(inputs):
            raise GraphBreak(REPEATED_BODY, "two of its operands share memory")
        return set(inputs)

    def fill(self, tx: TraceContext, values: Sequence[Tracker]) -> Tracker:
        """The structure of the result with the values that the operator gives."""
        assert len(values) == len(self.leaves)
        return fill_structure(tx, self.structure, values)


def fill_structure(tx: TraceContext, structure: Tracker, values: Sequence[Tracker]) -> Tracker:
    """A structure that a polyfill of `operator_bodies` found, with these leaves."""
    return run_pending(tx, _NESTED.bind(tx, [TupleTracker(values), structure], {}))


def is_same_structure(tx: TraceContext, structures: Sequence[Tracker]) -> bool:
    """Whether two such structures are equal."""
    return known_truth(tx, run_pending(tx, _IS_SAME.bind(tx, list(structures), {})))


def check_caller(tx: TraceContext) -> None:
    """Break the graph if the program itself calls what torch's function calls: an operator takes any function then, and gives flat
    results."""
    if tx.graph.asking is None or not tx.graph.asking()[0].co_filename.startswith(_TORCH):
        raise GraphBreak(NATIVE_CALL, "a function that only torch itself calls, called by the program")


def trace_flat(
    tx: TraceContext,
    polyfill: Tracker,
    before: Sequence[Tracker],
    inputs: Sequence[torch.Tensor | None],
    after: Sequence[Tracker] = (),
    use: Use = _REPEATED,
) -> FlatBody:
    """Trace a polyfill of `operator_bodies`, called with the trackers `before`, the body's own inputs (fakes, None for an int)
    and the trackers `after`."""
    versions = count_versions(tx, [fake for fake in inputs if fake is not None], REPEATED_BODY)
    with record_body(tx, [*before, *after], REPEATED_BODY, use, restores=True) as recording:
        own = [
            _number_input(tx, recording, index) if fake is None else body_input(tx, recording, fake, index)
            for index, fake in enumerate(inputs)
        ]
        # The operators take no float from elsewhere.
        before_fixing, tx.graph.fixes_floats = tx.graph.fixes_floats, True
        try:
            result = run_pending(tx, polyfill.begin_call(tx, [*before, *own, *after], {}))
            found, structure = unpack(tx, result)
            leaves = tuple(_leaf(leaf) for leaf in unpack(tx, found))
            outputs = tuple(_output(tx, recording, leaf) for leaf in leaves)
        finally:
            tx.graph.fixes_floats = before_fixing
        recording.bind_symbols()
    if recording.writes_outside(versions):
        raise GraphBreak(REPEATED_BODY, "it changes a tensor from elsewhere")
    return FlatBody(recording, len(inputs), leaves, structure, outputs)


def as_input(fake: torch.Tensor) -> torch.Tensor:
    """What a body sees of a tensor that is carried from run to run: one of the same kind, without history."""
    _check_kind(fake)
    with torch.no_grad():
        shown = torch.empty_strided(fake.shape, fake.stride(), dtype=fake.dtype, device=fake.device)
    return shown.requires_grad_(fake.requires_grad)


def as_slice(fake: torch.Tensor) -> torch.Tensor:
    """What a body sees of a tensor that is given slice by slice along the first dimension: a view."""
    _check_kind(fake)
    if fake.dim() == 0 or evaluate("size", lambda: bool(fake.shape[0] == 0)):
        raise GraphBreak(REPEATED_BODY, "there is no first slice")
    with torch.no_grad():
        shown = fake.detach().select(0, 0)
    assert isinstance(shown, FakeTensor)
    # A tensor that torch made of numbers knows them, and those of the first slice are not those of the others.
    shown.constant = None
    return shown.requires_grad_(fake.requires_grad)


def as_step(fake: torch.Tensor) -> torch.Tensor:
    """The same as a copy, which shares no memory with what the body takes from elsewhere."""
    shown = as_slice(fake)
    with torch.no_grad():
        copied = torch.empty(shown.shape, dtype=shown.dtype, device=shown.device)
    return copied.requires_grad_(fake.requires_grad)


def _check_kind(fake: torch.Tensor) -> None:
    if (
        not isinstance(fake, FakeTensor)
        or fake.layout is not torch.strided
        or fake.is_conj()
        or fake.is_neg()
    ):
        raise GraphBreak(REPEATED_BODY, "an operand is of an unusual kind")


def check_alike(leaves: Sequence[Leaf], inputs: Sequence[torch.Tensor | None]) -> None:
    """Break the graph if what is carried does not keep its kind: dtype, device, sizes and strides."""
    if len(leaves) != len(inputs):
        raise GraphBreak(REPEATED_BODY, "it gives another number of values than it carries")
    for leaf, given in zip(leaves, inputs, strict=True):
        if given is None:
            if isinstance(leaf, TensorTracker) or leaf.python_type is not int:
                raise GraphBreak(REPEATED_BODY, f"it gives {with_article(leaf.describe())} for an int")
        elif not isinstance(leaf, TensorTracker) or not _alike(leaf.fake, given):
            raise GraphBreak(REPEATED_BODY, "a value that it carries changes its kind or its size")


def check_steps(leaves: Sequence[Leaf]) -> None:
    """Break the graph if what a step gives is no tensor of a known size, nor None."""
    for leaf in leaves:
        if isinstance(leaf, TensorTracker):
            if any(free_unbacked_symbols(size) for size in leaf.fake.shape):
                raise GraphBreak(REPEATED_BODY, "its size differs from step to step")
        elif not isinstance(leaf, Constant) or leaf.value is not None:
            raise GraphBreak(REPEATED_BODY, f"it gives {with_article(leaf.describe())}")


def _alike(one: torch.Tensor, other: torch.Tensor) -> bool:
    if (one.dtype, one.device, one.dim()) != (other.dtype, other.device, other.dim()):
        return False
    pairs = zip((*one.shape, *one.stride()), (*other.shape, *other.stride()), strict=True)
    return all(statically_known_true(left == right) for left, right in pairs)


def _number_input(tx: TraceContext, recording: NestedRecording, index: int) -> Tracker:
    node = recording.unknown_number(f"operand_{index}")
    return wrap_value(tx, node, example(node))


def _leaf(value: Tracker) -> Leaf:
    value = value.realize()
    if isinstance(value, TensorTracker | SymbolicNumber):
        return value
    if isinstance(value, Constant) and (value.value is None or type(value.value) is int):
        return value
    raise GraphBreak(REPEATED_BODY, f"it gives {with_article(value.describe())}")


def _output(tx: TraceContext, recording: NestedRecording, leaf: Leaf) -> fx.Node | int | None:
    if isinstance(leaf, Constant):
        value = leaf.value
        assert value is None or isinstance(value, int)
        return value
    found = leaf.graph_node(tx)
    assert not isinstance(found, float)
    # A tensor from outside is lifted into the nested graph.
    return recording.body.local(found) if isinstance(found, fx.Node) else found


def _memory(tensor: torch.Tensor) -> int:
    return int(tensor.untyped_storage()._cdata)
