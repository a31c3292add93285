"""Which repeated operations of a captured graph can run as calls of one function: the plan for `run_text`.

    a = relu(x @ w0)
    b = relu(a @ w1)        ->        stretches (a), (b) of one shape: operands (x, w0), (a, w1), result 1

The graph stays as it is; only the function that runs it is shorter, so that Python compiles one layer instead of all.
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final, TypeAlias, final

from torch import fx

from framesmith.graph.nodes.arguments import operands_of

Stretch: TypeAlias = tuple[fx.Node, ...]

_FEWEST_NODES: Final = 3
_FEWEST_CALLS: Final = 3
"""Operations of a stretch, and repetitions of it, for which a function of its own pays."""


@final
@dataclass(frozen=True, slots=True, eq=False)
class StretchCall:
    """One stretch as a call: the values that it takes, in the order of the first stretch's `operands`."""

    stretch: Stretch
    operands: Stretch


@final
@dataclass(frozen=True, slots=True, eq=False)
class SharedStretch:
    """Stretches that do the same on other operands. The first is the pattern; `results` are the positions in a stretch of the
    values that are used after any of them.

    Invariant: the nodes of a stretch are neighbours in the graph; no node is in two of them.
    """

    calls: tuple[StretchCall, ...]
    results: tuple[int, ...]


def find_shared(graph: fx.Graph, groups: Iterable[Sequence[Stretch]]) -> list[SharedStretch]:
    """The stretches to be run by functions of their own; `groups` are stretches that were recorded by one another's pattern."""
    nodes = list(graph.nodes)
    places = {node: place for place, node in enumerate(nodes)}
    taken: set[fx.Node] = set()
    found: list[SharedStretch] = []
    for group in sorted(groups, key=lambda one: -len(one) * len(one[0])):
        if len(group) < _FEWEST_CALLS or len(group[0]) < _FEWEST_NODES:
            continue
        calls = list(_calls(group, nodes, places, taken))
        if len(calls) >= _FEWEST_CALLS:
            taken.update(node for call in calls for node in call.stretch)
            found.append(SharedStretch(tuple(calls), _results(calls)))
    return found


def _calls(
    group: Sequence[Stretch], nodes: Sequence[fx.Node], places: Mapping[fx.Node, int], taken: set[fx.Node]
) -> Iterator[StretchCall]:
    """The stretches of a group that are alike, without operations that were dropped as unused."""
    alive = [tuple([node in places for node in one]) for one in group]
    usual = Counter(alive).most_common(1)[0][0]
    if sum(usual) < _FEWEST_NODES:
        return
    pattern: Stretch = ()
    operands: Stretch = ()
    for one, held in zip(group, alive, strict=True):
        kept = one if all(held) else tuple([node for node in one if node in places])
        if held != usual or not taken.isdisjoint(kept):
            continue
        start = places[kept[0]]
        # Another operation may stand among them, such as one that writes out a size.
        if tuple(nodes[start : start + len(kept)]) != kept:
            continue
        if not pattern:
            pattern, operands = kept, operands_of(kept)
            yield StretchCall(kept, operands)
            continue
        images = _match(pattern, kept)
        if images is not None:
            yield StretchCall(kept, tuple([images[one] for one in operands]))


def _match(pattern: Stretch, other: Stretch) -> Mapping[fx.Node, fx.Node] | None:
    """What stands for each value of the pattern in another stretch; None if the operations differ."""
    images = dict(zip(pattern, other, strict=True))
    for one, two in zip(pattern, other, strict=True):
        if one.op != two.op or (one.target is not two.target and one.target != two.target):
            return None
        left, right = one._input_nodes, two._input_nodes
        if len(left) != len(right):
            return None
        for first, present in zip(left, right, strict=True):
            # A value that is one operand of the pattern has to be one here too.
            if images.setdefault(first, present) is not present:
                return None
    return images


def _results(calls: Iterable[StretchCall]) -> tuple[int, ...]:
    used: set[int] = set()
    for call in calls:
        own = set(call.stretch)
        used.update(
            place
            for place, node in enumerate(call.stretch)
            if place not in used and not own.issuperset(node.users)
        )
    return tuple(sorted(used))
