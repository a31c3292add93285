"""Claims below one object, checked of others, and sources that are moved all at once."""

from collections import OrderedDict
from types import SimpleNamespace

import pytest

from framesmith.guards import Scope
from framesmith.guards.kinds import EqualTo, LengthIs, Present, TypeIs
from framesmith.guards.path_checks import PathChecks
from framesmith.guards.sources import Attribute, DictKeyAt, InstanceItem, Item, Local
from framesmith.guards.sources.rebase import Rebase, RebasePattern

ROOT, OTHER = Local("m"), Item(Local("all"), 3)
ITEMS = InstanceItem(ROOT, "items")
FIRST, KEY, NAME = Item(ITEMS, "first"), DictKeyAt(ITEMS, 0), Attribute(ROOT, "name")
CLAIMS = [
    (ROOT, TypeIs(SimpleNamespace)),
    (ITEMS, TypeIs(dict)),
    (FIRST, Present()),
    (KEY, EqualTo("first")),
    (NAME, EqualTo("n")),
    (ITEMS, LengthIs(1)),
]
CHECKS = PathChecks(ROOT, CLAIMS, [FIRST, ROOT, NAME])


def holder(**changes):
    return SimpleNamespace(**({"items": {"first": 7}, "name": "n"} | changes))


def test_the_values_at_the_wanted_paths():
    other = holder(items={"first": 8})
    assert CHECKS.values(other) == [8, other, "n"]


@pytest.mark.parametrize(
    "other",
    [
        1,
        holder(items=OrderedDict(first=7)),
        holder(items={"second": 7}),
        holder(items={"second": 1, "first": 7}),
        holder(items={"first": 7, "second": 1}),
        holder(name="other"),
        SimpleNamespace(name="n"),
        SimpleNamespace(items={"first": 7}),
    ],
)
def test_a_claim_that_does_not_hold_or_a_path_that_is_gone(other):
    assert CHECKS.values(other) is None


def test_nothing_is_read_before_the_claims_on_its_base_hold():
    class Items(dict):
        def __getitem__(self, key):
            raise AssertionError("read")

    assert CHECKS.values(holder(items=Items(first=7))) is None


def test_a_path_is_read_once():
    reads = []

    class Counted:
        @property
        def name(self):
            reads.append(1)
            return "n"

    checks = PathChecks(ROOT, [(NAME, EqualTo("n")), (NAME, TypeIs(str))], [NAME, NAME])
    assert checks.values(Counted()) == ["n", "n"]
    assert reads == [1]


SOURCES = [
    FIRST,
    KEY,
    NAME,
    Item(FIRST, slice(1, 2)),
    Item(FIRST, (1, 2.0)),
    Item(FIRST, True),
    Attribute(KEY, "x"),
]


def test_a_pattern_moves_as_the_constructor_does():
    slow = Rebase(ROOT, OTHER)
    quick, moved = RebasePattern(ROOT, SOURCES).move(OTHER)
    assert moved == [slow(source) for source in SOURCES]
    for source in [ROOT, ITEMS, *SOURCES, Local("other"), Item(KEY, 5)]:
        one, other = slow(source), quick(source)
        assert one == other
        assert hash(one) == hash(other)
        assert (type(one), one.text(), one.comparison_fields()) == (
            type(other),
            other.text(),
            other.comparison_fields(),
        )


def test_a_moved_source_reads_from_the_new_start():
    _, (moved,) = RebasePattern(ROOT, [FIRST]).move(OTHER)
    assert moved.read(Scope({"all": {3: holder(items={"first": 9})}}, {})) == 9
