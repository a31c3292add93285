"""Attributes that `torch.Tensor` defines: how each is read and set. The tracker handles those of the user.

Methods are in `tensors.tensor_methods`.
"""

from typing import Final, NoReturn

import torch

from framesmith.graph import GraphBreak
from framesmith.graph.backends.captured_only import HISTORY_ASKED
from framesmith.graph.breaks.break_kinds import (
    ATTRIBUTE_STORE,
    BACKEND_LIMIT,
    OPERATION_RAISES,
    TENSOR_INTERNALS,
)
from framesmith.graph.fakes.execution import storage_of
from framesmith.graph.fakes.real_strides import has_small_gaps
from framesmith.graph.inputs.inputs import is_jagged
from framesmith.graph.nodes.arguments import example, tensors_in
from framesmith.graph.operations.tensor_hooks import hooked
from framesmith.guards.class_lookup import class_name
from framesmith.guards.kinds import TensorProperty
from framesmith.guards.plain_tensors import PLAIN_TENSORS, read_unasked
from framesmith.guards.sources import Gradient, Pinned
from framesmith.variables.core import Constant, TraceContext, Tracker
from framesmith.variables.core.rows import Rows
from framesmith.variables.graph_nodes.results import call_node, wrap_result, wrap_value
from framesmith.variables.tensors.tensors import (
    READERS,
    WRITERS,
    TensorTracker,
)

ROWS: Final = Rows()

# Read from the fake tensor; the claim on the tensor's metadata covers all of them.
_METADATA = ("dtype", "layout", "ndim", "itemsize", "shape", "grad_dtype")
# Views and computed tensors: one node each.
_TENSORS = ("T", "mT", "H", "mH", "real", "imag")
_DEVICES = ("cpu", "cuda", "ipu", "maia", "meta", "mps", "mtia", "vulkan", "xla", "xpu")
_LAYOUTS = ("is_sparse", "is_sparse_csr", "is_quantized", "is_mkldnn")


def _register_metadata(name: str) -> None:
    @ROWS.entry(READERS, name)
    def read(tx: TraceContext, tensor: TensorTracker) -> Tracker:
        return wrap_value(tx, None, getattr(tensor.fake, name))


def _register_computed(name: str) -> None:
    @ROWS.entry(READERS, name)
    def read(tx: TraceContext, tensor: TensorTracker) -> Tracker:
        return wrap_result(tx, call_node(tx, getattr, (tensor.graph_node(tx), name)))


def _register_device(kind: str) -> None:
    @ROWS.entry(READERS, f"is_{kind}")
    def read(tx: TraceContext, tensor: TensorTracker) -> Tracker:
        # A fake reports the device that it stands for, though its own memory is on "meta".
        return Constant(tensor.fake.device.type == kind)


for _name in _METADATA:
    _register_metadata(_name)
for _name in _TENSORS:
    _register_computed(_name)
for _name in _DEVICES:
    _register_device(_name)


@ROWS.entry(READERS, "data")
def read_data(tx: TraceContext, tensor: TensorTracker) -> Tracker:
    """The memory without its history: of what the tensor gets behind the graph, if that is so."""
    node = tensor.graph_node(tx)
    return wrap_result(tx, call_node(tx, getattr, (tx.graph.writes.stored_in(node) or node, "data")))


def check_history(tx: TraceContext, tensor: TensorTracker) -> None:
    """Break the graph in a function under a transform, if a computed tensor requires a gradient: of the levels of functorch
    the trace does not know for which one."""
    # The fakes that a body is given (`higher_order.transforms`) have the answer that the function would see.
    computed = tensor.value is None and tensor.node.op != "placeholder"
    if computed and tensor.fake.requires_grad and tx.graph.use.is_transformed:
        raise GraphBreak(TENSOR_INTERNALS, "whether a tensor in a transformed function requires a gradient")


def check_place(tx: TraceContext, tensor: TensorTracker) -> None:
    """Break the graph in a function that runs any number of times: what is a leaf in one run is none in the next."""
    if tx.graph.use.is_repeated and tensor.value is None:
        raise GraphBreak(TENSOR_INTERNALS, "the history of a tensor in a function that an operator repeats")


@ROWS.entry(READERS, "requires_grad")
def read_requires_grad(tx: TraceContext, tensor: TensorTracker) -> Tracker:
    """`requires_grad`, of the fake."""
    check_history(tx, tensor)
    return Constant(tensor.fake.requires_grad)


@ROWS.entry(READERS, "nbytes")
def read_bytes(tx: TraceContext, tensor: TensorTracker) -> Tracker:
    """`nbytes`, computed here: a fake tensor does not know it where its sizes are symbols."""
    return wrap_value(tx, None, tensor.fake.numel() * tensor.fake.itemsize)


@ROWS.entry(READERS, *_LAYOUTS)
def read_layout(tx: TraceContext, tensor: TensorTracker) -> Tracker:
    """False: only strided tensors have a tracker, and jagged ones."""
    return Constant(False)


@ROWS.entry(READERS, "is_nested")
def read_nested(tx: TraceContext, tensor: TensorTracker) -> Tracker:
    """Whether it is a jagged tensor."""
    return Constant(is_jagged(tensor.fake))


@ROWS.entry(READERS, "device")
def read_device(tx: TraceContext, tensor: TensorTracker) -> Tracker:
    """The device of the real tensor, which the fake reports."""
    return Constant(tensor.fake.device)


@ROWS.entry(READERS, "volatile", "name")
def read_history(tx: TraceContext, tensor: TensorTracker) -> Tracker:
    """Break the graph: in eager `volatile` warns and is False, `name` is None."""
    raise GraphBreak(TENSOR_INTERNALS, "Tensor.volatile and Tensor.name")


@ROWS.entry(READERS, "is_leaf")
def read_is_leaf(tx: TraceContext, tensor: TensorTracker) -> Tracker:
    """`is_leaf`. For an input with the same answer it has its
    own guard, since the claim on metadata does not cover it."""
    check_history(tx, tensor)
    check_place(tx, tensor)
    answer = bool(tensor.fake.is_leaf)
    # A write in place in the graph may have given an input a history: then the answer is that of the trace.
    if tensor.value is not None and answer == read_unasked(tensor.value, "is_leaf"):
        tx.guard(tensor, TensorProperty.of(tensor.value, "is_leaf", answer))
    return Constant(answer)


@ROWS.entry(READERS, "retains_grad")
def read_retains_grad(tx: TraceContext, tensor: TensorTracker) -> Tracker:
    """`retains_grad`: False for a tensor created in the trace, as
    long as the graph retains no gradient; guarded for an input."""
    if tensor.value is None:
        # Which tensor retains one is known to the graph only.
        if any(hooked(tx.graph.graph)):
            raise GraphBreak(TENSOR_INTERNALS, "Tensor.retains_grad")
        return Constant(False)
    retains = bool(read_unasked(tensor.value, "retains_grad"))
    tx.guard(tensor, TensorProperty.of(tensor.value, "retains_grad", retains))
    return Constant(retains)


@ROWS.entry(READERS, "grad_fn", "_grad_fn")
def read_grad_fn(tx: TraceContext, tensor: TensorTracker) -> Tracker:
    """None for a leaf; else breaks the graph, as nodes of the autograd graph exist only at run time. A graph that gives the tensor
    runs as captured then: what a backend differentiates is one operation, with another name and other neighbours."""
    if tensor.value is None and tensor.fake.grad_fn is not None:
        tensor.graph_node(tx).meta[HISTORY_ASKED] = True
    if tensor.fake.grad_fn is not None or (
        tensor.value is not None and read_unasked(tensor.value, "grad_fn") is not None
    ):
        raise GraphBreak(TENSOR_INTERNALS, "Tensor.grad_fn of a value that was computed")
    # For its guard.
    read_is_leaf(tx, tensor)
    return Constant(None)


@ROWS.entry(READERS, "grad", "_grad")
def read_grad(tx: TraceContext, tensor: TensorTracker) -> Tracker:
    """The gradient of an input, wrapped as an input itself; None
    for a leaf created in the trace; else breaks the graph."""
    if id(tensor) in tx.changes.awaited_gradients:
        raise GraphBreak(TENSOR_INTERNALS, "Tensor.grad, read by a hook in the backward pass that gives it")
    if "grad" in tensor.own:
        stored = tensor.own["grad"]
        assert stored is not None
        return stored
    if tensor.value is not None and tensor.source is not None:
        # torch's warning about a `.grad` of no leaf names the line that reads it, so it is read natively.
        if not read_unasked(tensor.value, "is_leaf") and not read_unasked(tensor.value, "retains_grad"):
            raise GraphBreak(TENSOR_INTERNALS, "Tensor.grad of a tensor that is no leaf: torch warns")
        # For its guard: no leaf without a retained gradient warns.
        read_is_leaf(tx, tensor)
        # The source of the gradient then reads it without asking the class.
        overridden = type(tensor.value) not in PLAIN_TENSORS
        return tx.wrap(read_unasked(tensor.value, "grad"), Gradient(tensor.source, overridden))
    check_place(tx, tensor)
    if tensor.fake.is_leaf:
        return Constant(None)
    raise GraphBreak(TENSOR_INTERNALS, "Tensor.grad of a tensor that is no leaf: torch warns")


@ROWS.entry(READERS, "_backward_hooks", "_post_accumulate_grad_hooks")
def read_hooks(tx: TraceContext, tensor: TensorTracker) -> Tracker:
    """Break the graph: hooks are not modelled."""
    raise GraphBreak(TENSOR_INTERNALS, "hooks of a tensor")


@ROWS.entry(READERS, "_base", "output_nr", "_cdata", "_python_dispatch", "_has_symbolic_sizes_strides")
def read_internals(tx: TraceContext, tensor: TensorTracker) -> Tracker:
    """Break the graph: these are known at run time only, or differ for a fake tensor."""
    raise GraphBreak(TENSOR_INTERNALS, "internals of a tensor (_base, output_nr ...)")


@ROWS.entry(READERS, "__class__")
def read_class(tx: TraceContext, tensor: TensorTracker) -> Tracker:
    """The class of the tensor."""
    return tx.wrap(tensor.cls, Pinned(tensor.cls, class_name(tensor.cls)))


@ROWS.entry(WRITERS, "requires_grad")
def write_requires_grad(tx: TraceContext, tensor: TensorTracker, value: Tracker) -> None:
    """A store that changes nothing, or that a graph can make, see `method_rows.requires_grad_`; else break the graph."""
    value = value.realize()
    if not isinstance(value, Constant) or not isinstance(value.value, bool):
        raise GraphBreak(ATTRIBUTE_STORE, "requires_grad of a tensor")
    if value.value is tensor.fake.requires_grad:
        # of what is no leaf the setter raises for either value, unlike the method
        if value.value and not read_is_leaf(tx, tensor).as_python_constant():
            raise GraphBreak(OPERATION_RAISES, "requires_grad of a tensor that is no leaf")
        return
    if not can_change_requires_grad(tx, tensor, value.value):
        raise GraphBreak(ATTRIBUTE_STORE, "requires_grad of a tensor")
    call_node(tx, "requires_grad_", (tensor.graph_node(tx), value.value))


def can_change_requires_grad(tx: TraceContext, tensor: TensorTracker, wanted: bool) -> bool:
    """Whether the graph can set `requires_grad`: of a new tensor to True; of an existing leaf, which is guarded to be one, where the
    backend runs the graph as captured."""
    if tx.graph.length() is None:
        return False
    if tensor.value is None:
        return wanted
    if not tx.graph.runs_as_captured:
        return False
    if type(tensor.value) not in PLAIN_TENSORS or not read_unasked(tensor.value, "is_leaf"):
        return False
    tx.guard(tensor, TensorProperty.of(tensor.value, "is_leaf", True))
    return True


@ROWS.entry(WRITERS, "data")
def write_data(tx: TraceContext, tensor: TensorTracker, value: Tracker) -> None:
    """A tensor's own data, which changes nothing (`module.to(device)` stores that where nothing is to be moved, `w.data *= mask` what
    `w.data` gave); a tensor of the same metadata that the trace computed; or any, of a tensor made in the trace. Else break the graph."""
    value = value.realize()
    if value is tensor or (isinstance(value, TensorTracker) and _is_own_data(tx, tensor, value)):
        return
    if isinstance(value, TensorTracker) and _is_exchanged(tx, tensor, value):
        given = read_data(tx, value)
        assert isinstance(given, TensorTracker)
        tx.changes.note(tensor)
        tensor.node, tensor.fake = given.graph_node(tx), given.fake
        tx.changes.results[id(given.fake)] = tensor
        return
    if not isinstance(value, TensorTracker) or not _takes_data(tx, tensor, value):
        _refuse_data(tx, tensor)
    if value.fake.requires_grad:  # nothing is differentiated through the store
        given = read_data(tx, value)
        assert isinstance(given, TensorTracker)
        value = given
    # The same fake gets the data, so its tracker stays the one of the tensor.
    call_node(tx, setattr, (tensor.graph_node(tx), "data", value.graph_node(tx)))
    if not tx.graph.runs_as_captured:
        tx.graph.writes.store_behind()


def _refuse_data(tx: TraceContext, tensor: TensorTracker) -> NoReturn:
    name = f"{tensor.describe()}.data = ..."
    if tx.graph.runs_as_captured:
        raise GraphBreak(ATTRIBUTE_STORE, name)
    tx.graph.writes.is_store_next = True
    if _is_differentiated(tx, tensor):
        raise GraphBreak(BACKEND_LIMIT, f"{name} behind a use of the tensor that a gradient needs")
    raise GraphBreak(ATTRIBUTE_STORE, name)


def _is_own_data(tx: TraceContext, tensor: TensorTracker, value: TensorTracker) -> bool:
    """Whether it is what `tensor.data` gave, and neither got other memory or another layout since."""
    if value.value is not None or value.cls is not torch.Tensor or tensor.cls not in PLAIN_TENSORS:
        return False
    made, old, new = value.graph_node(tx), tensor.fake, value.fake
    return (
        made.target is getattr
        and made.args == (tensor.graph_node(tx), "data")
        and storage_of(old) == storage_of(new)
        and not (old.is_inference() or new.is_inference())
        and (old.dtype, old.is_conj(), old.is_neg()) == (new.dtype, new.is_conj(), new.is_neg())
        and old.shape == new.shape
        and old.stride() == new.stride()
        and bool(old.storage_offset() == new.storage_offset())
    )


def _is_exchanged(tx: TraceContext, tensor: TensorTracker, value: TensorTracker) -> bool:
    """Whether a tensor made in the trace, which has no history, can be an alias of the other one from now on: nothing else leads to it."""
    old, new = tensor.fake, value.fake
    return (
        tx.graph.length() is not None
        and tensor.value is None
        and tensor.source is None
        and tensor.cls is torch.Tensor
        and value.cls is torch.Tensor
        and not (old.requires_grad or old._is_view() or old.is_inference() or new.is_inference())
        # what saved it reads its new data
        and not _is_differentiated(tx, tensor)
        # its version counter goes on, also for its views; that of an alias begins
        and old._version == 0
        and not any(
            storage_of(one) == storage_of(old)
            for node in tensor.graph_node(tx).users
            if node.args[1:] != ("data",)  # which has a counter of its own
            for one in tensors_in(example(node))
        )
        and (old.dtype, old.device, old.layout) == (new.dtype, new.device, new.layout)
        and not (old.is_conj() or old.is_neg() or new.is_conj() or new.is_neg())
        and not is_jagged(new)
    )


def _takes_data(tx: TraceContext, tensor: TensorTracker, value: TensorTracker) -> bool:
    """Whether the graph can give an existing leaf other memory, so that nothing else is to be seen of it."""
    old, new = tensor.fake, value.fake
    return (
        tx.graph.length() is not None
        and not tx.graph.options.exports  # a side effect
        and (tx.graph.runs_as_captured or not _is_differentiated(tx, tensor))
        and tensor.value is not None
        and type(tensor.value) in PLAIN_TENSORS
        and value.value is None
        and value.cls is torch.Tensor
        and old.is_leaf
        and not old._is_view()
        and not old.is_inference()
        and not new.is_inference()
        and (old.dtype, old.device, old.layout) == (new.dtype, new.device, new.layout)
        and old.shape == new.shape
        and not has_small_gaps(value.graph_node(tx))  # `sort` of a diagonal
        and old.stride() == new.stride()
        and new.storage_offset() == old.storage_offset() == 0
    )


def _is_differentiated(tx: TraceContext, tensor: TensorTracker) -> bool:
    """Whether the graph uses an input, or what stands for it, where a backward pass needs it: eager would read there what was stored in
    between."""
    node = tensor.graph_node(tx)
    users = [user for one in (node, *tx.graph.writes.stand_ins_of(node)) for user in one.users]
    return any(one.requires_grad for user in users for one in tensors_in(example(user)))


@ROWS.entry(WRITERS, "grad")
def write_grad(tx: TraceContext, tensor: TensorTracker, value: Tracker) -> None:
    """Store a gradient, replayed after the graph. No graph writes
    gradients, so the order is kept. Breaks the graph if it does not fit."""
    value = value.realize()
    fits = isinstance(value, TensorTracker) and (
        value.fake.shape == tensor.fake.shape
        and value.fake.dtype == tensor.fake.dtype
        and value.fake.device == tensor.fake.device
        # torch raises for a tensor as its own gradient.
        and value is not tensor
    )
    is_known = tensor.value is not None or tensor.fake.is_leaf
    if not is_known or not (fits or (isinstance(value, Constant) and value.value is None)):
        raise GraphBreak(ATTRIBUTE_STORE, "grad of a tensor")
    tx.changes.note(tensor)
    tensor.own["grad"] = value
