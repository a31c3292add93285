"""Each tracker overrides the `begin_` form of a slot; the other form is derived from it (ADR 0019)."""

import inspect

import pytest

from framesmith.variables import Tracker, catalog

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
