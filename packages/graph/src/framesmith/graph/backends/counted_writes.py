"""Version counters of inputs that a graph writes to: eager counts each write, and none through `data` or to the statistics of a normalization.

AOTAutograd copies the new content into the input at the end, which counts once or twice, and counts once before a graph that raises then. By
the counter a backward pass is refused.
"""

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence

import torch

from framesmith.graph.fakes.execution import storage_of
from framesmith.graph.inputs.inputs import Input
from framesmith.guards.sources.base import Source


def count_as_eager(
    call: Callable[..., tuple[object, ...]],
    used: Sequence[Input],
    touched: Collection[Source],
    versions: Mapping[Source, int],
    *,
    takes_back: bool,
) -> Callable[..., tuple[object, ...]]:
    """The call, which takes the values of the inputs in `used`; behind it the counters of those in `touched` are what they are in eager: the fakes were
    written to as often. `versions`: what their counters were at first; `takes_back`: a call that raises has written to none so far."""
    fakes = {
        place: entry.example
        for place, entry in enumerate(used)
        if isinstance(entry.example, torch.Tensor) and not entry.example.is_inference()
    }
    uses = Counter(map(storage_of, fakes.values()))
    # views have one counter; their fakes may have one, or count their writes apart
    memories = {memory for memory, number in uses.items() if number > 1}
    counts = {
        place: fake._version - versions[used[place].source]
        for place, fake in fakes.items()
        if used[place].source in touched or storage_of(fake) in memories
    }
    places, are_apart = tuple(counts), not memories
    counters = [_owner_of(fakes[place]) for place in places]

    def run(*values: object) -> tuple[object, ...]:
        tensors = [value for place in places if isinstance(value := values[place], torch.Tensor)]
        before = [tensor._version for tensor in tensors]
        try:
            results = call(*values)
        except BaseException:
            if takes_back:
                torch._C._autograd._unsafe_set_version_counter(tuple(tensors), tuple(before))
            raise
        added = counts.values() if are_apart else _add_up(tensors, counters, counts.values())
        after = [version + count for version, count in zip(before, added, strict=True)]
        torch._C._autograd._unsafe_set_version_counter(tuple(tensors), tuple(after))
        return results

    return run if places else call


def _owner_of(tensor: torch.Tensor) -> int:
    return id(tensor if tensor._base is None else tensor._base)


def _add_up(tensors: Sequence[torch.Tensor], counters: Sequence[int], counts: Iterable[int]) -> Sequence[int]:
    """How often the counter of each tensor is counted, which views of one tensor have in common. `counters`: those of their fakes, and
    `counts` what these say since the fake was made."""
    owners = [_owner_of(tensor) for tensor in tensors]
    most = dict[tuple[int, int], int]()
    for key, count in zip(zip(owners, counters, strict=True), counts, strict=True):
        most[key] = max(count, most.get(key, 0))
    return [sum(count for (one, _), count in most.items() if one == owner) for owner in owners]
