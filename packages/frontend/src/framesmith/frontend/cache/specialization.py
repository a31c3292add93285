"""The specialization policy: which sizes and numbers are symbolic, and which values are unspecialized.

The user asked for it, or they were seen to change. What a failed guard reports is in `guards.failure`; the symbols,
in `graph.shape_env`.
"""

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from itertools import chain
from typing import Literal, TypeAlias, cast, final

import torch

from framesmith.frontend.dynamic_marks import (
    DYNAMIC_MARK,
    STATIC_MARK,
    UNBACKED_MARK,
    WEAK_DYNAMIC_MARK,
    promised_ranges,
)
from framesmith.frontend.options import current_config
from framesmith.frontend.tracing.parameter_names import is_variable
from framesmith.graph.shapes.dynamic_dims import Dim, DynamicDims
from framesmith.guards import Examination, Failure, GuardSet, Scope, Source, all_failures
from framesmith.guards.kinds.tensor import TensorIs
from framesmith.guards.sources import Local

Sizes: TypeAlias = tuple[tuple[int, ...] | None, ...]
"""The sizes of the arguments of a call; None for what is no tensor."""


def sizes_of(values: Iterable[object]) -> Sizes:
    """The sizes of the tensors among the arguments, and nothing that keeps them alive."""
    return tuple(
        # `issubclass` of the type: `isinstance` would ask the user's value for its `__class__`
        tuple(cast(torch.Tensor, value).shape) if issubclass(type(value), torch.Tensor) else None
        for value in values
    )


@final
@dataclass(slots=True)
class Learned:
    """The sources that were seen to change: `numbers` become symbolic, what is `unspecialized` is not read any more."""

    numbers: set[Source] = field(default_factory=set)
    unspecialized: set[Source] = field(default_factory=set)


@final
@dataclass(slots=True)
class Policy:
    """The decisions for one compiled unit: a `TracePolicy`, and what changes it (ADR 0010).

    - `dynamic` is the option of `compile`: True makes all sizes symbolic at once, False none ever, None those that were
      seen to change.
    - `sizes` and the `numbers` of `local` and `shared` are those of all functions that share entries.
    - `patience`: after so many misses with a new value, or new content of a container, that is not specialized on any
      more; with None always. In a loop it is two: what changes twice changes in each round, while one
      miss is common, since the first round makes what later ones find (buffers, caches, lazily created state).
    - `shared` is what the continuations of the same frames know of their variables. With `alone` (the function itself)
      it is written to but not read.
    """

    dynamic: bool | None
    patience: int | None = None
    alone: bool = True
    shared: Learned = field(default_factory=Learned)
    local: Learned = field(default_factory=Learned)
    sizes: dict[Source, set[int]] = field(default_factory=dict)
    misses: Counter[Source] = field(default_factory=Counter)
    seen: dict[Source, tuple[int, ...]] | None = None  # the sizes of tensors, while somebody asks for them
    promised: bool = False  # whether a tensor was met that `mark_dynamic` has marked

    def snapshot(self) -> "Policy":
        """The decisions as they are now; what is learnt later does not change them."""
        copies = [
            Learned(set(known.numbers), set(known.unspecialized)) for known in (self.shared, self.local)
        ]
        sizes = {source: set(dims) for source, dims in self.sizes.items()}
        return replace(self, shared=copies[0], local=copies[1], sizes=sizes, misses=Counter(), seen=None)

    def dynamic_dims(self, source: Source, tensor: torch.Tensor) -> DynamicDims:
        """Which dimensions of a tensor are symbolic: those that the user marked, and those that were seen to change.

        None of a parameter's; one that is marked as static never.
        """
        # the class first: `isinstance` with Parameter is a Python function of torch, which also knows `_is_param`
        if type(tensor) is torch.nn.Parameter or isinstance(tensor, torch.nn.Parameter):
            return DynamicDims.none()
        if self.seen is not None and not tensor.is_nested:
            self.seen[source] = tuple(tensor.shape)
        attributes = getattr(tensor, "__dict__", {})
        marked = {int(dim) for dim in attributes.get(DYNAMIC_MARK, ())}
        self.promised |= bool(marked)
        marked |= {int(dim) for dim in attributes.get(WEAK_DYNAMIC_MARK, ())}
        static = {int(dim) for dim in attributes.get(STATIC_MARK, ())}
        if self.dynamic is True or (self.dynamic is None and not current_config().assume_static_by_default):
            marked |= set(range(tensor.dim()))
        elif self.dynamic is None:
            marked |= self.sizes.get(source, set())
        unknown = dict.fromkeys(map(int, attributes.get(UNBACKED_MARK, ())), Dim.UNBACKED)
        # `|`: where a dimension has both marks, unbacked wins
        dims = dict.fromkeys(sorted(marked - static), Dim.DYNAMIC) | unknown
        return DynamicDims(dims=dims, bounds=promised_ranges(source, tensor, dims))

    def is_dynamic_number(self, source: Source) -> bool:
        """Whether a number was seen to change."""
        return self.dynamic is not False and any(source in known.numbers for known in self._consulted())

    def symbolic(self) -> list[str]:
        """What was seen to change, as text: sizes of tensors and numbers."""
        sizes = [
            f"the size of dimension {dim} of {source.text()}"
            for source, dims in self.sizes.items()
            for dim in sorted(dims)
        ]
        return sizes + [f"the number {source.text()}" for source in self.local.numbers]

    def unspecialized(self) -> frozenset[Source]:
        """What is not specialized on."""
        return frozenset().union(*(known.unspecialized for known in self._consulted()))

    def is_unspecialized(self, source: Source) -> bool:
        """Whether a value, or the content of a container, was seen to change too often to be specialized on."""
        return any(source in known.unspecialized for known in self._consulted())

    def is_static_below(self, source: Source) -> bool:
        """Whether nothing was learnt of what is read through a source."""
        learnt = (one for known in self._consulted() for one in (*known.numbers, *known.unspecialized))
        return not any(source == one or source in one.ancestors() for one in learnt)

    def _consulted(self) -> tuple[Learned, ...]:
        """What this unit goes by."""
        return (self.local,) if self.alone else (self.local, self.shared)

    def learn(self, misses: Sequence[Examination]) -> None:
        """Learn from the failed guards of all entries, of which none fits: sizes and numbers that changed become symbolic.

        A miss counts against a source only if its value is new: no entry was made for it. An old value, too, fails in the
        entries that were made for other values. After `patience` such misses the source is unspecialized.
        """
        overspecialized: set[Source] = set()
        for failure in chain.from_iterable(one.failures for one in misses):
            overspecialized.update(failure.overspecialized)
            self._learn_dynamic(failure)
        if self.patience is None or not overspecialized:
            return
        new = overspecialized.difference(*(one.accepted for one in misses))
        self.misses.update(new)
        for source in new:
            if self.misses[source] >= self.patience:
                self._add("unspecialized", source)

    def learn_from_others(self, entries: Iterable[GuardSet], scope: Scope) -> None:
        """Learn from the entries of other functions: what differs becomes symbolic, so that one entry serves them all.

        Only where nothing else differs: a function whose parameters have other shapes needs an entry of its own, and that
        is better with fixed sizes.
        """
        for guards in entries:
            failures = all_failures(guards, scope)
            if all(map(self._may_be_symbolic, failures)):
                for failure in failures:
                    self._learn_dynamic(failure)

    def _may_be_symbolic(self, failure: Failure) -> bool:
        """Whether an entry with something symbolic there could serve."""
        change, claim = failure.tensor_change, failure.guard.claim
        if change is None or not isinstance(claim, TensorIs):
            return failure.value_change is not None
        # sizes of parameters are never symbolic (`dynamic_dims`)
        is_parameter = issubclass(claim.spec.cls, torch.nn.Parameter)
        return bool(change.sizes) and change.rank is None and not change.other and not is_parameter

    def compare(self, names: Iterable[str], before: Sizes, now: Sizes) -> None:
        """Learn from two calls for which there is no entry yet: sizes that differ become symbolic."""
        if self.dynamic is not None:
            return
        for name, old, new in zip(names, before, now, strict=True):
            if old is not None and new is not None and len(old) == len(new):
                changed = {dim for dim, (one, other) in enumerate(zip(old, new, strict=True)) if one != other}
                self.sizes.setdefault(Local(name), set()).update(changed)

    def _learn_dynamic(self, failure: Failure) -> None:
        settings = current_config()
        if self.dynamic is False or not settings.automatic_dynamic_shapes or failure.source is None:
            return
        # tensors of another rank get an entry of their own: their sizes say nothing about this one
        if failure.tensor_change is not None and failure.tensor_change.rank is None:
            changed = {dim for dim, _, _ in failure.tensor_change.sizes}
            self.sizes.setdefault(failure.source, set()).update(changed)
        change = failure.value_change
        if change is not None:
            is_fixed = settings.specialize_float if isinstance(change.was, float) else settings.specialize_int
            if not is_fixed:
                self._add("numbers", failure.source)

    def _add(self, what: Literal["numbers", "unspecialized"], source: Source) -> None:
        getattr(self.local, what).add(source)
        root = [source, *source.ancestors()][-1]
        # names such as stack_0_1 mean something else at another resume point: variables alone mean the same
        if isinstance(root, Local) and is_variable(root.name):
            getattr(self.shared, what).add(source)
