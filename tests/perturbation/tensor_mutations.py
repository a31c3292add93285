"""Mutations of tensors: sizes, dtype, strides, offset, contents, flags, aliases. All contents are deterministic."""

import copy
import math
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import torch
from tests.perturbation.locations import Location, Mutation, Undo, replacement
from tests.perturbation.walk import Site

SIZES = (0, 1, 2, 7)


def filled(shape: Sequence[int], like: torch.Tensor) -> torch.Tensor:
    """A tensor of this shape with the dtype, the gradient flag and the class (Parameter or not) of another."""
    count = math.prod(shape)
    values = (torch.arange(count) % 5).reshape(tuple(shape))
    if like.is_floating_point() or like.is_complex():
        values = (values - 1.5) / 2
    elif like.numel() and like.dtype is not torch.bool:
        values = values % (int(like.max()) + 1 if int(like.max()) >= 0 else 1)
    return dressed(values.to(like.dtype), like)


def dressed(values: torch.Tensor, like: torch.Tensor) -> torch.Tensor:
    """The values as a leaf with the gradient flag and the class of another tensor."""
    values = values.detach()
    wants = like.requires_grad and (values.is_floating_point() or values.is_complex())
    if isinstance(like, torch.nn.Parameter):
        return torch.nn.Parameter(values, requires_grad=wants)
    return values.requires_grad_(wants)


def resized(tensor: torch.Tensor, dim: int, size: int) -> torch.Tensor:
    """The same with another size in one dimension."""
    shape = list(tensor.shape)
    shape[dim] = size
    return filled(shape, tensor)


def for_tensor(location: Location, value: torch.Tensor, others: Sequence[Site]) -> Iterator[Mutation]:
    """All mutations of one tensor; `others` are further tensors that it can become an alias of."""
    if value.layout is not torch.strided or type(value) not in (torch.Tensor, torch.nn.Parameter):
        return
    for dim in range(value.dim()):
        for size in sizes(value, dim, others):
            yield replacement(
                f"size {dim} to {size}", location, lambda old, dim=dim, size=size: resized(old, dim, size)
            )
    yield replacement("one dimension more", location, lambda old: filled((1, *old.shape), old))
    if value.dim():
        yield replacement("one dimension less", location, lambda old: filled(old.shape[1:], old))
    for dtype in (torch.float64, torch.float16, torch.int64, torch.bool, torch.complex64):
        if dtype is not value.dtype:
            yield replacement(
                f"dtype {dtype}",
                location,
                lambda old, dtype=dtype: dressed(old.detach().clone().to(dtype), old),
            )
    for name, make in LAYOUTS.items():
        yield replacement(name, location, lambda old, make=make: dressed(make(old.detach().clone()), old))
    for name, make in OTHER_TENSORS.items():
        yield replacement(name, location, make)
    for name, act in IN_PLACE.items():
        yield contents(name, location, act)
    for other in others[:3]:
        yield replacement(f"same as {other.path}", location, lambda old, other=other: other.location.get())
        yield replacement(f"view of {other.path}", location, lambda old, other=other: other.location.get()[:])
    yield Mutation("requires_grad", lambda: _flip(location))
    yield Mutation("attribute", lambda: _attribute(location))
    yield Mutation("grad set", lambda: _grad(location))
    yield Mutation("hook", lambda: _hook(location))
    yield Mutation("version", lambda: _version(location))


def sizes(value: torch.Tensor, dim: int, others: Sequence[Site]) -> list[int]:
    """Sizes to try for one dimension: small ones, a prime, and those that other dimensions have."""
    seen = {size for site in others for size in site.value.shape} | set(value.shape)
    return [size for size in dict.fromkeys([*SIZES, *sorted(seen)]) if size != value.shape[dim]]


def together(tensors: Sequence[Site]) -> Iterator[Mutation]:
    """Change a size in all tensors that have it: the batch, the sequence length."""
    shared = sorted({size for site in tensors for size in site.value.shape})
    for size in shared:
        held = [
            (site, dim)
            for site in tensors
            for dim, one in enumerate(site.value.shape)
            if one == size and type(site.value) is torch.Tensor
        ]
        if len(held) > 1:
            for new in [*SIZES, 11]:
                if new != size:
                    yield Mutation(f"every size {size} to {new}", lambda held=held, new=new: _all(held, new))


def _all(held: list[tuple[Site, int]], new: int) -> Undo:
    before = [(site.location, site.location.get()) for site, _ in held]
    for site, dim in held:
        site.location.set(resized(site.location.get(), dim, new))

    def undo() -> None:
        for location, value in before:
            location.set(value)

    return undo


def _expanded(values: torch.Tensor) -> torch.Tensor:
    return values[:1].expand(values.shape) if values.dim() and values.shape[0] else values


def _offset(values: torch.Tensor) -> torch.Tensor:
    wide = torch.cat([torch.zeros(3, dtype=values.dtype), values.reshape(-1)])
    return wide[3:].view(values.shape)


def _spaced(values: torch.Tensor) -> torch.Tensor:
    wide = torch.stack([values, values], -1)
    return wide[..., 0]


def _transposed(values: torch.Tensor) -> torch.Tensor:
    return values.transpose(0, -1).contiguous().transpose(0, -1) if values.dim() > 1 else values.flip(0)


LAYOUTS: dict[str, Callable[[torch.Tensor], torch.Tensor]] = {
    "expanded": _expanded,
    "storage offset": _offset,
    "stride 2": _spaced,
    "transposed": _transposed,
}

OTHER_TENSORS: dict[str, Callable[[torch.Tensor], Any]] = {
    "not a leaf": lambda old: old * 1 if old.requires_grad else old.detach().clone().requires_grad_() * 1,
    "copy": lambda old: dressed(old.detach().clone(), old),
    "detached": lambda old: old.detach(),
    "Parameter": lambda old: torch.nn.Parameter(old.detach().clone(), requires_grad=old.requires_grad),
    "subclass": lambda old: (
        old.detach().clone().as_subclass(type("MyTensor", (torch.Tensor,), {"__module__": "program"}))
    ),
    "a number": lambda old: 2.5,
    "None": lambda old: None,
    "inference tensor": lambda old: _inference(old),
    "shallow copy": copy.copy,
}


def _inference(old: torch.Tensor) -> torch.Tensor:
    with torch.inference_mode():
        return old.detach().clone()


IN_PLACE: dict[str, Callable[[torch.Tensor], Any]] = {
    "contents nan": lambda data: data.fill_(math.nan) if data.is_floating_point() else data.zero_(),
    "contents inf": lambda data: data.fill_(math.inf) if data.is_floating_point() else data.fill_(1),
    "contents zero": lambda data: data.zero_(),
    "contents -0.0": lambda data: data.fill_(-0.0),
    "contents negated": lambda data: data.neg_() if data.dtype is not torch.bool else data.logical_not_(),
    "contents large": lambda data: data.fill_(100),
}


def contents(name: str, location: Location, act: Callable[[torch.Tensor], Any]) -> Mutation:
    """Change the numbers in the same tensor; taken back, they are what they were."""

    def apply() -> Undo:
        tensor = location.get()
        before = tensor.detach().clone()
        act(tensor.data)
        return lambda: tensor.data.copy_(before)

    return Mutation(name, apply)


def _flip(location: Location) -> Undo:
    tensor = location.get()
    before = tensor.requires_grad
    tensor.requires_grad_(not before)
    return lambda: tensor.requires_grad_(before)


def _attribute(location: Location) -> Undo:
    tensor = location.get()
    tensor.extra_attribute = 3
    return lambda: delattr(tensor, "extra_attribute")


def _grad(location: Location) -> Undo:
    tensor = location.get()
    before = tensor.grad
    tensor.grad = torch.ones_like(tensor)

    def undo() -> None:
        tensor.grad = before

    return undo


def _hook(location: Location) -> Undo:
    return location.get().register_hook(lambda grad: grad * 2).remove


def _version(location: Location) -> Undo:
    with torch.no_grad():
        location.get().add_(0)
    return lambda: None
