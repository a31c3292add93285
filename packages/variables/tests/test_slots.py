"""Each tracker overrides the `begin_` form of a slot; the other form is derived from it (ADR 0019).

What a class answers with its special methods are functions that a tracker names as its slots (ADR 0021).
"""

import inspect

import pytest

from framesmith.variables import Tracker, catalog
from framesmith.variables.objects import container_slots, object_slots, operator_slots
from framesmith.variables.objects.classes import ClassTracker
from framesmith.variables.objects.instances import InstanceTracker

DERIVED = ("attribute", "call", "advance")


def trackers(root=Tracker):
    """All tracker classes of the packages, the abstract ones too."""
    assert catalog.registry()
    for kind in root.__subclasses__():
        if kind.__module__.startswith("framesmith."):
            yield kind
        yield from trackers(kind)


@pytest.mark.parametrize("kind", sorted(set(trackers()), key=lambda kind: kind.__qualname__))
def test_no_tracker_overrides_a_derived_form(kind):
    for name in DERIVED:
        assert inspect.getattr_static(kind, name) is inspect.getattr_static(Tracker, name)


def test_the_derived_forms_are_marked_as_final():
    assert all(getattr(inspect.getattr_static(Tracker, name), "__final__", False) for name in DERIVED)


def special_slots():
    """The slots that a class may fill with special methods."""
    for module in (object_slots, container_slots, operator_slots):
        for name, function in vars(module).items():
            if inspect.isfunction(function) and next(iter(inspect.signature(function).parameters)) == "self":
                yield name, function


@pytest.mark.parametrize("kind", [InstanceTracker, ClassTracker])
def test_an_object_of_a_class_of_the_user_answers_each_special_method(kind):
    own = {name: inspect.getattr_static(kind, name) for name, _ in special_slots()}
    assert len(own) > 15
    assert not [name for name, slot in own.items() if slot is inspect.getattr_static(Tracker, name)]


def test_the_slots_of_special_methods_take_what_the_slots_of_a_tracker_take():
    for name, function in special_slots():
        assert [*inspect.signature(function).parameters] == [
            *inspect.signature(inspect.getattr_static(Tracker, name)).parameters
        ]
