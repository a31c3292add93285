"""The functions of numpy, and those of torch that take or give arrays, as rows."""

from collections.abc import Callable
from typing import Final

import torch

from framesmith.graph import GraphBreak
from framesmith.graph.breaks.break_kinds import TENSOR_INTERNALS
from framesmith.graph.environment.default_devices import are_tensors_on_cpu
from framesmith.variables.core import Constant, TraceContext, Tracker
from framesmith.variables.core.registry import Priority
from framesmith.variables.core.rows import Rows
from framesmith.variables.core.table import callable_name
from framesmith.variables.graph_nodes.results import call_node, check_no_mode, wrap_result
from framesmith.variables.numpy_values.array_calls import run
from framesmith.variables.numpy_values.array_nodes import NUMPY_CALL, make_example_array, numpy, of_numpy
from framesmith.variables.numpy_values.numpy_arrays import ArrayTracker
from framesmith.variables.tensors.subscripts import INDEX_TENSORS
from framesmith.variables.tensors.tensors import TensorTracker
from framesmith.variables.torch_functions.graph_calls import graph_call
from framesmith.variables.torch_functions.tensor_constructors import TENSOR_SOURCES

ROWS: Final = Rows()

_FUNCTIONS: Final = """
abs absolute add all amax amin angle any append arange arccos arccosh arcsin arcsinh arctan arctan2 arctanh argmax
argmin argwhere around array array_equal array_split asarray ascontiguousarray atleast_1d atleast_2d atleast_3d
average bartlett bitwise_and bitwise_not bitwise_or bitwise_xor blackman broadcast_arrays broadcast_shapes
broadcast_to can_cast ceil clip column_stack concatenate conj conjugate copy copysign copyto corrcoef cos cosh
count_nonzero cov cross cumprod cumsum deg2rad degrees diag diag_indices diagflat diagonal diff divide divmod dot
dsplit dstack einsum equal exp exp2 expand_dims expm1 eye fabs fill_diagonal fix flatnonzero flip fliplr flipud
float_power floor floor_divide fmax fmin fmod full full_like gcd geomspace gradient greater greater_equal hamming
hanning heaviside hsplit hstack hypot identity imag indices inner invert isclose iscomplexobj isfinite isinf isnan
isneginf isposinf isrealobj isscalar issubdtype kaiser kron lcm ldexp left_shift less less_equal linspace log log10
log1p log2 logaddexp logaddexp2 logical_and logical_not logical_or logical_xor logspace matmul max maximum mean
median meshgrid min minimum mod moveaxis multiply nan_to_num ndim negative nextafter nonzero not_equal ones
ones_like outer pad percentile positive power prod ptp put_along_axis quantile rad2deg radians ravel real reciprocal
remainder repeat reshape result_type right_shift rint roll rollaxis rot90 round searchsorted shape sign signbit sin
sinc sinh size sort split sqrt square squeeze stack std subtract sum swapaxes take take_along_axis tan tanh
tensordot tile trace transpose tri tril tril_indices triu triu_indices true_divide trunc unique vander var vdot
vsplit vstack where zeros zeros_like linalg.norm linalg.det linalg.multi_dot fft.fft fft.fft2 fft.fftfreq fft.fftn
fft.fftshift fft.ifft fft.ifft2 fft.ifftn fft.ifftshift fft.irfft fft.rfft fft.rfftfreq
"""
"""Functions of numpy that compute their result and do nothing else: those of a known result run while tracing."""
_FROM_TENSOR: Final = ("asarray", "array")


def array_of(tx: TraceContext, tensor: TensorTracker) -> ArrayTracker:
    """`tensor.numpy()`: an array over its memory. Breaks the graph where eager raises."""
    fake = tensor.fake
    if fake.requires_grad or fake.is_conj() or fake.is_neg() or fake.device.type != "cpu" or numpy is None:
        raise GraphBreak(TENSOR_INTERNALS, "Tensor.numpy() of a tensor that has to be converted first")
    return ArrayTracker(numpy.ndarray, tensor, make_example_array(fake))


@ROWS.call(torch.Tensor.numpy)
def to_numpy(tx: TraceContext, self: Tracker, *, force: Tracker | None = None) -> Tracker:
    """`x.numpy()`."""
    if not isinstance(self, TensorTracker) or force is not None:
        raise GraphBreak(TENSOR_INTERNALS, "Tensor.numpy()")
    return array_of(tx, self)


@ROWS.call(torch.from_numpy)
def from_numpy(tx: TraceContext, array: Tracker, /) -> Tracker:
    """`torch.from_numpy(a)`: another tensor over the same memory."""
    array = array.realize()
    if not isinstance(array, ArrayTracker) or array.is_scalar:
        raise GraphBreak(TENSOR_INTERNALS, "torch.from_numpy()")
    if array.is_read_only:
        raise GraphBreak(NUMPY_CALL, "torch.from_numpy() of a read-only array, which torch warns of")
    # `data` makes another tensor over the memory, with a version counter of its own; `from_numpy` itself takes no tensor.
    return wrap_result(tx, call_node(tx, getattr, (array.tensor(tx).graph_node(tx), "data")))


@ROWS.entry(TENSOR_SOURCES, ArrayTracker)
def tensor_from(tx: TraceContext, array: Tracker, kwargs: dict[str, Tracker], copies: bool) -> Tracker:
    """`torch.tensor(a, dtype=, device=)`, or `as_tensor`, which copies only what it has to."""
    assert isinstance(array, ArrayTracker)
    if not kwargs.keys() <= {"dtype", "device", "requires_grad"}:
        raise GraphBreak(NUMPY_CALL, "torch.tensor() of an array")
    if array.is_read_only:
        raise GraphBreak(NUMPY_CALL, "torch.tensor() of a read-only array, which torch may warn of")
    wanted = kwargs.pop("requires_grad", Constant(False)).realize()
    device = kwargs.get("device", Constant(None)).realize()
    on_cpu = isinstance(device, Constant) and (
        are_tensors_on_cpu() if device.value is None else torch.device(str(device.value)).type == "cpu"
    )
    if not isinstance(wanted, Constant) or wanted.value is not False or not on_cpu:
        raise GraphBreak(NUMPY_CALL, "torch.tensor() of an array, with a gradient or on a device")
    tensor = graph_call(tx, "detach", (array.tensor(tx),), {})
    dtype = kwargs.get("dtype", Constant(None)).realize()
    # A scalar has no memory to be shared. The copy keeps the order of the dimensions in memory, as that of `torch.tensor` does.
    if copies or array.is_scalar:
        tensor = graph_call(tx, torch.clone, (tensor,), {})
    return (
        tensor
        if isinstance(dtype, Constant) and dtype.value is None
        else graph_call(tx, "to", (tensor, dtype), {})
    )


def as_index(tx: TraceContext, array: Tracker, is_whole_key: bool) -> Tracker:
    """The tensor that torch makes of an array in a key. One of two dimensions alone is read as a tuple of its rows."""
    assert isinstance(array, ArrayTracker)
    tensor = array.tensor(tx)
    dims = tensor.fake.dim()
    # torch converts other integers, and reads a 0-d array as a number; both are left to it.
    if tensor.fake.dtype not in (torch.int64, torch.bool) or dims == 0 or (is_whole_key and dims > 1):
        return array
    return tensor


def _function_row(path: str, function: Callable[..., object]) -> None:
    @ROWS.call(function, priority=Priority.LISTED)
    def call(tx: TraceContext, *args: Tracker, **kwargs: Tracker) -> Tracker:
        given = args[0].realize() if len(args) == 1 and not kwargs else None
        if isinstance(given, TensorTracker) and path in _FROM_TENSOR:
            check_no_mode(tx, f"numpy.{path}()")  # which asks for `Tensor.__array__`
            # `np.array(tensor)` copies, `np.asarray(tensor)` shares memory.
            copied = graph_call(tx, torch.clone, (given,), {}) if path == "array" else given
            assert isinstance(copied, TensorTracker)
            return array_of(tx, copied)
        return run(tx, "function", path, args, kwargs)


def _refuse_function(tx: TraceContext, function: Tracker, *args: Tracker, **kwargs: Tracker) -> Tracker:
    """A function of numpy without a row of its own."""
    raise GraphBreak(NUMPY_CALL, f"{callable_name(getattr(function, 'value', function))}()")


def _install() -> None:
    if numpy is None:
        return
    ROWS.add(INDEX_TENSORS, numpy.ndarray, as_index)
    # numpy's functions are instances of one class in C
    ROWS.call(type(numpy.sum).__call__)(_refuse_function)
    seen: set[int] = set()
    for path in _FUNCTIONS.split():
        try:
            function = of_numpy(path)
        except AttributeError:  # some versions lack some
            continue
        # numpy has aliases: `np.abs` is `np.absolute`.
        if id(function) not in seen:
            seen.add(id(function))
            _function_row(path, function)


_install()
