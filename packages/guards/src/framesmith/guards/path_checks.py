"""Claims below one object, checked of many other objects in its place: each path is read once, a step from its base.

    type(m) is Block, type(m.fc) is Linear, ...        m = layers[1], layers[2], ...

The order is that of the guards, so a path is read when the claims on its base hold. What is read is returned.
"""

from collections.abc import Callable, Iterable, Sequence
from operator import itemgetter
from typing import TypeAlias, cast, final

from framesmith.guards.failure import MISSES
from framesmith.guards.kinds.base import Claim
from framesmith.guards.kinds.presence import Present
from framesmith.guards.scope import Scope
from framesmith.guards.sources.base import Source
from framesmith.guards.sources.containers import Item
from framesmith.guards.sources.steps import InstanceItem

_Read: TypeAlias = Callable[[object], object]
_Check: TypeAlias = Callable[[object], bool]


@final
class PathChecks:
    """The claims, and the paths whose values are wanted afterwards.

    Invariant: each source is the root, or is read through it and consists of its base and of constants.
    """

    def __init__(
        self, root: Source, claims: Iterable[tuple[Source, Claim]], wanted: Sequence[Source]
    ) -> None:
        self._places: dict[Source, int] = {root: 0}
        self._steps: list[tuple[int, _Read | None, int, _Check | None]] = []
        for source, claim in claims:
            # To read the path is the whole check of `Present`.
            self._add(source, None if isinstance(claim, Present) else claim.check)
        for source in wanted:
            self._add(source, None)
        self._wanted = [self._places[source] for source in wanted]

    def _add(self, source: Source, check: _Check | None) -> None:
        place = self._places.get(source)
        if place is not None:
            if check is not None:
                self._steps.append((place, None, place, check))
            return
        base = source.base
        assert base is not None, f"{source.text()} is not read through the root"
        self._add(base, None)
        place = len(self._places)
        self._steps.append((self._places[base], _reader(source, base), place, check))
        self._places[source] = place

    def values(self, root: object) -> list[object] | None:
        """The values at the wanted paths below another root; None if a claim does not hold there, or a path is gone."""
        # By place: the root is number 0, and each step with `read` adds the next one.
        found = [root]
        try:
            for base, read, place, check in self._steps:
                if read is not None:
                    found.append(read(found[base]))
                if check is not None and not check(found[place]):
                    return None
        except MISSES:
            return None
        return [found[place] for place in self._wanted]


def _reader(source: Source, base: Source) -> _Read:
    """What `read` of the source does with the value of its base."""
    if isinstance(source, Item):
        return cast(_Read, itemgetter(source.key))  # what has no items raises TypeError, a miss
    if isinstance(source, InstanceItem):
        name = source.name
        return lambda value: value.__dict__[name]
    return lambda value: source.read(Scope({}, {}, {base: value}))
