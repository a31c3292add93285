"""Sizes that were declared under one name, or as `2 * batch + 1`: they are so in the example, and in each call.

    {"x": {0: batch}, "y": {0: batch}, "z": {0: batch + 1}}    ->    torch._check(y.size(0) == x.size(0)), torch._check(z.size(0) == x.size(0) + 1)

Relations that the program itself asks for are checked too: see `conditions`.
"""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import cast, final

import torch

from framesmith.frontend.errors import ExportError
from framesmith.frontend.exporting.dynamic_shapes import DeclaredSizes


@final
@dataclass(frozen=True, slots=True, eq=False)
class NamedSize:
    """A dimension with a name. `compute`: the size as a function of the one that is called `root`."""

    path: str
    tensor: torch.Tensor
    dim: int
    name: str
    root: str
    compute: Callable[[object], object]

    @property
    def value(self) -> int:
        """The size in the example."""
        return self.tensor.shape[self.dim]


@final
@dataclass(frozen=True, slots=True, eq=False)
class SizeRelation:
    """`size` is what `size.compute` gives for `first`."""

    first: NamedSize
    size: NamedSize


def find_relations(declared: Iterable[DeclaredSizes]) -> list[SizeRelation]:
    """The relations between named sizes. Raises ExportError where the example does not have one."""
    named = list(_named_sizes(declared))
    firsts: dict[str, NamedSize] = {}
    for size in named:
        firsts.setdefault(size.name, size)
    found: list[SizeRelation] = []
    for size in named:
        root, same = firsts.get(size.root), firsts[size.name]
        if same is not size:
            found.append(SizeRelation(same, _equal(size)))
        elif root is not None and root is not size:
            found.append(SizeRelation(root, size))
    for relation in found:
        _check_example(relation)
    return found


def _named_sizes(declared: Iterable[DeclaredSizes]) -> Iterator[NamedSize]:
    for each in declared:
        for dim, size in each.named.items():
            name = str(getattr(size, "__name__", ""))
            # of a size that is computed from another one, as torch calls them
            root = str(getattr(getattr(size, "root", size), "__name__", ""))
            compute = getattr(size, "fn", None) or _same
            yield NamedSize(
                each.path, each.tensor, dim, name, root, cast(Callable[[object], object], compute)
            )


def _same(value: object) -> object:
    return value


def _equal(size: NamedSize) -> NamedSize:
    """A second size of one name, which is equal to the first."""
    return NamedSize(size.path, size.tensor, size.dim, size.name, size.name, _same)


def _check_example(relation: SizeRelation) -> None:
    first, size = relation.first, relation.size
    wanted = size.compute(first.value)
    if size.value != wanted:
        raise ExportError(
            f"dynamic_shapes calls dimension {first.dim} of {first.path} {first.name!r} and dimension {size.dim} of {size.path} "
            f"{size.name!r}; in the example they are {first.value} and {size.value}, where {wanted} is wanted. "
            "Give sizes that differ other names"
        )
