"""Sources with another start, and the guards below a source."""

import pytest

from framesmith.guards import Family, Guard, GuardSet, Member, Scope
from framesmith.guards.kinds import EqualTo, SameObject, TypeIs
from framesmith.guards.source_index import SourceIndex
from framesmith.guards.sources import Attribute, Computed, InstanceItem, Item, Local, Pinned
from framesmith.guards.sources.rebase import Rebase, RebasePattern, is_movable

LAYERS = Local("layers")
FIRST, SECOND = Item(LAYERS, 0), Item(LAYERS, 1)
PATHS = [FIRST, Item(FIRST, "a"), Attribute(FIRST, "real"), InstanceItem(Attribute(FIRST, "x"), "y")]


@pytest.mark.parametrize("path", PATHS)
def test_a_moved_source_reads_in_the_same_way_from_the_other_start(path):
    moved = Rebase(FIRST, SECOND)(path)
    assert moved.text() == path.text().replace("layers[0]", "layers[1]")
    assert type(moved) is type(path)


def test_a_source_from_elsewhere_stays():
    assert Rebase(FIRST, SECOND)(Item(SECOND, "a")) == Item(SECOND, "a")


def test_a_moved_source_reads_the_other_value():
    scope = Scope({"layers": [{"a": 1}, {"a": 2}]}, {})
    assert Rebase(FIRST, SECOND)(Item(FIRST, "a")).read(scope) == 2


def test_several_sources_move_as_each_of_them_does():
    sources = (FIRST, Item(FIRST, "a"), Item(SECOND, "a"))
    pattern = RebasePattern(FIRST, sources[1:2])
    for start in (SECOND, Item(LAYERS, 2), SECOND):
        rebase, _ = pattern.move(start)
        for given in (sources, sources[:2]):
            assert rebase.move_all(given) == tuple(map(rebase, given))
            assert rebase.move_all(given) == tuple(map(Rebase(FIRST, start), given))


def test_what_is_computed_from_several_sources_is_not_moved():
    assert is_movable(Item(FIRST, "a"))
    assert not is_movable(Computed(abs, (Item(FIRST, "a"),), "abs"))
    assert not is_movable(Pinned(1))


def test_the_index_gives_the_guards_below_a_source_in_their_order():
    a, b = Item(FIRST, "a"), Item(SECOND, "b")
    same = Guard.relation(SameObject(b, a))
    guards = GuardSet([Guard(a, EqualTo(1)), Guard(b, EqualTo(2)), same])
    index = SourceIndex()
    index.update(guards)
    assert index.guards_on(index.below(FIRST)) == [Guard(a, EqualTo(1)), same]
    guards.add(Guard(FIRST, TypeIs(dict)))
    index.update(guards)
    assert index.guards_on(index.below(FIRST))[-1] == Guard(FIRST, TypeIs(dict))


def test_what_is_computed_is_below_each_of_its_sources():
    computed = Computed(abs, (Item(FIRST, "a"),), "abs")
    index = SourceIndex()
    index.update(GuardSet([Guard(computed, EqualTo(1))]))
    assert computed in index.below(FIRST)


def test_the_index_looks_into_the_members_that_are_asked_for():
    family = Family(FIRST, (Guard(FIRST, TypeIs(dict)), Guard(Item(FIRST, "a"), EqualTo(1))), ())
    guard_set, index = GuardSet(family.guards), SourceIndex()
    members = [Member(family, Item(LAYERS, place), Rebase(FIRST, Item(LAYERS, place))) for place in (1, 2)]
    for member in members:
        guard_set.add_member(member)
    last = Guard(Item(SECOND, "b"), EqualTo(2))
    guard_set.add(last)
    index.update(guard_set)
    assert index.guards_on(index.below(Item(SECOND, "a"))) == [members[0].guards[1]]
    assert members[1]._guards is None
    assert index.guards_on(index.below(SECOND)) == [*members[0].guards, last]
    assert index.guards_on(index.below(LAYERS)) == [
        *family.guards,
        *members[0].guards,
        *members[1].guards,
        last,
    ]
    assert index.below(LAYERS)[0] == LAYERS
