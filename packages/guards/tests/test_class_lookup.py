"""Classes are read by CPython's rules, whatever their metaclass says."""

import functools
import re
from types import FunctionType, GetSetDescriptorType, MemberDescriptorType

import pytest

from framesmith.guards import class_lookup
from framesmith.guards.class_lookup import (
    MISSING,
    defines,
    derives,
    is_data_descriptor,
    is_descriptor,
    is_heap_type,
    is_immutable,
    overrides,
    owner_of,
    static_lookup,
)


class Meta(type):
    """Answers every question about its classes wrongly, and has names that are none of theirs."""

    __mro__ = __flags__ = __dictoffset__ = __name__ = __dict__ = property(lambda cls: 1 / 0)
    __set__ = __get__ = of_the_metaclass = None

    def __getattribute__(cls, name):
        raise AssertionError(f"{name} was asked for")


class Base:
    held = 1


def make_class():
    return Meta("Asked", (Base,), {"own": 2})


class Deleting:
    def __delete__(self, instance):
        pass


def test_look_up_asks_no_metaclass():
    Asked = make_class()
    assert static_lookup(Asked, "own") == 2 and static_lookup(Asked, "held") == 1
    assert static_lookup(Asked, "of_the_metaclass") is MISSING
    assert owner_of(Asked, "held") is Base and owner_of(Asked, "absent") is None
    assert defines(Asked, "held") and not defines(Asked, "of_the_metaclass")
    assert derives(Asked, Base) and not derives(Base, Asked)
    assert class_lookup.class_name(Asked) == "Asked" and class_lookup.dict_offset(Asked)
    assert is_heap_type(Asked) and not is_immutable(Asked)
    assert not is_descriptor(Asked) and not is_data_descriptor(Asked)


def test_what_stores_or_deletes_is_a_data_descriptor():
    assert is_data_descriptor(Deleting) and not is_descriptor(Deleting)
    for kind in (property, GetSetDescriptorType, MemberDescriptorType):
        assert is_data_descriptor(kind)
    for kind in (FunctionType, classmethod, functools.cached_property, int):
        assert not is_data_descriptor(kind)


@pytest.mark.parametrize("kind", [int, object, type, re.Pattern, Base, Deleting, type(iter([]))])
def test_a_class_is_immutable_exactly_when_its_attributes_cannot_be_set(kind):
    try:
        type.__setattr__(kind, "probe", 1)
        type.__delattr__(kind, "probe")
    except TypeError:
        assert is_immutable(kind)
    else:
        assert not is_immutable(kind)


def test_overriding_is_told_by_the_entry_that_is_found():
    class Derived(Base):
        held = 3

    assert overrides(Derived, Base, "held") and not overrides(make_class(), Base, "held")


def test_something_else_than_a_class_is_refused():
    with pytest.raises(TypeError, match="doesn't apply to a 'int' object"):
        static_lookup(3, "x")
