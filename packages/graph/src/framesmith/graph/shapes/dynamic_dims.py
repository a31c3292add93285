"""Which dimensions of an input may differ from call to call, as data. The caller decides (`DynamicPolicy`)."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Final, Protocol, final

import torch

from framesmith.guards.sources.base import Source


class Dim(StrEnum):
    """How one dimension is treated."""

    STATIC = "static"
    """A number of the graph; the tensor guard holds it."""
    DYNAMIC = "dynamic"
    """A symbol with the example's size as its hint; what is decided about it becomes a guard. 0 and 1 stay numbers."""
    UNBACKED = "unbacked"
    """A symbol without a hint: nothing can be decided about it, so nothing is specialized."""


@final
@dataclass(frozen=True, slots=True)
class DynamicDims:
    """The treatment of each dimension of one tensor; a dimension not mentioned is static.

    `bounds` maps a dimension to the inclusive (lowest, highest) size that the user promised, None for open. `parts` says it of the
    tensors in a wrapper, by name; one that is not mentioned is treated as the wrapper.
    """

    default: Dim = Dim.STATIC
    dims: Mapping[int, Dim] = field(default_factory=dict)
    bounds: Mapping[int, tuple[int | None, int | None]] = field(default_factory=dict)
    parts: "Mapping[str, DynamicDims]" = field(default_factory=dict)

    @staticmethod
    def none() -> "DynamicDims":
        """Every dimension is static."""
        return STATIC_DIMS

    @staticmethod
    def all() -> "DynamicDims":
        """Every dimension is dynamic."""
        return DynamicDims(default=Dim.DYNAMIC)

    @staticmethod
    def of(*dims: int) -> "DynamicDims":
        """The given dimensions are dynamic (counted from 0)."""
        return DynamicDims(dims=dict.fromkeys(dims, Dim.DYNAMIC))

    def treatment(self, dim: int) -> Dim:
        """How the dimension is treated."""
        return self.dims.get(dim, self.default)

    def treatments(self, rank: int) -> list[Dim]:
        """One entry per dimension of a tensor of this rank."""
        return [self.treatment(dim) for dim in range(rank)]

    def is_static(self, rank: int) -> bool:
        """Whether no dimension of a tensor of this rank is symbolic."""
        if not self.dims:
            return self.default is Dim.STATIC or rank == 0
        return all(treatment is Dim.STATIC for treatment in self.treatments(rank))


STATIC_DIMS: Final = DynamicDims()
"""What `DynamicDims.none()` gives, for code that asks for it for each tensor."""


class DynamicPolicy(Protocol):
    """Decides what is symbolic and what is not specialized on. The frontend implements it."""

    def dynamic_dims(self, source: Source, tensor: torch.Tensor) -> DynamicDims:
        """The treatment of the dimensions of an input tensor."""
        ...

    def is_dynamic_number(self, source: Source) -> bool:
        """Whether the int or float at this source differs from call to call."""
        ...

    def is_unspecialized(self, source: Source) -> bool:
        """Whether the value or content at this source differs so often that the trace must not read it: an
        operation that needs it runs natively (ADR 0010)."""
        ...

    def is_static_below(self, source: Source) -> bool:
        """Whether no number that is read through this source is known to differ, and nothing is unspecialized there."""
        ...


@final
class StaticPolicy:
    """Nothing is symbolic, and everything is specialized on."""

    def dynamic_dims(self, source: Source, tensor: torch.Tensor) -> DynamicDims:
        """No dimension is dynamic."""
        return DynamicDims.none()

    def is_dynamic_number(self, source: Source) -> bool:
        """No number is symbolic."""
        return False

    def is_unspecialized(self, source: Source) -> bool:
        """All values may be read."""
        return False

    def is_static_below(self, source: Source) -> bool:
        """Nothing is symbolic."""
        return True
