"""Sizes that were declared under one name, or as `2 * batch + 1`: they are so in the example, and in each call.

    {"x": {0: batch}, "y": {0: batch}, "z": {0: batch + 1}}    ->    y.size(0) == x.size(0), z.size(0) == x.size(0) + 1

Relations that the program itself asks for are checked too: see `conditions`. Names that it ties are refused: see `tied_names`.
"""

import operator
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import cast, final

import torch
from torch.export import Dim

from framesmith.frontend.errors import ExportError
from framesmith.frontend.exporting.dynamic_shapes import DeclaredSizes
from framesmith.graph.shapes.size_ties import LinearSize


@final
@dataclass(frozen=True, slots=True, eq=False)
class NamedSize:
    """A dimension with a name: it is computed from the size that `form` names."""

    path: str
    tensor: torch.Tensor
    dim: int
    name: str
    form: LinearSize

    @property
    def value(self) -> int:
        """The size in the example."""
        return self.tensor.shape[self.dim]


@final
@dataclass(frozen=True, slots=True, eq=False)
class SizeRelation:
    """`size` is what its form gives for the size that `first` is computed from. Both are one size where that has none of its own."""

    first: NamedSize
    size: NamedSize

    def condition(self, first: object, size: object) -> object:
        """Whether it holds for these sizes: ints, or nodes of a graph."""
        of_first, of_size = self.first.form, self.size.form
        if of_first == of_size and self.first is not self.size:
            return operator.eq(size, first)
        below = _apply(operator.sub, first, of_first.offset, 0)
        if self.first is self.size:
            return operator.mod(below, of_first.factor) == 0
        root = _apply(operator.floordiv, below, of_first.factor, 1)
        scaled = _apply(operator.mul, root, of_size.factor, 1)
        return operator.eq(size, _apply(operator.add, scaled, of_size.offset, 0))

    def text(self) -> str:
        """What was declared."""
        first, size = self.first, self.size
        called = f"dynamic_shapes calls dimension {first.dim} of {first.path} {first.name!r}"
        return called if first is size else f"{called} and dimension {size.dim} of {size.path} {size.name!r}"


def _apply(operation: Callable[[object, int], object], value: object, number: int, neutral: int) -> object:
    """The operation, but for a number that changes nothing: it would be a node of the graph."""
    return value if number == neutral else operation(value, number)


def find_relations(declared: Iterable[DeclaredSizes]) -> list[SizeRelation]:
    """The relations between named sizes. Raises ExportError where the example does not have one, or a name is defined twice."""
    declared = list(declared)
    _check_definitions(declared)
    named = list(_named_sizes(declared))
    firsts: dict[str, NamedSize] = {}
    for size in named:
        firsts.setdefault(size.name, size)
    found: list[SizeRelation] = []
    roots: dict[str, NamedSize] = {}
    for size in named:
        if firsts[size.name] is not size:
            found.append(SizeRelation(firsts[size.name], size))
            continue
        root = firsts.get(size.form.name) or roots.get(size.form.name)
        if root is None:  # no dimension has this name alone
            roots[size.form.name] = size
            if size.form.factor > 1:
                found.append(SizeRelation(size, size))
        elif root is not size:
            found.append(SizeRelation(root, size))
    for relation in found:
        _check_example(relation)
    return found


def form_of(size: Dim) -> LinearSize:
    """How a declared size is computed from the one that it names: torch derives them as `factor * size + offset`."""
    root = cast(Dim, getattr(size, "root", size))
    compute = cast(Callable[[int], int], getattr(size, "fn", int))
    offset = int(compute(0))
    return LinearSize(root.__name__, int(compute(1)) - offset, offset)


def _named_sizes(declared: Iterable[DeclaredSizes]) -> Iterator[NamedSize]:
    for each in declared:
        for dim, size in each.named.items():
            yield NamedSize(each.path, each.tensor, dim, size.__name__, form_of(size))


def _check_definitions(declared: Iterable[DeclaredSizes]) -> None:
    """One name stands for one size, which has one range."""
    known: dict[str, tuple[Dim, str]] = {}
    for each in declared:
        for dim, size in each.named.items():
            root = cast(Dim, getattr(size, "root", size))
            place = f"dimension {dim} of {each.path}"
            first, where = known.setdefault(root.__name__, (root, place))
            if (first.min, first.max) != (root.min, root.max):
                raise ExportError(
                    f"dynamic_shapes defines {root.__name__!r} twice: as {first} for {where}, and as {root} for {place}; "
                    "make one Dim and give it for both, or give them two names"
                )


def _check_example(relation: SizeRelation) -> None:
    first, size = relation.first, relation.size
    if relation.condition(first.value, size.value):
        return
    if first is size:
        raise ExportError(
            f"{relation.text()}; in the example it is {first.value}, which is not so for any {first.form.name!r}. "
            "Give an example that fits, or declare the size by a name of its own"
        )
    wanted = size.form.factor * ((first.value - first.form.offset) // first.form.factor) + size.form.offset
    raise ExportError(
        f"{relation.text()}; in the example they are {first.value} and {size.value}, where {wanted} is wanted. "
        "Give sizes that differ other names"
    )
