"""Which rule wraps a value: what its type decides is found once, what the value decides is asked for each."""

import pytest
from support import Trace
from torch import nn

from framesmith.graph import GraphBreak
from framesmith.variables import catalog
from framesmith.variables.core.fake_trackers import FakeTrackers
from framesmith.variables.core.wrap_rules import TESTS, WrapRules


class Held:
    """Something that can be referred to weakly."""


@pytest.mark.parametrize("order", ["first the one that is known", "first the other one"])
def test_values_of_one_type_may_have_several_rules(order):
    registry, rules = catalog.registry(), WrapRules()
    values = [zip([1], [2]), zip(one for one in [1])]
    for value in values if order == "first the one that is known" else reversed(values):
        tests = registry[TESTS].values()
        expected = next(
            one.rule
            for one in tests
            if one.of_type(registry, zip) and (one.of_value is None or one.of_value(registry, value))
        )
        assert rules.find(registry, value) is expected
    assert rules.find(registry, values[0]) is not rules.find(registry, values[1])


def test_the_rule_of_a_type_is_looked_for_once(monkeypatch):
    asked = []
    monkeypatch.setattr(
        "framesmith.variables.core.wrap_rules._rules_of_type", lambda registry, cls: asked.append(cls) or []
    )
    rules = WrapRules()
    for module in (nn.Linear(1, 1), nn.Linear(2, 2), nn.ReLU()):
        rules.find(catalog.registry(), module)
    assert asked == [nn.Linear, nn.ReLU]
    rules.release()
    rules.find(catalog.registry(), nn.ReLU())
    assert asked == [nn.Linear, nn.ReLU, nn.ReLU]


def test_a_function_with_a_row_beside_one_without_is_told_apart():
    with Trace(known=len, other=lambda: 1) as trace:
        assert trace["known"].describe() != trace["other"].describe()


def test_a_value_of_a_known_type_that_cannot_be_wrapped_breaks_the_graph():
    with Trace(good=zip([1]), bad=zip(one for one in [1])) as trace:
        trace["good"].realize()
        with pytest.raises(GraphBreak):
            trace["bad"].begin_advance(trace.tx)


def test_trackers_of_results_go_and_those_of_inputs_stay():
    trackers, made, existing = FakeTrackers(), Held(), Held()
    trackers[1] = made
    trackers.keep(2, existing)
    assert (trackers.get(1), trackers.get(2), trackers.get(3)) == (made, existing, None)
    del made, existing
    assert trackers.get(1) is None and trackers.get(2) is not None
    trackers.release()
    assert trackers.get(2) is None


def test_a_later_tracker_of_a_fake_takes_the_place_of_an_earlier_one():
    trackers, first, second = FakeTrackers(), Held(), Held()
    trackers.keep(1, first)
    trackers[1] = second
    assert trackers.get(1) is second
