"""Version counters of inputs that a graph writes to: eager counts each write, and none through `data` or to the statistics of a normalization.

AOTAutograd copies the new content into the input at the end, which counts once or twice. By the counter a backward pass is refused.
"""

from collections import Counter
from collections.abc import Callable, Collection, Mapping, Sequence

import torch

from framesmith.graph.fakes.execution import storage_of
from framesmith.graph.inputs.inputs import Input
from framesmith.guards.sources.base import Source


def count_as_eager(
    call: Callable[..., tuple[object, ...]],
    used: Sequence[Input],
    touched: Collection[Source],
    versions: Mapping[Source, int],
) -> Callable[..., tuple[object, ...]]:
    """The call, which takes the values of the inputs in `used`; behind it the counters of those in `touched` are what they are in eager: the fakes were
    written to as often. `versions`: what their counters were at first."""
    fakes = {
        place: entry.example
        for place, entry in enumerate(used)
        if isinstance(entry.example, torch.Tensor) and not entry.example.is_inference()
    }
    uses = Counter(map(storage_of, fakes.values()))  # fakes of one memory count their writes apart
    counts = {
        place: fake._version - versions[used[place].source]
        for place, fake in fakes.items()
        if used[place].source in touched and uses[storage_of(fake)] == 1
    }
    places = tuple(counts)

    def run(*values: object) -> tuple[object, ...]:
        tensors = [value for place in places if isinstance(value := values[place], torch.Tensor)]
        before = [tensor._version for tensor in tensors]
        results = call(*values)
        after = [version + count for version, count in zip(before, counts.values(), strict=True)]
        torch._C._autograd._unsafe_set_version_counter(tuple(tensors), tuple(after))
        return results

    return run if places else call
