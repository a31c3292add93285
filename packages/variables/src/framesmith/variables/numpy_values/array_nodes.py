"""Functions of numpy as nodes: run by `torch._numpy`, on tensors.

    np.exp(a)   ->   numpy_exp(tensor)          where numpy_exp = torch._numpy.exp, taking and giving tensors

What numpy itself would give (an array or a scalar, its dtype, sizes and memory) is asked of numpy, on examples: arrays
of the same dtype and layout with other numbers. `torch._numpy` is loaded when it is first needed.
"""

import importlib
import operator
import sys
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cache
from types import BuiltinMethodType, ModuleType
from typing import Final

import torch

from framesmith.graph import BreakKind, GraphBreak, register
from framesmith.graph.operations.data_errors import only_computes

numpy: Final = sys.modules.get("numpy")  # it is there when torch has imported it
# The dtypes that both numpy and torch have, and `Tensor.numpy()` gives.
_NAMES: Final = (
    "bool", "uint8", "int8", "int16", "int32", "int64", "float16", "float32", "float64", "complex64", "complex128",
)  # fmt: skip
_KINDS: Final = {getattr(torch, name): numpy.dtype(name) for name in _NAMES} if numpy is not None else {}
NUMPY_CALL: Final = register(
    BreakKind(
        "numpy-call",
        "a call of numpy that torch's functions do not repeat",
        "numpy is captured by functions on tensors, where they give what numpy gives: the same dtype, layout and "
        "errors. Numbers may differ in the last place.",
        "Use the function of torch on tensors in its place, or move the call out of the compiled function.",
        "Nothing has to be done: numpy runs between two graphs.",
    )
)
MOST_ELEMENTS: Final = 1 << 24
"""Example arrays are no larger than this."""


@cache
def torch_numpy() -> ModuleType:
    """`torch._numpy`."""
    return importlib.import_module("torch._numpy")


def of_numpy(path: str) -> Callable[..., object]:
    """A function of numpy by its path: `sum`, `linalg.norm`."""
    found: Callable[..., object] = operator.attrgetter(path)(numpy)
    return found


@cache
def function_node(path: str) -> Callable[..., object]:
    """What a node calls for `numpy.path`. GraphBreak where `torch._numpy` has no such function."""
    if path in _CORRECTED:
        return only_computes(_CORRECTED[path])
    try:
        function = operator.attrgetter(path)(torch_numpy())
    except AttributeError as error:
        raise GraphBreak(NUMPY_CALL, f"numpy.{path}(), which torch._numpy does not have") from error
    return _on_tensors(function, f"numpy_{path.replace('.', '_')}")


@cache
def method_node(name: str) -> Callable[..., object]:
    """What a node calls for `array.name(...)`."""
    if not hasattr(torch_numpy().ndarray, name):
        raise GraphBreak(NUMPY_CALL, f"ndarray.{name}(), which torch._numpy does not have")

    def call(array: object, *args: object, **kwargs: object) -> object:
        return getattr(array, name)(*args, **kwargs)

    return _on_tensors(call, f"ndarray_{name}")


@cache
def attribute_node(name: str) -> Callable[..., object]:
    """What a node calls for `array.name`."""
    return _on_tensors(operator.attrgetter(name), f"ndarray_{name}")


@cache
def operator_node(function: Callable[..., object]) -> Callable[..., object]:
    """What a node calls for a function of the module `operator`."""
    return _on_tensors(function, f"ndarray_{function.__name__}")


def _on_tensors(function: Callable[..., object], name: str) -> Callable[..., object]:
    def call(*args: object, **kwargs: object) -> object:
        given = {key: _to_array(value) for key, value in kwargs.items()}
        return _to_tensor(function(*map(_to_array, args), **given))

    call.__name__ = call.__qualname__ = name
    # No code of the user, no draws: it may run again after a failure (ADR 0015).
    return only_computes(call)


def _to_array(value: object) -> object:
    if isinstance(value, torch.Tensor):
        return torch_numpy().ndarray(value)
    if isinstance(value, tuple | list):
        return type(value)(map(_to_array, value))
    return value


def _to_tensor(value: object) -> object:
    if isinstance(value, torch_numpy().ndarray):
        # Only lazily conjugated ones are copied, of which numpy knows nothing.
        return value.tensor.resolve_conj().resolve_neg()
    if isinstance(value, tuple | list):
        return type(value)(map(_to_tensor, value))
    return value


# -- what `torch._numpy` computes otherwise ----------------------------------------------------------
def numpy_sign(x: torch.Tensor) -> torch.Tensor:
    """`numpy.sign(x)`: nan for nan, where torch gives 0."""
    return torch.where(torch.isnan(x), x, torch.sign(x))


def numpy_fix(x: torch.Tensor) -> torch.Tensor:
    """`numpy.fix(x)`: towards zero; `torch._numpy` rounds to the nearest."""
    return torch.trunc(x)


_CORRECTED: Final[dict[str, Callable[..., object]]] = {"sign": numpy_sign, "fix": numpy_fix}


# -- examples ---------------------------------------------------------------------------------------
def make_example_array(tensor: torch.Tensor) -> object:
    """An array as `tensor.numpy()` would give it, for a fake. GraphBreak where numpy has no such array."""
    assert numpy is not None
    sizes, strides = (
        [known_size_of(size) for size in tensor.shape],
        [known_size_of(step) for step in tensor.stride()],
    )
    # What the strides span, which is more than the elements where there are gaps.
    count = 1 + sum((size - 1) * step for size, step in zip(sizes, strides, strict=True) if size)
    if count > MOST_ELEMENTS:
        raise GraphBreak(NUMPY_CALL, "numpy on a tensor of this size")
    kind = _KINDS.get(tensor.dtype)
    if kind is None:
        raise GraphBreak(NUMPY_CALL, f"numpy on a tensor of {tensor.dtype}")
    memory = numpy.empty(count, dtype=kind)
    _fill(memory)
    steps = [step * kind.itemsize for step in strides]
    # An array over memory of its own, so that views of it are told by `memory_root`.
    return numpy.lib.stride_tricks.as_strided(memory, sizes, steps)


def known_size_of(size: int | torch.SymInt) -> int:
    """The number that a size has in this call; GraphBreak for one that is known at run time only."""
    hint = size.node.hint if isinstance(size, torch.SymInt) else size
    if not isinstance(hint, int):
        raise GraphBreak(NUMPY_CALL, "numpy on a size that is known at run time only")
    return hint


def _fill(made: object) -> None:
    """Numbers that suit most functions: positive and different, or zeros where they may be indices."""
    assert numpy is not None
    kind, count = getattr(made, "dtype").kind, getattr(made, "size")  # noqa: B009  # numpy has no types here
    if kind in "fc":
        # From 1 to 8: no zeros, and no two alike.
        numpy.copyto(made, numpy.linspace(1, 2, count).reshape(getattr(made, "shape")) ** 3)  # noqa: B009
    elif kind in "iub":
        numpy.copyto(made, False)
    else:
        raise GraphBreak(NUMPY_CALL, f"an array of {getattr(made, 'dtype')}")  # noqa: B009


def only_warns() -> bool:
    """Whether numpy does no more than warn of an overflow, a division by zero and the like, as it does unless `numpy.errstate` or
    `numpy.seterr` says otherwise, and nobody sees the warning but on a screen. `torch._numpy` does nothing."""
    assert numpy is not None
    modes = set(numpy.geterr().values())
    return modes <= {"ignore"} or (modes <= {"warn", "ignore"} and not _are_warnings_seen())


def _are_warnings_seen() -> bool:
    """Whether a warning of numpy would be raised, or put into a list by a program that asked for all of them."""
    show = getattr(warnings, "_showwarnmsg_impl", None)
    seen = {"error", "always", "all"} if type(show) is BuiltinMethodType else {"error"}
    return not seen.isdisjoint(_actions_on_warnings())


def _actions_on_warnings() -> Iterator[str]:
    """What the filters may do with a RuntimeWarning, up to the first that holds for all of them."""
    for action, message, category, module, line in warnings.filters:
        if issubclass(RuntimeWarning, category):
            yield action
            if message is None and module is None and not line:
                return
    yield str(getattr(warnings, "defaultaction", "default"))


def ask_numpy(
    function: Callable[..., object],
    args: Sequence[object],
    kwargs: Mapping[str, object],
    *,
    strict: bool = False,
) -> object:
    """What numpy gives for examples, or with `strict` for the numbers of the program. GraphBreak where it raises or warns:
    then it does so natively."""
    assert numpy is not None
    try:
        with numpy.errstate(all="raise" if strict else "ignore"), warnings.catch_warnings():
            # A warning has to be issued in each call, so the operation runs natively.
            warnings.simplefilter("error")
            return function(*args, **kwargs)
    except Exception as error:
        name = getattr(function, "__name__", "a function")
        raise GraphBreak(NUMPY_CALL, f"numpy's {name} raises {type(error).__name__}, or may warn") from error


def ask_without_writing(
    function: Callable[..., object],
    args: Sequence[object],
    kwargs: Mapping[str, object],
    *,
    strict: bool = False,
) -> tuple[object, bool]:
    """What numpy gives, as `ask_numpy`; or None and True where it writes to an argument, which was left as it is."""
    try:
        shown = {key: _as_read_only(one) for key, one in kwargs.items()}
        found = ask_numpy(function, [_as_read_only(one) for one in args], shown, strict=strict)
    except GraphBreak as error:
        if isinstance(error.__cause__, ValueError) and "read-only" in str(error.__cause__):
            return None, True
        raise
    # A view of what was shown, or even the argument itself: of those numpy is to give that of the arguments.
    return (found if _is_own(found) else ask_numpy(function, args, kwargs, strict=strict)), False


def _as_read_only(value: object) -> object:
    """An argument in which arrays cannot be written to."""
    assert numpy is not None
    if isinstance(value, list | tuple):
        return type(value)(map(_as_read_only, value))
    if not isinstance(value, numpy.ndarray):
        return value
    shown = value.view()
    shown.flags.writeable = False
    return shown


def _is_own(found: object) -> bool:
    assert numpy is not None
    if isinstance(found, list | tuple):
        return all(map(_is_own, found))
    return not isinstance(found, numpy.ndarray) or found.flags.writeable


def dtype_of(value: object) -> torch.dtype | None:
    """The dtype of torch for that of an array or a scalar; None if it has none."""
    kind = getattr(value, "dtype")  # noqa: B009  # numpy has no types here
    return next((dtype for dtype, one in _KINDS.items() if one == kind), None)


def as_read_only(array: object) -> object:
    """The array, which nobody may write to by this name."""
    getattr(array, "flags").writeable = False  # noqa: B009
    return array


def memory_root(value: object) -> object:
    """The array that owns the memory of an array."""
    assert numpy is not None
    while isinstance(base := getattr(value, "base", None), numpy.ndarray):
        value = base
    return value


def tensor_over(array: object) -> torch.Tensor:
    """A tensor over the memory of an array. ValueError for memory that must not be written: torch warns of it."""
    if not getattr(array, "flags").writeable:  # noqa: B009
        raise ValueError("the array is not writable")
    return torch.from_numpy(array)
