"""Texts of classes and tables of enumerations that a program changes between calls, and copies of members."""

import enum

import pytest
import torch
from tests.end_to_end.support import check_source

from framesmith import frontend
from framesmith.frontend.api import session_of

PROGRAM = """
import copy, enum
class C: pass
class Color(enum.Enum):
    A = 1
    B = 2
class Copied(enum.Enum):
    A = 1
    def __deepcopy__(self, memo): return "deep"
    def __copy__(self): return "shallow"
def change():
    C.__qualname__ = "Other"
    member = object.__new__(Color)
    member._name_, member._value_ = "Z", 9
    Color._member_map_["Z"] = Color._value2member_map_[9] = member
    if "Z" not in Color._member_names_:
        Color._member_names_.append("Z")
def f(x, change):
    return x, {}
def args():
    return (1, change)
"""


@pytest.mark.parametrize(
    "text",
    [
        "repr(C)",
        "f'{C}'",
        "repr([C])",
        "len(Color)",
        "[one.value for one in Color]",
        "Color.A in Color",
        "'Z' in Color.__members__",
        "copy.deepcopy(Copied.A), copy.copy(Copied.A), copy.deepcopy([Copied.A]), copy.copy(Color.A) is Color.A",
    ],
)
def test_what_is_said_of_a_class_is_true_after_it_changed(text):
    check_source(PROGRAM.format(text), change=lambda x, change: change())


def test_a_member_is_found_while_others_combine_flags():
    class Flags(enum.IntFlag):
        A = 1
        B = 2
        C = 4
        D = 8

    compiled = frontend.compile(lambda x, o: x + 1 if o in Flags else x, backend="eager")
    for number in range(3, 12):
        Flags(number)
        assert compiled(torch.ones(1), Flags.A).item() == 2
    assert not session_of(compiled).history.recompiles
