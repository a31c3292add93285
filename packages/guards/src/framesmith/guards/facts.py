"""A self-check: which of the facts that a trace read of real objects no guard covers.

Code that reads a real object notes what it learned (`fact_log`), besides adding guards. When the entry is made,
`find_uncovered` compares the two. It runs in tests only: a trace without a log notes nothing.
"""

from collections.abc import Callable, Iterable, Sequence
from typing import Final, final

from framesmith.guards.class_lookup import class_name, is_immutable
from framesmith.guards.fact_log import Fact
from framesmith.guards.guard_set import GuardSet
from framesmith.guards.kinds.attributes import ClassAttribute
from framesmith.guards.kinds.base import Claim, Relation
from framesmith.guards.kinds.classes import ClassStructure
from framesmith.guards.kinds.containers import HasKey, IteratorHasAtLeast, KeysAre, LengthIs
from framesmith.guards.kinds.functions import CodeIs
from framesmith.guards.kinds.identity import Identical, WeaklyIdentical
from framesmith.guards.kinds.tensor import TensorIs
from framesmith.guards.kinds.types import TypeIs
from framesmith.guards.kinds.values import EqualTo
from framesmith.guards.sources.base import Source
from framesmith.guards.sources.containers import Item, IteratorPeek
from framesmith.guards.sources.roots import Own, Pinned
from framesmith.guards.sources.steps import CallResult, ClassDict, ClassDictItem

_TELLS_TYPE: Final = (TypeIs, Identical, WeaklyIdentical, EqualTo, TensorIs, CodeIs)
_TELLS_CONTENT: Final = (LengthIs, KeysAre, EqualTo, Identical, WeaklyIdentical)


def find_uncovered(facts: Iterable[Fact], guards: GuardSet, loads: Sequence[Source]) -> list[str]:
    """The facts that may change without any guard noticing, as text.

    `loads` are read by the entry: that they are there is checked by reading them.
    """
    covered = _Covered(guards, loads)
    return [fact.text() for fact in facts if not _RULES[fact.what](covered, fact)]


@final
class _Covered:
    """The guards, indexed by source: claims, sources of relations, and everything that checking or loading reads."""

    def __init__(self, guards: GuardSet, loads: Sequence[Source]) -> None:
        self.claims: dict[Source, list[Claim]] = {}
        self.related: set[Source] = set()
        for guard in guards:
            if isinstance(guard.claim, Relation):
                self.related.update(guard.claim.all_sources)
            elif guard.source is not None:
                self._add(guard.source, guard.claim)
        self.read: set[Source] = set()
        read = [leaf for source in loads for leaf in (source, *source.leaves())]
        for source in (*self.claims, *self.related, *read):
            self.read.update((source, *source.ancestors()))

    def _add(self, source: Source, claim: Claim) -> None:
        self.claims.setdefault(source, []).append(claim)
        for inner_source, inner in claim.lower(source) or ():
            if (inner_source, inner) != (source, claim):
                self._add(inner_source, inner)

    def has_claim(self, source: Source, *kinds: type[Claim]) -> bool:
        """Whether a claim of one of the kinds is about the source."""
        return any(isinstance(claim, kinds) for claim in self.claims.get(source, ()))

    def has_exact_claim(self, source: Source, claim: Claim) -> bool:
        """Whether a guard makes exactly this claim about the source."""
        return claim in self.claims.get(source, ())

    def fixes_content(self, source: Source) -> bool:
        """Whether the items or keys of the container are fixed."""
        return self.has_claim(source, *_TELLS_CONTENT)


def _present(covered: _Covered, fact: Fact) -> bool:
    source, base = fact.source, fact.source.base
    if base is None or source in covered.read or covered.fixes_content(base):
        return True
    if isinstance(source, IteratorPeek):
        return covered.has_claim(base, IteratorHasAtLeast)
    if isinstance(source, Item) and covered.has_exact_claim(base, HasKey(source.key, True)):
        return True
    return isinstance(base, CallResult) and covered.fixes_content(base.base)


def _absent(covered: _Covered, fact: Fact) -> bool:
    return covered.has_exact_claim(fact.source, HasKey(fact.name, False)) or covered.fixes_content(
        fact.source
    )


def _type(covered: _Covered, fact: Fact) -> bool:
    source, base = fact.source, fact.source.base
    if (
        isinstance(source, Own | Pinned)
        or covered.has_claim(source, *_TELLS_TYPE)
        or source in covered.related
    ):
        return True
    return base is not None and covered.fixes_content(base)


def _structure(covered: _Covered, fact: Fact) -> bool:
    return covered.has_claim(fact.source, ClassStructure)


def _content(covered: _Covered, fact: Fact) -> bool:
    return covered.fixes_content(fact.source)


def _class_attribute(covered: _Covered, fact: Fact) -> bool:
    """The whole look-up is guarded, or each step of it: absent in each class before the owner, there in the owner."""
    assert isinstance(fact.source, Pinned) and isinstance(fact.name, tuple)
    visited, owner, name = fact.name
    whole = covered.claims.get(fact.source, ())
    if any(isinstance(claim, ClassAttribute) and claim.name == name for claim in whole):
        return True
    holders = [Pinned(cls, class_name(cls)) for cls in visited if not is_immutable(cls)]
    return all(
        ClassDictItem(holder, name) in covered.read
        if holder.value is owner
        else covered.has_exact_claim(ClassDict(holder), HasKey(name, False))
        for holder in holders
    )


_RULES: Final[dict[str, Callable[[_Covered, Fact], bool]]] = {
    "is there": _present,
    "is not there": _absent,
    "has its type": _type,
    "has its bases and special methods": _structure,
    "has its keys or length": _content,
    "class attribute": _class_attribute,
}
