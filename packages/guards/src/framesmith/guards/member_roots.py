"""The sources of the members of families: none of them is read through another one.

So the walk from a source up to the one that holds it ends at the first source that a member is read from, mostly the next one.
"""

from typing import final

from framesmith.guards.sources.base import Source


@final
class MemberRoots:
    """Sources of which none is read through another one, and what they are read from."""

    def __init__(self) -> None:
        self._roots: set[Source] = set()
        self._above: set[Source] = set()
        # that of the last root: those of neighbours are one object, and need no look-up
        self._base: Source | None = None

    def add(self, root: Source) -> None:
        """Add a source for which `is_apart` holds."""
        self._roots.add(root)
        if root.base is self._base:
            return
        step = self._base = root.base
        # with a source, all from which that is read are there
        while step is not None and step not in self._above:
            self._above.add(step)
            step = step.base

    def is_above(self, source: Source) -> bool:
        """Whether one of them is read through this source."""
        return source in self._above

    def hold(self, source: Source) -> bool:
        """Whether the source is one of them, or is read through one."""
        step: Source | None = source
        while step is not None and step is not self._base and step not in self._above:
            if step in self._roots:
                return True
            step = step.base
        return False

    @property
    def is_empty(self) -> bool:
        """Whether there are none."""
        return not self._roots

    def copy(self) -> "MemberRoots":
        """Another collection with the same sources."""
        made = MemberRoots()
        made._roots, made._above, made._base = self._roots.copy(), self._above.copy(), self._base
        return made

    def is_apart(self, source: Source) -> bool:
        """Whether the source may be added."""
        return not self.is_above(source) and not self.hold(source)

    def clear(self) -> None:
        """Forget all of them."""
        self._roots.clear()
        self._above.clear()
        self._base = None
