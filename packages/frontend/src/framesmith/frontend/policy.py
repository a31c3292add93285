"""Which sizes and numbers are symbolic: asked for by the user, or seen to change from call to call."""

from dataclasses import dataclass, field
from typing import final

import torch

from framesmith.frontend.options import config
from framesmith.graph.dynamic_dims import Dim, DynamicDims
from framesmith.guards import GuardSet, Scope, Source, all_failures

DYNAMIC_MARK = "_dynamo_dynamic_indices"
WEAK_DYNAMIC_MARK = "_dynamo_weak_dynamic_indices"
STATIC_MARK = "_dynamo_static_indices"


@final
@dataclass(slots=True)
class Policy:
    """The decisions for one function or continuation (the `DynamicPolicy` protocol of graph).

    `dynamic` is the option of `compile`: True makes all sizes symbolic at once, False none ever,
    None those that were seen to change.
    """

    dynamic: bool | None
    sizes: dict[Source, set[int]] = field(default_factory=dict)
    numbers: set[Source] = field(default_factory=set)

    def dynamic_dims(self, source: Source, tensor: torch.Tensor) -> DynamicDims:
        """Marks of the user first, then what was seen."""
        if isinstance(tensor, torch.nn.Parameter):
            return DynamicDims.none()
        attributes = getattr(tensor, "__dict__", {})
        marked = {int(dim) for dim in attributes.get(DYNAMIC_MARK, ())}
        marked |= {int(dim) for dim in attributes.get(WEAK_DYNAMIC_MARK, ())}
        static = {int(dim) for dim in attributes.get(STATIC_MARK, ())}
        if self.dynamic is True:
            marked |= set(range(tensor.dim()))
        elif self.dynamic is None:
            marked |= self.sizes.get(source, set())
        return DynamicDims(dims=dict.fromkeys(sorted(marked - static), Dim.DYNAMIC))

    def is_dynamic_number(self, source: Source) -> bool:
        """Whether a number was seen to change."""
        return self.dynamic is not False and source in self.numbers

    def learn(self, guards: GuardSet, scope: Scope) -> None:
        """Look at why an entry does not fit: sizes and numbers that changed become symbolic."""
        if self.dynamic is False or not config.automatic_dynamic_shapes:
            return
        for failure in all_failures(guards, scope):
            if failure.source is None:
                continue
            if failure.tensor_change is not None and failure.tensor_change.rank is None:
                changed = {dim for dim, _, _ in failure.tensor_change.sizes}
                self.sizes.setdefault(failure.source, set()).update(changed)
            if failure.value_change is not None:
                self.numbers.add(failure.source)
