"""Our sources in the form that torch's ShapeEnv expects, and back again. Adapter to `torch._guards`.

torch asks a source for a unique name and whether it is ephemeral; the rest of its interface serves Dynamo.
`unwrap` reads only the attributes of torch's derived sources (base, property, index), so nothing of Dynamo is
imported here.
"""

import itertools
from typing import Final, final
from weakref import WeakValueDictionary

import torch._guards

from framesmith.guards.sources.base import Source
from framesmith.guards.sources.steps import Attribute
from framesmith.guards.sources.tensors import TensorSize, TensorStorageOffset, TensorStride, Unasked

NO_TRACE: Final = -1
"""In the place of the number of a trace: the source is a name only."""


@final
class TorchSource(torch._guards.Source):
    """One of our sources, for torch. Invariant: two of one trace are equal exactly when ours are.

    It holds numbers and text only: torch keeps sources in caches that outlive the trace, and ours may hold
    the user's functions.
    """

    trace: int
    label: str

    def __init__(self, trace: int, label: str) -> None:
        # torch's class is a frozen dataclass, hence not through its __setattr__
        object.__setattr__(self, "trace", trace)
        object.__setattr__(self, "label", label)

    @property
    def ours(self) -> Source | None:
        """Our source; None once the trace has ended."""
        names = _TRACES.get(self.trace)
        return None if names is None else names.source(self.label)

    @property
    def name(self) -> str:
        return self.label

    @property
    def _name_template(self) -> str:
        return self.label

    @property
    def guard_source(self) -> torch._guards.GuardSource:
        return torch._guards.GuardSource.LOCAL

    def __hash__(self) -> int:
        return hash((self.trace, self.label))

    def __eq__(self, other: object) -> bool:
        return isinstance(other, TorchSource) and (other.trace, other.label) == (self.trace, self.label)

    def __reduce__(self) -> tuple[type["TorchSource"], tuple[int, str]]:
        """Inductor keeps sources in files, which another process reads: there the number means another trace."""
        return TorchSource, (NO_TRACE, self.label)

    def __deepcopy__(self, memo: object) -> "TorchSource":
        """The same: a copy in this process is of the same trace."""
        return self


@final
class SourceNames:
    """Gives each source of a trace a unique label: torch keeps symbols by name, and two sources may have one text."""

    def __init__(self) -> None:
        self._known: dict[Source, TorchSource] = {}
        self._sources: dict[str, Source] = {}
        self._number = next(_NUMBERS)
        _TRACES[self._number] = self

    def source(self, label: str) -> Source:
        """The source that has this label; KeyError for an unknown one."""
        return self._sources[label]

    def wrap(self, source: Source) -> TorchSource:
        """The torch form of a source; the same one every time."""
        known = self._known.get(source)
        if known is None:
            label = text = source.text()
            number = 1
            while label in self._sources:
                number += 1
                label = f"{text}#{number}"
            self._sources[label] = source
            known = self._known[source] = TorchSource(self._number, label)
        return known


_NUMBERS = itertools.count()
_TRACES: WeakValueDictionary[int, SourceNames] = WeakValueDictionary()


def unwrap(source: object) -> Source | None:
    """Our source for one that torch derived from ours (`x.size()[1]`, an inner tensor of a subclass), or None."""
    if isinstance(source, TorchSource):
        return source.ours
    base = getattr(source, "base", None)
    ours = None if base is None else unwrap(base)
    if ours is None:
        return None
    kind = getattr(getattr(source, "prop", None), "name", None)
    if kind == "SIZE":
        return TensorSize(ours, getattr(source, "idx"))  # noqa: B009  # torch's class is not imported
    if kind == "STRIDE":
        return TensorStride(ours, getattr(source, "idx"))  # noqa: B009
    if kind == "STORAGE_OFFSET":
        return TensorStorageOffset(ours)
    member = getattr(source, "member", None)
    if not isinstance(member, str):
        return None
    # a tensor in a wrapper, whose class is not asked either
    return Unasked(Attribute(ours.base, member)) if isinstance(ours, Unasked) else Attribute(ours, member)
