"""The roots of members: what is read through one of them, and what they are read from."""

import pytest

from framesmith.guards.member_roots import MemberRoots
from framesmith.guards.sources import InstanceItem, Item, Local

MODEL = Local("model")
LAYERS = InstanceItem(MODEL, "layers")


def roots(*keys):
    found = MemberRoots()
    for key in keys:
        found.add(Item(LAYERS, key))
    return found


@pytest.mark.parametrize(
    "source, above, held",
    [
        (MODEL, True, False),
        (LAYERS, True, False),
        (Item(LAYERS, 0), False, True),
        (InstanceItem(Item(LAYERS, 1), "weight"), False, True),
        (Item(LAYERS, 2), False, False),
        (InstanceItem(Item(LAYERS, 2), "weight"), False, False),
        (InstanceItem(MODEL, "head"), False, False),
        (Local("other"), False, False),
    ],
)
def test_what_lies_above_and_below_is_known(source, above, held):
    known = roots(0, 1)
    assert (known.is_above(source), known.hold(source)) == (above, held)
    assert known.is_apart(source) is not (above or held)


def test_nothing_is_left_of_roots_that_are_forgotten():
    known = roots(0)
    known.clear()
    assert known.is_apart(MODEL) and known.is_apart(Item(LAYERS, 0))


def test_a_root_below_a_neighbour_of_an_earlier_one_is_found():
    known = roots(0)
    known.add(InstanceItem(InstanceItem(MODEL, "head"), "fc"))
    assert known.is_above(InstanceItem(MODEL, "head")) and known.hold(Item(LAYERS, 0))


def test_a_copy_goes_its_own_way():
    known = roots(0)
    made = known.copy()
    made.add(Item(LAYERS, 1))
    assert made.hold(Item(LAYERS, 0)) and made.hold(Item(LAYERS, 1)) and not known.hold(Item(LAYERS, 1))
