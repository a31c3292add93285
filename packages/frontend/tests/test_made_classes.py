"""`framesmith.frontend.tracing.made_classes`: which calls make a class while tracing, and that an entry makes another one."""

import collections
import enum
import typing

import pytest

from framesmith.frontend.generated.source_writer import EntryWriter
from framesmith.frontend.tracing.made_classes import _is_fixed, _make_class, _make_typed_tuple
from framesmith.variables.core.made_classes import MadeClass


class Own:
    pass


@pytest.mark.parametrize(
    "value", [1, "a", None, int, typing.Any, ["a", ("b", int)], {"k": (1, 2)}, enum.STRICT, ValueError]
)
def test_constants_and_classes_in_c_are_fixed(value):
    assert _is_fixed(value)


@pytest.mark.parametrize(
    "value", [Own, Own(), enum.Enum, [Own], {"k": Own}, {1: 2}, {"k": lambda: 0}, [[1]], {"k": [1]}, ([1],)]
)
def test_what_may_have_code_of_the_user_is_not_fixed(value):
    assert not _is_fixed(value)


def test_a_class_gets_the_module_and_leaves_its_names_alone():
    names = {"k": 3}
    made = _make_class("A", (int,), names, module="here")
    assert (made.__module__, made.k, names) == ("here", 3, {"k": 3})
    assert _make_class("A", (), {"__module__": "there"}, module="here").__module__ == "there"
    assert _make_typed_tuple("N", [("a", int)], module="here").__module__ == "here"


def test_the_entry_makes_a_class_once_before_its_body():
    cls = collections.namedtuple("N", "a")
    made = MadeClass(cls, lambda: collections.namedtuple("N", "a"))
    writer = EntryWriter(7, made_classes={id(cls): made})
    names = {writer.constant(cls, "N"), writer.constant(cls, "again")}
    (name,) = names
    assert writer.makes == [(f"{name} = {writer.constants(made.make, '')}()", 7)]
    assert cls not in writer.constants.values.values()


def test_a_member_is_read_from_the_class_of_the_entry():
    cls = enum.Enum("E", "A B")
    writer = EntryWriter(1, made_classes={id(cls): MadeClass(cls, lambda: enum.Enum("E", "A B"))})
    text = writer.constant(cls.B, "member")
    for line, _ in writer.makes:
        exec(line, writer.constants.values)
    found = eval(text, writer.constants.values)
    assert found.name == "B"
    assert found is not cls.B
