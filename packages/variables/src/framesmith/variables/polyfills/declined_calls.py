"""The text of torch's error where every `__torch_function__` returns NotImplemented, read from that error.

The call is made with probes, which decline and have the names of the operands' classes. `subclasses.probing` does it
while tracing, the function here after a graph break.
"""

import functools
from abc import ABCMeta
from collections.abc import Callable, Iterator, Sequence
from contextlib import nullcontext
from typing import Final, TypeAlias, final

import torch
from torch.overrides import TorchFunctionMode

from framesmith.guards.class_lookup import (
    MISSING,
    class_name,
    derives,
    module_of,
    qualified_name,
    static_lookup,
)

Answer: TypeAlias = Callable[..., object]
_items_of_list: Final[Callable[..., Iterator[object]]] = list.__iter__
_items_of_tuple: Final[Callable[..., Iterator[object]]] = tuple.__iter__
_dim: Final[Callable[..., int]] = torch.Tensor.dim
_dtype: Final[Callable[..., torch.dtype]] = vars(torch._C.TensorBase)["dtype"].__get__
_UNASKED: Final = (MISSING, torch._C._disabled_torch_function_impl)


def probe_class(cls: type, known: dict[type, type], answer: Answer) -> type:
    """A class for probes of instances of a class: torch asks `answer`. It derives from the probe classes of its bases
    that are among the operands too, and has its name. No metaclass of the user is asked."""
    if cls not in known:
        bases = tuple(
            probe_class(base, known, answer)
            for base in list(known)
            if base is not cls and _is_subclass(cls, base)
        )
        root: type = torch.Tensor if derives(cls, torch.Tensor) else object
        named = {"__module__": module_of(cls), "__qualname__": qualified_name(cls)}
        members = {**named, "__torch_function__": classmethod(answer), "of": cls}
        # `type` itself: a metaclass of the user would be called.
        known[cls] = type(class_name(cls), bases or (root,), members)
    return known[cls]


def has_own_check(cls: type) -> bool:
    """Whether the metaclass of the user decides which classes derive from this one."""
    check = static_lookup(type(cls), "__subclasscheck__")
    return check is not type.__subclasscheck__ and check is not ABCMeta.__subclasscheck__


def _is_subclass(cls: type, base: type) -> bool:
    return derives(cls, base) if has_own_check(base) else issubclass(cls, base)


@functools.lru_cache(maxsize=256)
def plain_probe(rank: int, dtype: torch.dtype) -> torch.Tensor:
    """A tensor without data."""
    return torch.empty((1,) * rank, dtype=dtype, device="meta")


def refuse(*args: object, **kwargs: object) -> object:
    """A `__torch_function__` that declines."""
    return NotImplemented


@functools.cache
def returns_not_implemented(method: Callable[..., object]) -> bool:
    """Whether a method of two operands returns NotImplemented where both decline: that of `+` does, that of `&` raises."""
    declining: torch.Tensor = plain_probe(1, torch.int64).as_subclass(probe_class(torch.Tensor, {}, refuse))
    try:
        return method(declining, declining) is NotImplemented
    except TypeError:
        return False


@final
class _DecliningMode(TorchFunctionMode):
    """A mode that declines, and is shown as another one."""

    def __init__(self, shown: str) -> None:
        self._shown = shown

    def __repr__(self) -> str:
        return self._shown

    __torch_function__ = refuse


def text_of_refusal(
    call: Callable[..., object], given: Sequence[object], names: Sequence[str], *mode: str
) -> str:
    """The text of the TypeError of a call whose operands decline; the last of them have `names`. With `mode`, a mode that is
    shown as this declines too."""
    positional = len(given) - len(names)
    try:
        with _DecliningMode(*mode) if mode else nullcontext():
            call(*given[:positional], **dict(zip(names, given[positional:], strict=True)))
    except TypeError as error:
        return str(error)
    return f"no operand of {call} answers"


def decline(
    call: Callable[..., object], given: tuple[object, ...], names: tuple[str, ...], *mode: str
) -> str:
    """The text of the error of a call if all operands decline, and the mode that is shown as `mode`."""
    known: dict[type, type] = {}
    return text_of_refusal(call, [_probe(value, known) for value in given], names, *mode)


def _probe(value: object, known: dict[type, type]) -> object:
    """The probe of an operand, without a look-up that code of the user could answer."""
    cls = type(value)
    if derives(cls, list):
        return [_probe(item, known) for item in _items_of_list(value)]
    if derives(cls, tuple):
        return tuple(_probe(item, known) for item in _items_of_tuple(value))
    override = static_lookup(cls, "__torch_function__")
    asked = cls is not torch.Tensor and not any(override is one for one in _UNASKED)
    if not derives(cls, torch.Tensor):
        return probe_class(cls, known, refuse)() if asked else value
    # Reading the dimension must not ask the operand.
    with torch._C.DisableTorchFunction():
        plain = plain_probe(_dim(value), _dtype(value))
        return plain.as_subclass(probe_class(cls, known, refuse)) if asked else plain
