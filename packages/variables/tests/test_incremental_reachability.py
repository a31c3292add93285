"""Walks over what can be reached, each of which enters only what is new or has changed."""

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from framesmith.variables import Tracker
from framesmith.variables.builtin_types.iterators import IteratorTracker
from framesmith.variables.builtin_types.lists import ListTracker
from framesmith.variables.builtin_types.tuples import TupleTracker
from framesmith.variables.core import Constant, MutationLog
from framesmith.variables.core.reach import IncrementalReachability


def names(found: Iterable[Tracker]) -> set[Any]:
    """The constants among what was found."""
    return {one.value for one in found if isinstance(one, Constant)}


def log_and_reach() -> tuple[MutationLog[Tracker], IncrementalReachability]:
    log = MutationLog[Tracker]()
    return log, IncrementalReachability(log.watch())


def change(log: MutationLog[Tracker], target: ListTracker, items: Sequence[Tracker]) -> None:
    log.note(target)
    target._items.extend(items)


def test_what_was_reached_is_not_entered_again() -> None:
    _, reach = log_and_reach()
    inner = ListTracker([Constant(1), Constant(2)])
    outer = TupleTracker([inner, Constant(3)])
    assert names(reach.walk([outer])) == {1, 2, 3}
    assert reach.walk([outer]) == []
    assert reach.walk([inner, outer]) == []


def test_new_roots_lead_to_what_is_new_alone() -> None:
    _, reach = log_and_reach()
    shared = ListTracker([Constant(1)])
    reach.walk([shared])
    assert names(reach.walk([TupleTracker([shared, Constant(2)])])) == {2}


def test_a_change_far_below_a_root_is_found() -> None:
    log, reach = log_and_reach()
    inner = ListTracker([])
    outer = TupleTracker([TupleTracker([inner])])
    reach.walk([outer])
    change(log, inner, [Constant(1)])
    assert names(reach.walk([outer])) == {1}
    change(log, inner, [TupleTracker([Constant(2)])])
    assert names(reach.walk([outer])) == {2}


def test_a_new_value_may_change_before_it_is_reached() -> None:
    log, reach = log_and_reach()
    outer, new = ListTracker([]), ListTracker([])
    reach.walk([outer])
    change(log, new, [Constant(1)])
    assert names(reach.walk([outer])) == set()
    change(log, outer, [new])
    assert names(reach.walk([outer])) == {1}


def test_a_walk_between_the_announcement_of_a_change_and_the_change() -> None:
    log, reach = log_and_reach()
    target = ListTracker([])
    reach.walk([target])
    log.note(target)
    assert names(reach.walk([target])) == set()
    target._items.append(Constant(1))
    assert names(reach.walk([target])) == {1}


def test_values_whose_changes_are_not_told_are_entered_each_time() -> None:
    _, reach = log_and_reach()
    iterator = IteratorTracker()
    assert not iterator.tells_changes
    root = TupleTracker([iterator])
    for _ in range(3):
        assert reach.walk([root]).count(iterator) == 1
        assert list(reach.untold()) == [iterator]


def test_values_that_are_gone_are_forgotten() -> None:
    _, reach = log_and_reach()
    reach.walk([TupleTracker([IteratorTracker()])])
    assert list(reach.untold()) == []


def every_class(base: type = Tracker) -> Iterator[type[Tracker]]:
    for one in base.__subclasses__():
        yield one
        yield from every_class(one)


def test_a_class_with_children_of_its_own_says_whether_their_changes_are_told() -> None:
    silent = [
        one
        for one in set(every_class())
        if one.tells_changes
        and {"children", "known_children"} & vars(one).keys()
        and "tells_changes" not in vars(one)
    ]
    assert silent == []
