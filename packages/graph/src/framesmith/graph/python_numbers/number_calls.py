"""Operations that get Python's numbers where the graph has tensors (`numbers`): those that round otherwise with a tensor, or take none.

x.lerp_(y, w.item())     eager
lerp__with_numbers_((2,), (x, y, as_number(w)), {})     the graph: the third operand is read when it runs
"""

import operator
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import lru_cache
from types import FunctionType
from typing import Final, TypeAlias, cast

import torch
from torch import fx
from torch._subclasses.fake_tensor import FakeTensor

from framesmith.graph.fakes.execution import storage_of
from framesmith.graph.nodes.arguments import EXAMPLE
from framesmith.graph.operations.data_errors import only_computes
from framesmith.graph.python_numbers.numbers import as_number, is_number
from framesmith.graph.replacing_backends import OperationsReplaced, refuse_tracing

_Target: TypeAlias = Callable[..., object] | str
_WIDE: Final = (torch.float32, torch.float64)
#: They round otherwise with a tensor in place of the number, or give another type.
_BY_NAME: Final = frozenset({"lerp", "lerp_", "_foreach_lerp", "_foreach_lerp_", "as_tensor"})
_FACTORS: Final = ("alpha", "value", "fill_value")
_READS_NUMBERS: Final = "framesmith_reads_numbers"
_TAKES_LAST: Final = ("full_like", "fill_", "_foreach_lerp_")  # a value, or a weight, as the last argument


@lru_cache(maxsize=512)
def with_numbers(target: _Target, writes: bool) -> Callable[..., object]:
    """The function that calls another one, or a method by name, with numbers in place of the tensors at certain places of the
    flattened operands. `writes`: whether it changes operands, which its name says then."""

    @only_computes
    def call(places: Sequence[int], args: Sequence[object], kwargs: Mapping[str, object]) -> object:
        if not any(isinstance(one, list | tuple | dict) for one in (*args, *kwargs.values())):
            return apply(*_read_flat(places, args, kwargs))
        counter = iter(range(_size((*args, *kwargs.values()))))

        def read(value: object) -> object:
            return _read(value) if next(counter) in places else value

        given = [_mapped(one, read) for one in args]
        return apply(given, {name: _mapped(one, read) for name, one in kwargs.items()})

    def apply(given: Sequence[object], named: Mapping[str, object]) -> object:
        if not isinstance(target, str):
            return target(*given, **named)
        return operator.methodcaller(target, *given[1:], **named)(given[0])

    name = target if isinstance(target, str) else getattr(target, "__name__", "call")
    call.__name__ = call.__qualname__ = f"{name}_with_numbers" + "_" * writes
    setattr(call, _READS_NUMBERS, True)
    return call


def numbers_read_by(node: fx.Node) -> tuple[Sequence[int], list[object]] | None:
    """The places of the numbers that a node made by `with_numbers` reads, and its flattened operands; None for other nodes."""
    if type(node.target) is not FunctionType or _READS_NUMBERS not in vars(node.target):
        return None
    places, args, kwargs = cast(tuple[Sequence[int], Sequence[object], Mapping[str, object]], node.args)
    return places, [*_flat((*args, *kwargs.values()))]


def find_numbers(
    target: _Target, args: Sequence[object], kwargs: Mapping[str, object], runs_as_captured: bool
) -> tuple[int, ...]:
    """The places of the numbers among the operands of a node, if a tensor in their place would round otherwise.

    Where the backend traces again, recipes have replaced them for the types that they can replace them for."""
    operands = list(_flat((*args, *kwargs.values())))
    places = tuple(
        place for place, one in enumerate(operands) if isinstance(one, fx.Node) and _is_number(one)
    )
    # The functions that take such tensors convert them by themselves; an operator hands them on to its nested graphs.
    hands_on = isinstance(target, torch._ops.HigherOrderOperator)
    if not places or hands_on or getattr(target, "__module__", None) == as_number.__module__:
        return ()
    name = operation_name(target)
    if runs_as_captured and (
        name in _BY_NAME or name.startswith("_foreach_") or any(map(_is_factor, map(kwargs.get, _FACTORS)))
    ):
        return places
    others = [one for place, one in enumerate(operands) if place not in places]
    return places if any(isinstance(one, fx.Node) and _rounds_otherwise(one) for one in others) else ()


def round_numbers(
    args: Sequence[object],
    kwargs: Mapping[str, object],
    places: Sequence[int],
    convert: Callable[[fx.Node], fx.Node],
) -> tuple[tuple[object, ...], dict[str, object]] | None:
    """The operands with the numbers converted to float32, as torch does beside tensors of that type; None beside others."""
    operands = [one for one in _flat((*args, *kwargs.values())) if isinstance(one, fx.Node)]
    others = [one.meta[EXAMPLE] for one in operands if not _is_number(one)]
    if any(isinstance(one, torch.Tensor) and one.dtype is not torch.float32 for one in others):
        return None
    counter = iter(range(_size((*args, *kwargs.values()))))

    def replace(value: object) -> object:
        return convert(value) if next(counter) in places and isinstance(value, fx.Node) else value

    return tuple(_mapped(one, replace) for one in args), {
        name: _mapped(one, replace) for name, one in kwargs.items()
    }


def find_factors(target: _Target, args: Sequence[object], kwargs: Mapping[str, object]) -> tuple[int, ...]:
    """The places of the tensors out of which an operation reads a factor or a value: neither decides on a size. Empty if it
    may read others."""
    start = _size(tuple(args))
    named = [(name, one) for name, value in kwargs.items() for one in _flat(value)]
    places = [
        start + place for place, (name, one) in enumerate(named) if name in _FACTORS and _is_factor(one)
    ]
    last = args[-1] if args else None
    if operation_name(target) in _TAKES_LAST and _is_factor(last):
        places.append(start - 1)
    # `x[t] = y` with one truth writes all or nothing.
    if (
        target is operator.setitem
        and _is_scalar(args[1], torch.bool)
        and not _shares_memory(args[0], args[2])
    ):
        places.append(_size(args[0]))
    return tuple(places)


def _shares_memory(one: object, other: object) -> bool:
    """Whether a value is stored in its own memory, which eager refuses for a tensor of truths, and does for a single one."""
    fakes = [value.meta[EXAMPLE] for value in (one, other) if isinstance(value, fx.Node)]
    places = [storage_of(fake) for fake in fakes if isinstance(fake, torch.Tensor)]
    return len(places) == 2 and places[0] == places[1]


def _is_factor(value: object) -> bool:
    fake = value.meta[EXAMPLE] if isinstance(value, fx.Node) else None
    return isinstance(fake, torch.Tensor) and fake.dtype.is_floating_point and _is_scalar(value, fake.dtype)


def _is_scalar(value: object, dtype: torch.dtype) -> bool:
    fake = value.meta[EXAMPLE] if isinstance(value, fx.Node) else None
    if not isinstance(fake, torch.Tensor) or fake.dim() or fake.requires_grad:
        return False
    return fake.dtype is dtype and fake.device.type == "cpu"


def operation_name(target: _Target) -> str:
    """The name of a function or method."""
    return target if isinstance(target, str) else str(getattr(target, "__name__", ""))


def _is_number(node: fx.Node) -> bool:
    fake = node.meta[EXAMPLE]
    is_scalar = isinstance(fake, torch.Tensor) and fake.dtype is torch.float64 and not fake.dim()
    return is_scalar and is_number(node)


def _rounds_otherwise(node: fx.Node) -> bool:
    """Whether an operation on this tensor is computed in another type with a tensor than with a number."""
    fake = node.meta[EXAMPLE]
    if not isinstance(fake, torch.Tensor) or fake.dtype is torch.float64:
        return False
    # Of two tensors without dimensions torch takes the wider type.
    return fake.dtype not in _WIDE or not fake.dim()


def _flat(value: object) -> Iterator[object]:
    if isinstance(value, list | tuple):
        for one in value:
            yield from _flat(one)
    elif isinstance(value, dict):
        yield from _flat(tuple(value.values()))
    else:
        yield value


def _size(value: object) -> int:
    return sum(1 for _ in _flat(value))


def _mapped(value: object, function: Callable[[object], object]) -> object:
    if isinstance(value, list | tuple):
        items = [_mapped(one, function) for one in value]
        return items if isinstance(value, list) else tuple(items)
    if isinstance(value, dict):
        return {key: _mapped(one, function) for key, one in value.items()}
    return function(value)


def _read_flat(
    places: Sequence[int], args: Sequence[object], kwargs: Mapping[str, object]
) -> tuple[list[object], dict[str, object]]:
    """The operands with the numbers read, where none is a container."""
    given, named = [*args], {**kwargs}
    for place in places:
        if place < len(given):
            given[place] = _read(given[place])
        else:
            name = [*named][place - len(given)]
            named[name] = _read(named[name])
    return given, named


def _read(value: object) -> object:
    if type(value) in (float, int, complex):
        return value
    refuse_tracing()
    if isinstance(value, torch.Tensor) and type(value) not in (torch.Tensor, FakeTensor):
        raise OperationsReplaced
    if type(value) is torch.Tensor:
        return value.item()
    # A fake has no number; what it gives depends on none.
    return True if isinstance(value, torch.Tensor) and value.dtype is torch.bool else 1.0
