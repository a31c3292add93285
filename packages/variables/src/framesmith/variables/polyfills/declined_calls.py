"""The text of torch's error where every operand's `__torch_function__` returns NotImplemented, read from that error.

The call is made with stand-ins, which decline and have the names of the operands' classes. `subclasses.probing` does it
while tracing, the function here after a graph break.
"""

import functools
from collections.abc import Callable, Sequence
from typing import Final, TypeAlias

import torch

Answer: TypeAlias = Callable[..., object]
_NAMES: Final = ("__module__", "__qualname__")


def stand_in_class(kind: type, known: dict[type, type], answer: Answer) -> type:
    """A class for stand-ins of instances of a class: torch asks `answer`. It derives from the stand-in classes of its bases
    that are among the operands too, and has its name."""
    if kind not in known:
        bases = tuple(
            stand_in_class(base, known, answer)
            for base in list(known)
            if base is not kind and issubclass(kind, base)
        )
        root: type = torch.Tensor if issubclass(kind, torch.Tensor) else object
        named = {name: getattr(kind, name) for name in _NAMES}
        members = {**named, "__torch_function__": classmethod(answer), "of": kind}
        known[kind] = type(kind.__name__, bases or (root,), members)
    return known[kind]


@functools.lru_cache(maxsize=256)
def plain_stand_in(rank: int, dtype: torch.dtype) -> torch.Tensor:
    """A tensor without data."""
    return torch.empty((1,) * rank, dtype=dtype, device="meta")


def refuse(*args: object, **kwargs: object) -> object:
    """A `__torch_function__` that declines."""
    return NotImplemented


@functools.cache
def is_undecided(method: Callable[..., object]) -> bool:
    """Whether a method of two operands returns NotImplemented where both decline: that of `+` does, that of `&` raises."""
    declining: torch.Tensor = plain_stand_in(1, torch.int64).as_subclass(
        stand_in_class(torch.Tensor, {}, refuse)
    )
    try:
        return method(declining, declining) is NotImplemented
    except TypeError:
        return False


def text_of_refusal(call: Callable[..., object], args: Sequence[object], kwargs: dict[str, object]) -> str:
    """The text of the TypeError of a call whose operands decline."""
    try:
        call(*args, **kwargs)
    except TypeError as error:
        return str(error)
    return f"no operand of {call} answers"


def decline(
    call: Callable[..., object], args: tuple[object, ...], rest: tuple[dict[str, object], ...]
) -> str:
    """The text of the error of `call(*args, **rest[0])` if all operands decline."""
    known: dict[type, type] = {}
    places = [_stand_in(value, known) for value in args]
    named = {name: _stand_in(value, known) for keywords in rest for name, value in keywords.items()}
    return text_of_refusal(call, places, named)


def _stand_in(value: object, known: dict[type, type]) -> object:
    kind = type(value)
    if isinstance(value, list | tuple):
        items = [_stand_in(item, known) for item in value]
        return items if isinstance(value, list) else tuple(items)
    override = getattr(kind, "__torch_function__", torch._C._disabled_torch_function_impl)
    asked = kind is not torch.Tensor and override is not torch._C._disabled_torch_function_impl
    if not isinstance(value, torch.Tensor):
        return stand_in_class(kind, known, refuse)() if asked else value
    with torch._C.DisableTorchFunction():
        plain = plain_stand_in(value.dim(), value.dtype)
        return plain.as_subclass(stand_in_class(kind, known, refuse)) if asked else plain
