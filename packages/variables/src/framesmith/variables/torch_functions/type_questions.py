"""Queries about values: whether it is a tensor or overrides torch functions, result types, `finfo` and `iinfo`.

Questions about the process (grad mode, default dtype) are in `torch_functions.folded`.
"""

from collections.abc import Callable
from typing import Final, final

import torch
import torch.overrides
from torch._C import _functorch

from framesmith.graph import GraphBreak
from framesmith.graph.breaks.break_kinds import INTROSPECTION, NATIVE_CALL, TENSOR_INTERNALS
from framesmith.guards import Source
from framesmith.guards.class_lookup import defines, static_lookup
from framesmith.guards.kinds import Identical
from framesmith.variables.callables.polyfill_functions import polyfill_function
from framesmith.variables.core import Constant, PendingCall, TraceContext, Tracker, Writer, fold
from framesmith.variables.core.known_value import KnownValue
from framesmith.variables.core.overrides import NAME
from framesmith.variables.core.rows import Rows
from framesmith.variables.graph_nodes.results import check_function_modes, evaluate
from framesmith.variables.polyfills import tensor_marks
from framesmith.variables.tensors.tensors import TensorTracker

ROWS: Final = Rows()

_METADATA: Final[tuple[tuple[Callable[..., object], str], ...]] = (
    (torch.is_floating_point, "is_floating_point"),
    (torch.is_complex, "is_complex"),
    (torch.is_signed, "is_signed"),
    (torch.is_conj, "is_conj"),
    (torch.is_neg, "is_neg"),
    (torch.numel, "numel"),
)
_INFO_FIELDS: Final = (
    "bits", "eps", "max", "min", "tiny", "smallest_normal", "resolution", "dtype", "smallest_subnormal",
)  # fmt: skip

_MARKS: Final[dict[type, str]] = {torch.nn.Parameter: "_is_param", torch.nn.Buffer: "_is_buffer"}
_IS_MARKED: Final = polyfill_function(tensor_marks.is_marked)

ROWS.pure([torch.promote_types, torch.can_cast])


def _register_metadata(function: Callable[..., object], method: str) -> None:
    def look(tx: TraceContext, input: Tracker) -> Tracker:
        if not isinstance(input, TensorTracker):
            raise GraphBreak(NATIVE_CALL, f"torch.{method}({input.describe()})")
        return input.metadata(tx, method)

    ROWS.call(function)(look)


for _function, _method in _METADATA:
    _register_metadata(_function, _method)


@ROWS.call(torch._has_compatible_shallow_copy_type)
def has_same_layout(tx: TraceContext, input: Tracker, from_: Tracker) -> Tracker:
    """Whether `input.data = from_` keeps the object: for two strided tensors on devices of one kind it does."""
    one, other = input.realize(), from_.realize()
    if not (isinstance(one, TensorTracker) and isinstance(other, TensorTracker)):
        raise GraphBreak(NATIVE_CALL, "torch._has_compatible_shallow_copy_type()")
    is_dense = one.fake.layout is torch.strided and other.fake.layout is torch.strided
    if is_dense and one.fake.device.type == other.fake.device.type:
        return Constant(True)
    raise GraphBreak(TENSOR_INTERNALS, "torch._has_compatible_shallow_copy_type()")


@ROWS.call(torch.is_tensor)
def is_tensor(tx: TraceContext, obj: Tracker, /) -> Tracker:
    """`isinstance(obj, torch.Tensor)`."""
    return Constant(issubclass(obj.python_type, torch.Tensor))


@ROWS.call(type(torch.nn.Parameter).__instancecheck__, type(torch.nn.Buffer).__instancecheck__)
def is_special_tensor(tx: TraceContext, cls: Tracker, instance: Tracker) -> Tracker | PendingCall:
    """`isinstance(instance, nn.Parameter)`: by type, or for a tensor by the truth of an attribute. Classes that derive from the
    two have no such attribute."""
    kind = cls.as_python_constant()
    assert isinstance(kind, type)
    of_type = type.__subclasscheck__(kind, instance.python_type)
    mark = _MARKS.get(kind)
    if not issubclass(instance.python_type, torch.Tensor):
        # `isinstance` reads `__class__`, which may be code of the user.
        if static_lookup(instance.python_type, "__class__") is not object.__dict__["__class__"]:
            instance.unsupported("isinstance() with a __class__ of its own")
        return Constant(False)
    if mark is None:
        return Constant(of_type)
    # Without the mark among its own attributes the type decides; `has_own` guards that.
    if isinstance(instance, TensorTracker) and (of_type or not instance.has_own(tx, mark)):
        return Constant(of_type)
    return _IS_MARKED.bind(tx, (instance, Constant(mark), Constant(of_type)), {})


@ROWS.call(type(torch.FloatTensor).__instancecheck__)
def is_of_tensor_type(tx: TraceContext, cls: Tracker, instance: Tracker, /) -> Tracker:
    """`isinstance(instance, torch.FloatTensor)`: whether it is a tensor of the type that `instance.type()` names."""
    kind = cls.as_python_constant()
    assert isinstance(kind, type)
    if not isinstance(instance, TensorTracker):
        if issubclass(instance.python_type, torch.Tensor):
            instance.unsupported(f"isinstance() with {kind.__name__}")
        return Constant(False)
    return Constant(
        instance.metadata(tx, "type").as_python_constant() == f"{kind.__module__}.{kind.__name__}"
    )


@ROWS.call(torch.overrides.is_tensor_like)
def is_tensor_like(tx: TraceContext, inp: Tracker) -> Tracker:
    """Whether it is a tensor, or its type has `__torch_function__`."""
    is_tensor = issubclass(inp.python_type, torch.Tensor)
    return Constant(is_tensor or defines(inp.python_type, NAME))


@ROWS.call(
    _functorch.is_batchedtensor,
    _functorch.is_gradtrackingtensor,
    _functorch.is_functorch_wrapped_tensor,
    _functorch.is_functionaltensor,
    _functorch.is_legacy_batchedtensor,
)
def is_wrapped(tx: TraceContext, tensor: Tracker, /) -> Tracker:
    """False: a tensor that a functorch transform has wrapped has no tracker. Breaks the graph inside of a transform."""
    _break_in_transform(tx)
    return Constant(False)


def _break_in_transform(tx: TraceContext) -> None:
    # The body of a transform is traced on plain tensors, while none is active.
    if tx.graph.use.is_transformed or _functorch.peek_interpreter_stack() is not None:
        raise GraphBreak(INTROSPECTION, "the stack of functorch transforms")


@ROWS.call(
    _functorch.peek_interpreter_stack, _functorch.maybe_current_level, _functorch.get_interpreter_stack
)
def functorch_level(tx: TraceContext) -> Tracker:
    """None: no transform is active while tracing, which the global state guards; else breaks the graph."""
    _break_in_transform(tx)
    return Constant(None)


@ROWS.call(torch._C._are_functorch_transforms_active)
def are_transforms_active(tx: TraceContext) -> Tracker:
    """False, as no transform is active while tracing; else breaks the graph."""
    functorch_level(tx)
    return Constant(False)


@ROWS.call(_functorch.unwrap_if_dead)
def unwrap_if_dead(tx: TraceContext, tensor: Tracker, /) -> Tracker:
    """The tensor itself, as it has no wrapper."""
    return tensor


@ROWS.call(torch.device)
def make_device(tx: TraceContext, *args: Tracker, **kwargs: Tracker) -> Tracker:
    """`torch.device(...)`, folded."""
    check_function_modes()
    return fold(tx, torch.device, args, kwargs)


@final
class TypeInfo(KnownValue["torch.finfo | torch.iinfo"]):
    """`torch.finfo(dtype)` or `torch.iinfo(dtype)`: a known object with attributes."""

    def begin_attribute(self, tx: TraceContext, name: str) -> Tracker:
        """A number or a name; attributes other than the documented ones break the graph."""
        # The fields of `finfo` and `iinfo` differ.
        if name not in _INFO_FIELDS or not hasattr(self.value, name):
            return self.unsupported(f"reading attribute {name!r}")
        return Constant(getattr(self.value, name))

    def reconstruct(self, writer: Writer) -> str:
        """A call of `torch.finfo` or `torch.iinfo` with the same type."""
        return (
            f"{writer.constant(type(self.value), 'info')}({writer.constant(_dtype_of(self.value), 'dtype')})"
        )


def _dtype_of(info: torch.finfo | torch.iinfo) -> object:
    return getattr(torch, info.dtype)


def _register_info(kind: Callable[..., object]) -> None:
    def make(tx: TraceContext, type: Tracker | None = None) -> Tracker:
        dtype = torch.get_default_dtype() if type is None else type.as_python_constant()
        info = evaluate("finfo", kind, dtype)
        assert isinstance(info, torch.finfo | torch.iinfo)
        return TypeInfo(info)

    ROWS.call(kind)(make)


def _wrap_info(tx: TraceContext, value: object, source: Source) -> Tracker:
    """An existing `finfo` or `iinfo`, guarded by identity."""
    assert isinstance(value, torch.finfo | torch.iinfo)
    tx.guard(source, Identical(value))
    return TypeInfo(value, source)


ROWS.wrap(torch.finfo, torch.iinfo)(_wrap_info)
for _kind in (torch.finfo, torch.iinfo):
    _register_info(_kind)
