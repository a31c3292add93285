"""The claim about a tensor's metadata, and what changed when it fails.

`TensorIs` claims of one guard set are compiled into a single native call (see `program`); the text a claim renders
by itself is the slow equivalent.
"""

from collections.abc import Collection
from dataclasses import dataclass
from typing import cast, final

import torch

from framesmith.guards import torch_adapter
from framesmith.guards.kinds.base import Claim, show_value
from framesmith.guards.kinds.tensor_spec import Dims, TensorSpec, details_of, sizes_of, strides_of
from framesmith.guards.names import Names, literal
from framesmith.guards.plain_tensors import PLAIN_TENSORS
from framesmith.guards.sources.base import Source


@final
@dataclass(frozen=True, slots=True)
class TensorChange:
    """What differs between a spec and a tensor. Sizes and strides: (dimension, was, is) each.

    `other` names the remaining fields that differ (`dtype`, `requires_grad` ...), `rank` the old and new one.
    """

    sizes: tuple[tuple[int, int, int], ...] = ()
    strides: tuple[tuple[int, int, int], ...] = ()
    rank: tuple[int, int] | None = None
    other: tuple[str, ...] = ()


@final
@dataclass(frozen=True, slots=True, eq=False)
class TensorIs(Claim):
    """The value is a tensor of exactly this class and metadata.

    All tensors a guard set claims this of are pairwise distinct objects, except where it also says `SameObject`.
    """

    spec: TensorSpec

    @classmethod
    def capture(
        cls,
        tensor: torch.Tensor,
        dynamic_sizes: Collection[int] = (),
        dynamic_strides: Collection[int] | None = None,
    ) -> "TensorIs":
        """See `TensorSpec.capture`."""
        return cls(TensorSpec.capture(tensor, dynamic_sizes, dynamic_strides))

    def check(self, value: object) -> bool:
        return self.spec.accepts(value)

    def render(self, value_expression: str, names: Names) -> str:
        return f"{names.constant(self.spec.accepts, 'tensor')}({value_expression})"

    def change(self, value: object) -> TensorChange:
        """What differs between the spec and the value. A value that is no tensor differs in its `type`."""
        if not issubclass(
            type(value), torch.Tensor
        ):  # `isinstance` reads `__class__`, which may be user code
            return TensorChange(other=("type",))
        with torch._C.DisableTorchFunction():
            return self._change(cast(torch.Tensor, value))

    def _change(self, value: torch.Tensor) -> TensorChange:
        spec = self.spec
        other = [name for name, (was, found) in _fields(spec, value).items() if was != found]
        sizes, strides = sizes_of(value), strides_of(value)
        if spec.sizes is not None and sizes is not None and len(sizes) != len(spec.sizes):
            return TensorChange(rank=(len(spec.sizes), len(sizes)), other=tuple(other))
        # Device, layout, conjugation and inference show in the keys too; the fields above say more.
        if not other and torch_adapter.dispatch_keys(value) != spec.keys:
            other.append("dispatch keys")
        if not other and spec.details != details_of(value):
            other.append("details")
        return TensorChange(
            _differences(spec.sizes, sizes), _differences(spec.strides, strides), None, tuple(other)
        )

    def explain(self, value: object, source: Source) -> str:
        name = source.text()
        if not issubclass(
            type(value), torch.Tensor
        ):  # `isinstance` reads `__class__`, which may be user code
            return f"{name}: was a tensor, is {show_value(value)} now"
        change = self.change(value)
        with torch._C.DisableTorchFunction():
            fields = _fields(self.spec, cast(torch.Tensor, value))
        phrases = [
            f"{field} changed from {show_value(fields[field][0])} to {show_value(fields[field][1])}"
            if field in fields
            else f"its {field} changed"
            for field in change.other
        ]
        if change.rank:
            phrases.append(f"number of dimensions changed from {change.rank[0]} to {change.rank[1]}")
        phrases += [
            f"size of dimension {dim} changed from {was} to {found}" for dim, was, found in change.sizes
        ]
        # Strides follow from sizes, so with another size they say nothing new.
        if not change.sizes:
            phrases += [
                f"stride of dimension {dim} changed from {was} to {found}"
                for dim, was, found in change.strides
            ]
        return f"{name}: {', '.join(phrases) or 'its metadata changed'}"

    def text(self, source: Source) -> str:
        spec = self.spec
        sizes = (
            "?"
            if spec.sizes is None
            else ", ".join("*" if size is None else str(size) for size in spec.sizes)
        )
        grad = ", requires_grad" if spec.requires_grad else ""
        return f"{source.text()}: {spec.cls.__name__} [{sizes}] {spec.dtype} on {spec.device}{grad}"


@final
@dataclass(frozen=True, slots=True, eq=False)
class TensorProperty(Claim):
    """A cheap attribute of a tensor that the metadata does not hold: `is_leaf`, `retains_grad`, `_is_view` ...

    The value is compared by identity; a method is called without arguments. `overridden`: the tensor's class may override
    the attribute; it is not asked.
    """

    name: str
    value: bool | None
    overridden: bool = False

    @classmethod
    def of(cls, tensor: torch.Tensor, name: str, value: bool | None) -> "TensorProperty":
        """The claim about this tensor, whose class is guarded."""
        return cls(name, value, type(tensor) not in PLAIN_TENSORS)

    def check(self, value: object) -> bool:
        with torch._C.DisableTorchFunction():  # no subclass is asked
            found = getattr(value, self.name)
            return (found() if callable(found) else found) is self.value

    def render(self, value_expression: str, names: Names) -> str:
        if self.overridden:
            return f"{names.constant(self.check, self.name)}({value_expression})"
        # `is_leaf` is an attribute, `_is_view` a method.
        call = "()" if callable(getattr(torch.Tensor, self.name)) else ""
        return f"{value_expression}.{self.name}{call} is {literal(self.value, names)}"

    def explain(self, value: object, source: Source) -> str:
        return f"{source.text()}: {self.name} is no longer {self.value}"

    def text(self, source: Source) -> str:
        return f"{source.text()}.{self.name} is {self.value}"


def _fields(spec: TensorSpec, tensor: torch.Tensor) -> dict[str, tuple[object, object]]:
    """The fields that a message names, each as (expected, found)."""
    return {
        "type": (spec.cls, type(tensor)),
        "dtype": (spec.dtype, tensor.dtype),
        "device": (spec.device, tensor.device),
        "layout": (spec.layout, tensor.layout),
        "requires_grad": (spec.requires_grad, tensor.requires_grad),
        "is_inference": (spec.inference, tensor.is_inference()),
        "is_conj": (spec.conjugate, tensor.is_conj()),
        "is_neg": (spec.negative, tensor.is_neg()),
    }


def _differences(expected: Dims | None, found: Dims | None) -> tuple[tuple[int, int, int], ...]:
    if expected is None or found is None or len(expected) != len(found):
        return ()
    return tuple(
        (dim, was, size)
        for dim, (was, size) in enumerate(zip(expected, found, strict=True))
        if was is not None and size is not None and was != size
    )
