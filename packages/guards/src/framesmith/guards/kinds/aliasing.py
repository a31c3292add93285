"""Relations between objects: the same one, different ones, tensors that share memory.

When they are asked for: `frontend.aliasing`.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import combinations, pairwise
from typing import Final, TypeAlias, cast, final

import torch

from framesmith.guards.kinds.base import Relation
from framesmith.guards.names import Names
from framesmith.guards.plain_tensors import PLAIN_TENSORS
from framesmith.guards.sources.base import Source
from framesmith.guards.words import a_type

Layout: TypeAlias = tuple[object, ...]


@final
@dataclass(frozen=True, slots=True, eq=False)
class SameObject(Relation):
    """Both sources give one object."""

    left: Source
    right: Source

    @property
    def all_sources(self) -> tuple[Source, ...]:
        return (self.left, self.right)

    def holds(self, values: Sequence[object]) -> bool:
        return values[0] is values[1]

    def render(self, expressions: Sequence[str], names: Names) -> str:
        return f"{expressions[0]} is {expressions[1]}"

    def explain(self, values: Sequence[object]) -> str:
        return f"{self.left.text()} and {self.right.text()} were one object and are two now"

    def text(self) -> str:
        return f"{self.left.text()} is {self.right.text()}"


@final
@dataclass(frozen=True, slots=True, eq=False)
class DistinctObjects(Relation):
    """No two of the sources give one object."""

    sources: tuple[Source, ...]

    @property
    def all_sources(self) -> tuple[Source, ...]:
        return self.sources

    def holds(self, values: Sequence[object]) -> bool:
        return len({*map(id, values)}) == len(values)

    def render(self, expressions: Sequence[str], names: Names) -> str:
        if len(expressions) == 2:
            return f"{expressions[0]} is not {expressions[1]}"
        identity = names.constant(id, "id")
        return f"{names.constant(len, 'len')}({{*{names.constant(map, 'map')}({identity}, ({', '.join(expressions)},))}}) == {len(expressions)}"

    def explain(self, values: Sequence[object]) -> str:
        pair = first_pair([id(value) for value in values])
        left, right = (self.sources[index].text() for index in pair)
        return f"{left} and {right} were two objects and are one now"

    def text(self) -> str:
        return f"{', '.join(source.text() for source in self.sources)} are distinct objects"


@final
@dataclass(frozen=True, slots=True, eq=False)
class SameStorage(Relation):
    """Two tensors use one storage."""

    left: Source
    right: Source

    @property
    def all_sources(self) -> tuple[Source, ...]:
        return (self.left, self.right)

    def holds(self, values: Sequence[object]) -> bool:
        return storage_of(values[0]) == storage_of(values[1])

    def render(self, expressions: Sequence[str], names: Names) -> str:
        storage = names.constant(storage_of, "storage_of")
        return f"{storage}({expressions[0]}) == {storage}({expressions[1]})"

    def explain(self, values: Sequence[object]) -> str:
        return f"{self.left.text()} and {self.right.text()} shared their memory and no longer do"

    def text(self) -> str:
        return f"{self.left.text()} and {self.right.text()} share their memory"


@final
@dataclass(frozen=True, slots=True, eq=False)
class DistinctStorages(Relation):
    """No two of the tensors use one storage, or, with `by_memory`, storages over the same memory."""

    sources: tuple[Source, ...]
    by_memory: bool = True

    @property
    def all_sources(self) -> tuple[Source, ...]:
        return self.sources

    def holds(self, values: Sequence[object]) -> bool:
        return self._question()(*values)

    def _question(self) -> Callable[..., bool]:
        return share_no_memory if self.by_memory else share_no_storage

    def render(self, expressions: Sequence[str], names: Names) -> str:
        question = self._question()
        return f"{names.constant(question, question.__name__)}({', '.join(expressions)})"

    def explain(self, values: Sequence[object]) -> str:
        pairs, holds = combinations(range(len(values)), 2), self._question()
        pair = next(pair for pair in pairs if not holds(*(values[place] for place in pair)))
        left, right = (self.sources[index].text() for index in pair)
        return f"{left} and {right} share their memory now"

    def text(self) -> str:
        what = "memory" if self.by_memory else "storage"
        return f"{', '.join(source.text() for source in self.sources)} share no {what}"


@final
@dataclass(frozen=True, slots=True, eq=False)
class SameOverlap(Relation):
    """Two tensors of one storage overlap as they did: not at all (`layout` is None), or in the same places of it, with the same shapes,
    and views of what has the same shape."""

    left: Source
    right: Source
    layout: Layout | None

    @property
    def all_sources(self) -> tuple[Source, ...]:
        return (self.left, self.right)

    def holds(self, values: Sequence[object]) -> bool:
        return overlap_of(values[0], values[1]) == self.layout

    def render(self, expressions: Sequence[str], names: Names) -> str:
        call = f"{names.constant(overlap_of, 'overlap_of')}({expressions[0]}, {expressions[1]})"
        return (
            f"{call} is None" if self.layout is None else f"{call} == {names.constant(self.layout, 'layout')}"
        )

    def explain(self, values: Sequence[object]) -> str:
        return f"{self.left.text()} and {self.right.text()} overlap otherwise than before"

    def text(self) -> str:
        how = "lie apart in" if self.layout is None else "lie in the same way in"
        return f"{self.left.text()} and {self.right.text()} {how} their memory"


@final
@dataclass(frozen=True, slots=True, eq=False)
class SameBase(Relation):
    """Two tensors are views of one tensor, or one of them is that tensor, as they were (`relation`: see `base_relation`)."""

    left: Source
    right: Source
    relation: bool | None

    @property
    def all_sources(self) -> tuple[Source, ...]:
        return (self.left, self.right)

    def holds(self, values: Sequence[object]) -> bool:
        return base_relation(values[0], values[1]) is self.relation

    def render(self, expressions: Sequence[str], names: Names) -> str:
        call = f"{names.constant(base_relation, 'base_relation')}({expressions[0]}, {expressions[1]})"
        return f"{call} is {self.relation}"

    def explain(self, values: Sequence[object]) -> str:
        return f"{self.left.text()} and {self.right.text()} are views of other tensors than before"

    def text(self) -> str:
        how = {True: "views of one tensor", False: "views of two tensors", None: "no views"}[self.relation]
        return f"{self.left.text()} and {self.right.text()} are {how}"


def base_relation(left: object, right: object) -> bool | None:
    """Whether two tensors are views of one tensor, which may be one of them; None if neither is a view. TypeError (a miss) for
    anything but tensors."""
    if not isinstance(left, torch.Tensor) or not isinstance(right, torch.Tensor):
        raise TypeError(f"expected tensors, found {a_type(type(left))} and {a_type(type(right))}")
    with torch._C.DisableTorchFunction():  # no subclass is asked
        first, second = left._base, right._base
        if first is None and second is None:
            return None
        return (left if first is None else first) is (right if second is None else second)


def overlap_of(left: object, right: object) -> Layout | None:
    """None if the byte ranges (first to last element) of the two do not overlap; else of both where they begin, in bytes, and their
    layouts and those of their bases: AOTAutograd compiles a graph of what such inputs have in common, and takes them out of that
    again. TypeError (a miss) for anything but tensors."""
    if not isinstance(left, torch.Tensor) or not isinstance(right, torch.Tensor):
        raise TypeError(f"expected tensors, found {a_type(type(left))} and {a_type(type(right))}")
    with torch._C.DisableTorchFunction():  # no subclass is asked
        first, second = _extent(left), _extent(right)
        # Bytes from the first to the last element: strided views that only interleave count as overlapping.
        if first[1] <= second[0] or second[1] <= first[0]:
            return None
        return (first[0], *_layout_of(left), second[0], *_layout_of(right))


def _layout_of(tensor: torch.Tensor) -> Layout:
    base = tensor._base
    if base is None:
        return (tuple(tensor.shape), tensor.stride(), tensor.untyped_storage().nbytes())
    own = (tuple(base.shape), base.stride(), int(base.storage_offset()), base.dtype)
    return (tuple(tensor.shape), tensor.stride(), own)


def _extent(tensor: torch.Tensor) -> tuple[int, int]:
    start = int(tensor.storage_offset())
    if not tensor.numel():
        return start * tensor.itemsize, start * tensor.itemsize
    last = sum((size - 1) * stride for size, stride in zip(tensor.shape, tensor.stride(), strict=True))
    return start * tensor.itemsize, (start + last + 1) * tensor.itemsize


# It raises TypeError for what is no tensor.
_storage: Final = cast(Callable[[object], torch.UntypedStorage], torch._C.TensorBase.untyped_storage)
_can_grow: Final[Callable[[torch.UntypedStorage], bool]] = torch.UntypedStorage.resizable


def share_no_memory(*tensors: object) -> bool:
    """Whether no two of them use one storage, or storages over the same memory. TypeError (a miss) for anything but tensors."""
    with torch._C.DisableTorchFunction():  # no subclass is asked
        # Each call of the entry asks this of all its inputs.
        storages = [*map(_storage, tensors)]
    if len({storage._cdata for storage in storages}) != len(storages):
        return False
    # Memory that came from elsewhere (`from_numpy`, `from_dlpack`) can have several storages, of which all but one cannot grow.
    if all(map(_can_grow, storages)):
        return True
    ranges = sorted(map(_addresses, storages))
    return all(one[1] <= other[0] for one, other in pairwise(one for one in ranges if one[0] < one[1]))


def share_no_storage(*tensors: object) -> bool:
    """Whether no two of them use one storage, whatever its memory. TypeError (a miss) for anything but tensors."""
    return len({*map(storage_of, tensors)}) == len(tensors)


def _addresses(storage: torch.UntypedStorage) -> tuple[int, int]:
    """The address of the first byte and of the one behind the last; (0, 0) where there is no memory."""
    start = 0 if storage.device.type == "meta" else storage.data_ptr()
    return (start, start + storage.nbytes()) if start else (0, 0)


def address_range(tensor: torch.Tensor) -> tuple[int, int]:
    """The address of the tensor's first byte and of the one behind its last; (0, 0) where there is no memory."""
    start, _ = _addresses(tensor.untyped_storage())
    first, last = _extent(tensor)
    return (start + first, start + last) if start else (0, 0)


def storage_of(tensor: object) -> int:
    """The identity of the tensor's storage; TypeError (a miss) for anything else."""
    if not isinstance(tensor, torch.Tensor):
        raise TypeError(f"expected a tensor, found {a_type(type(tensor))}")
    if type(tensor) in PLAIN_TENSORS:
        identity: int = tensor.untyped_storage()._cdata
        return identity
    with torch._C.DisableTorchFunction():  # no subclass is asked
        identity = tensor.untyped_storage()._cdata
        return identity


def first_pair(marks: Sequence[int]) -> tuple[int, int]:
    """The first two positions with equal marks; ValueError if all differ."""
    seen: dict[int, int] = {}
    for index, mark in enumerate(marks):
        if mark in seen:
            return seen[mark], index
        seen[mark] = index
    raise ValueError("all marks differ")
